package wal

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
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

// ErrMissing is a log of which there is no segment.
var ErrMissing = errors.New("its log is missing")

// Damaged is a log that cannot be read to its end. Kept is the sequence up to which it can.
type Damaged struct {
	Segment string // name of the file
	Offset  int64
	Kept    uint64
	Reason  string
}

func (d *Damaged) Error() string {
	return fmt.Sprintf("its log is damaged: segment %s at byte %d %s; what was written up to sequence %d is kept for certain", d.Segment, d.Offset, d.Reason, d.Kept)
}

// Tail is where a log ends.
type Tail struct {
	Position
	Term    uint64 // of the last segment
	Index   uint64 // as above
	Records int    // beyond the position that was read from
	Bytes   int64  // of their payloads
	Ended   bool   // by End
	Dropped bool   // a last record is torn and left out
	segment string // path of the segment with the last record, or of the last segment where that has none
	at      int64  // where the record begins in it
	size    int    // how long it is
}

// reading is a log that is being read.
type reading struct {
	id   ID
	from Position
	each func(Record) error
	tail Tail
}

// Read gives each the records of a log beyond a position, in order. It returns where the log ends: ErrMissing, *Damaged, or the error of each.
func Read(dir string, id ID, from Position, each func(Record) error) (Tail, error) {
	all, err := list(dir)
	if err != nil {
		return Tail{}, err
	}
	own := slices.DeleteFunc(slices.Clone(all), func(s *segment) bool { return !s.used || s.id != id })
	if len(own) == 0 {
		return Tail{}, ErrMissing
	}
	start := len(own) - 1
	for ; start >= 0 && own[start].first > from.Sequence+1; start-- {
	}
	if start < 0 {
		return Tail{}, &Damaged{own[0].name(), 0, from.Sequence, fmt.Sprintf("begins with sequence %d, and those before it are missing", own[0].first)}
	}
	r := &reading{id: id, from: from, each: each}
	r.tail.Position = Position{own[start].first - 1, own[start].chain}
	for i, s := range own[start:] {
		if err := r.segment(s, i == 0); err != nil {
			return r.tail, err
		}
	}
	return r.tail, r.end(own[len(own)-1], all)
}

// end judges where a log ends: no record may be beyond it, and all that the reader has already must be before it.
func (r *reading) end(last *segment, all []*segment) error {
	if r.tail.Sequence < r.from.Sequence {
		return r.damaged(last, r.tail.at+int64(r.tail.size), fmt.Sprintf("ends before sequence %d, which the file has", r.from.Sequence))
	}
	for _, s := range all {
		if !s.used && !s.bare { // what it holds is not known: no power cut tears a header, which lies in one sector
			return r.damaged(s, 0, "has no header that can be read")
		}
	}
	return nil
}

func (r *reading) damaged(s *segment, at int64, reason string) error {
	return &Damaged{s.name(), at, max(r.tail.Sequence, r.from.Sequence), reason}
}

// segment reads one segment, which must go on where the one before it has ended.
func (r *reading) segment(s *segment, isFirst bool) error {
	switch {
	case !isFirst && s.index != r.tail.Index+1:
		return r.damaged(s, 0, "follows one that is missing")
	case !isFirst && (s.first != r.tail.Sequence+1 || s.chain != r.tail.Chain):
		return r.damaged(s, 0, fmt.Sprintf("goes on with sequence %d, and the one before it ends with %d", s.first, r.tail.Sequence))
	}
	b, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	if uint64(len(b)) < s.bytes {
		return r.damaged(s, int64(len(b)), fmt.Sprintf("is cut short: it should have %d bytes", s.bytes))
	}
	r.tail.Index, r.tail.Term, r.tail.Ended, r.tail.Dropped = s.index, s.term, false, false
	r.tail.segment, r.tail.at, r.tail.size = s.path, 0, firstByte
	at := firstByte
	for at < len(b) {
		f, ok := r.id.parse(b[at:])
		if !ok || !f.follows(r.tail.Position) {
			break
		}
		r.tail.at, r.tail.size = int64(at), f.size
		at += f.size
		if f.kind == kindEnd {
			r.tail.Ended = true
			break
		}
		if err := r.take(s, &f); err != nil {
			return err
		}
	}
	at = min(at, len(b))
	if r.id.later(b[at:], r.tail.Sequence) {
		return r.damaged(s, int64(at), "is no record, and good records come behind it")
	}
	torn, _, ok := head(b[at:])
	r.tail.Dropped = ok && torn.Sequence == r.tail.Sequence+1 && torn.chain == r.tail.Chain
	return nil
}

// take gives out a record that is beyond what the reader has.
func (r *reading) take(s *segment, f *found) error {
	r.tail.Position = Position{f.Sequence, f.Chain}
	switch {
	case f.Sequence < r.from.Sequence:
		return nil
	case f.Sequence == r.from.Sequence:
		if f.Chain != r.from.Chain {
			return r.damaged(s, r.tail.at, "is not the log that the file was written from")
		}
		return nil
	}
	r.tail.Records++
	r.tail.Bytes += int64(len(f.Payload))
	return r.each(f.Record)
}
