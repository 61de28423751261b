package wal

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
)

// ID names a log. It is drawn at random.
type ID [16]byte

// IsZero tells an ID that names no log.
func (id ID) IsZero() bool { return id == ID{} }

// String is the ID in hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Position is a place in a log, behind a record.
type Position struct {
	Sequence uint64 // of the record
	Chain    uint32 // its checksum
}

// Record is a good record as it was read. Its payload is valid until the function that was given it returns.
type Record struct {
	Sequence uint64
	Term     uint64
	Chain    uint32 // the record's own checksum
	Payload  []byte
}

const (
	recordHead = 32
	alignment  = 8
	kindBatch  = 1
	kindEnd    = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// found is what lies at a place of a segment.
type found struct {
	Record
	kind  uint32
	chain uint32 // of the record before
	size  int    // of the whole record, with what it takes to the next multiple of 8
}

// aligned is the next multiple of 8.
func aligned(n int) int { return (n + alignment - 1) &^ (alignment - 1) }

// sum is the checksum of a record that lies whole in b.
func (id ID) sum(b []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, id[:]), castagnoli, b[4:])
}

// appendHead appends a record's head. The checksum is set by seal once the payload follows.
func appendHead(b []byte, f found) []byte {
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.Payload)))
	b = binary.BigEndian.AppendUint32(b, f.chain)
	b = binary.BigEndian.AppendUint32(b, f.kind)
	b = binary.BigEndian.AppendUint64(b, f.Term)
	return binary.BigEndian.AppendUint64(b, f.Sequence)
}

// head reads the head of what may be a record; ok is false where b is too short for it.
func head(b []byte) (f found, length int, ok bool) {
	if len(b) < recordHead {
		return f, 0, false
	}
	n := binary.BigEndian.Uint32(b[4:])
	if uint64(n) > uint64(len(b)-recordHead) {
		return f, 0, false
	}
	f.Chain = binary.BigEndian.Uint32(b)
	f.chain = binary.BigEndian.Uint32(b[8:])
	f.kind = binary.BigEndian.Uint32(b[12:])
	f.Term = binary.BigEndian.Uint64(b[16:])
	f.Sequence = binary.BigEndian.Uint64(b[24:])
	return f, int(n), true
}

// parse reads the record that begins b: ok tells that its checksum fits.
func (id ID) parse(b []byte) (f found, ok bool) {
	f, n, ok := head(b)
	if !ok || f.kind != kindBatch && f.kind != kindEnd || f.kind == kindEnd && n > 0 {
		return f, false
	}
	f.Payload = b[recordHead : recordHead+n]
	f.size = aligned(recordHead + n)
	return f, id.sum(b[:recordHead+n]) == f.Chain
}

// follows tells whether a record is the next behind a position.
func (f *found) follows(at Position) bool {
	if f.chain != at.Chain {
		return false
	}
	return f.kind == kindBatch && f.Sequence == at.Sequence+1 || f.kind == kindEnd && f.Sequence == at.Sequence
}

// later tells whether a good record with a larger sequence lies anywhere in b. Where the bytes are those of no record it is not looked at twice.
func (id ID) later(b []byte, than uint64) bool {
	for ; len(b) >= recordHead; b = b[alignment:] {
		if seq := binary.BigEndian.Uint64(b[24:]); seq <= than || seq-than > 1<<32 {
			continue
		}
		if f, ok := id.parse(b); ok && f.kind == kindBatch {
			return true
		}
	}
	return false
}
