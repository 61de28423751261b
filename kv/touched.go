package kv

import "go.etcd.io/bbolt"

// touched are the rows that were written: bucket 1, key.
type touched map[string]struct{}

func (t touched) note(entries []entry) {
	for i := range entries {
		t[string(append([]byte{byte(entries[i].bucket)}, entries[i].key...))] = struct{}{}
	}
}

// carryOver makes rows in the next file what they are in the old one.
func carryOver(old *bbolt.Tx, next *bbolt.DB, written touched) error {
	return next.Update(func(tx *bbolt.Tx) error {
		from, to := rows{tx: old, buckets: &bucketCache{}}, rows{tx: tx, buckets: &bucketCache{}}
		for row := range written {
			b, key := bucket(row[0]), []byte(row[1:])
			var err error
			if value := from.in(b).Get(key); value != nil {
				err = to.in(b).Put(key, value)
			} else {
				err = to.in(b).Delete(key)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
