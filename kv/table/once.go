package table

import (
	"bytes"

	"doorward/kv/engine"
)

// KeysBefore are the first keys of a bucket that lie before a key, at most so many; where a row is damaged, those before it.
func KeysBefore(r *engine.View, b engine.Bucket, end []byte, most int) (keys [][]byte, err error) {
	err = r.Scan(b, nil, nil, func(key, _ []byte) (bool, error) {
		if len(keys) == most || bytes.Compare(key, end) >= 0 {
			return false, nil
		}
		keys = append(keys, bytes.Clone(key))
		return true, nil
	})
	return keys, err
}
