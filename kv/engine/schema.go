package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"go.etcd.io/bbolt"
)

// Bucket is the number of one of the file's buckets. It is part of each checksum, so numbers are never used again.
type Bucket byte

// NumBuckets is how many numbers there are.
const NumBuckets = 64

// How full bbolt leaves the pages of a bucket that it splits. Where keys come in order, at the bucket's end or at the ends of ranges within
// it, half-empty pages would stay half empty.
const (
	tailFill  = 0.97
	rangeFill = 0.9
)

// Schema has the buckets of a file by their numbers.
type Schema [NumBuckets]Def

// Def describes a bucket; the zero Def is none.
type Def struct {
	Name      string
	Tail      bool                  // new keys mostly come behind all others
	Ranges    bool                  // new keys mostly come at the ends of ranges
	Scattered bool                  // new keys come anywhere, so nearly each lies in another page: they are gathered (fold.go)
	IsKey     func(key []byte) bool // tells a key that the bucket may have, where all are known; nil = any
}

// fill sets how full bbolt leaves the pages of a bucket.
func (d *Def) fill(b *bbolt.Bucket) *bbolt.Bucket {
	switch {
	case b == nil:
	case d.Tail:
		b.FillPercent = tailFill
	case d.Ranges:
		b.FillPercent = rangeFill
	}
	return b
}

// named finds a bucket by its name in the file. A bucket that a later version has made is not known.
func (s *Schema) named(name []byte) (b Bucket, known bool) {
	at := slices.IndexFunc(s[:], func(d Def) bool { return d.Name != "" && d.Name == string(name) })
	return Bucket(max(0, at)), at >= 0
}

// checksumSize is the length of the CRC32C at the end of each value.
const checksumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum covers where a value lies as well as what it says.
func checksum(b Bucket, key, value []byte) uint32 {
	crc := castagnoli[byte(b)^0xff] ^ 0x00ffffff // of the bucket's one byte
	return crc32.Update(crc32.Update(^crc, castagnoli, key), castagnoli, value)
}

// unseal checks a stored value and takes its checksum off.
func (s *Schema) unseal(b Bucket, key, sealed []byte) ([]byte, error) {
	n := len(sealed) - checksumSize
	if n < 0 || binary.BigEndian.Uint32(sealed[n:]) != checksum(b, key, sealed[:n]) {
		return nil, fmt.Errorf("%w: bucket %s", ErrCorrupt, s[b].Name)
	}
	return sealed[:n:n], nil
}

// A row with a damaged key is not found, and neither is one to which a damaged page does not lead. Both show in what stands on either side of
// the place where it should be: a row that fails its checksum, or that belongs on the other side. So no row counts as missing, and no scan as
// complete, before its neighbours are checked.

// checkAfter checks the row that a cursor has found in the place of a key, or beyond it.
func (s *Schema) checkAfter(b Bucket, from, after, sealed []byte) error {
	if after == nil {
		return nil
	}
	if bytes.Compare(after, from) < 0 {
		return s.outOfOrder(b)
	}
	return s.checkNeighbour(b, after, sealed)
}

// checkNeighbour checks a row for the sake of one beside it. Where all keys of a bucket are known, a sound key proves that the damage is in
// the row's value: a read of that row gets the error.
func (s *Schema) checkNeighbour(b Bucket, key, sealed []byte) error {
	_, err := s.unseal(b, key, sealed)
	if known := s[b].IsKey; known != nil && known(key) {
		return nil
	}
	return err
}

func (s *Schema) outOfOrder(b Bucket) error {
	return fmt.Errorf("%w: bucket %s is out of order", ErrCorrupt, s[b].Name)
}
