package engine

import (
	"encoding/binary"
	"fmt"
)

// A record of the log is the rows of one group, one behind the other: bucket 1, length of the key uv, length of the value with its
// checksum uv, key, value. A deletion has the length 0 and no value.

// appendRows appends the rows of an operation as a record has them.
func appendRows(dst []byte, entries []entry) []byte {
	for i := range entries {
		e := &entries[i]
		dst = append(dst, byte(e.bucket))
		dst = binary.AppendUvarint(dst, uint64(len(e.key)))
		dst = binary.AppendUvarint(dst, uint64(len(e.sealed)))
		dst = append(append(dst, e.key...), e.sealed...)
	}
	return dst
}

// rowsSize is at least as many bytes as appendRows appends.
func rowsSize(entries []entry) (n int) {
	for i := range entries {
		n += 1 + 2*binary.MaxVarintLen32 + len(entries[i].key) + len(entries[i].sealed)
	}
	return n
}

// eachRow calls fn with the rows of a record. The items share the record's memory.
func eachRow(record []byte, fn func(b Bucket, it item)) error {
	for rest := record; len(rest) > 0; {
		b := Bucket(rest[0])
		key, n := binary.Uvarint(rest[1:])
		if n <= 0 {
			return errBatch
		}
		rest = rest[1+n:]
		sealed, n := binary.Uvarint(rest)
		if n <= 0 || key > uint64(len(rest)-n) || sealed > uint64(len(rest)-n)-key || b >= NumBuckets {
			return errBatch
		}
		rest = rest[n:]
		end := int(key + sealed)
		fn(b, item{row: rest[:end:end], key: int(key)})
		rest = rest[end:]
	}
	return nil
}

var errBatch = fmt.Errorf("%w: a record of the log holds no rows", ErrCorrupt)
