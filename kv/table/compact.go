package table

import "encoding/binary"

var CompactedKey = []byte("compacted") // in meta: of when everything is that the file holds at all, microseconds 8

func CompactedAt(v *View) (int64, error) {
	row, err := v.Get(MetaBucket, CompactedKey)
	if err != nil || len(row) != 8 {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(row)), nil
}
