package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
)

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
