package engine

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"

	"doorward/kv/engine/wal"
)

// LogName is the folder of the log, beside the file.
const LogName = "log"

// The engine's own bucket has one row: which log the file belongs to, and up to where that is folded into it. It is written in the transaction that
// folds.
//
//	log id 16 │ term 8 │ sequence 8 │ chain 4 │ zeros │ CRC32C 4
//
// With the zeros it is so long that bbolt gives the bucket a page of its own. So the row lies in the mapped file as it is, and a copy can be given
// another one on its way (CopyTo).
//
// The id is zeros where the file stands alone: it is new, a finished copy, or its store was stopped.
var (
	ownBucket = []byte("engine")
	markKey   = []byte("log")
)

const markSize = pageSize/4 + 64

// mark is what the row says.
type mark struct {
	log  wal.ID
	term uint64
	wal.Position
}

// firstMark is that of a new file: no version is 0.
var firstMark = mark{Position: wal.Position{Sequence: 1}}

func (m mark) encode() []byte {
	b := append(make([]byte, 0, markSize), m.log[:]...)
	b = binary.BigEndian.AppendUint64(b, m.term)
	b = binary.BigEndian.AppendUint64(b, m.Sequence)
	b = binary.BigEndian.AppendUint32(b, m.Chain)
	b = append(b, make([]byte, markSize-checksumSize-len(b))...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// put writes the row.
func (m mark) put(tx *bbolt.Tx) error { return tx.Bucket(ownBucket).Put(markKey, m.encode()) }

// readMark reads the row; there is none in a file that the engine has not made.
func readMark(tx *bbolt.Tx) (m mark, err error) {
	b := tx.Bucket(ownBucket)
	if b == nil {
		return firstMark, nil
	}
	row := b.Get(markKey)
	if len(row) != markSize || binary.BigEndian.Uint32(row[markSize-checksumSize:]) != crc32.Checksum(row[:markSize-checksumSize], castagnoli) {
		return m, fmt.Errorf("%w: which log the file belongs to cannot be read", ErrCorrupt)
	}
	copy(m.log[:], row)
	m.term = binary.BigEndian.Uint64(row[16:])
	m.Sequence = binary.BigEndian.Uint64(row[24:])
	m.Chain = binary.BigEndian.Uint32(row[32:])
	return m, nil
}
