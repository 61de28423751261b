package kv

import (
	"encoding/binary"
	"time"

	"doorward/kv/engine"
	"doorward/kv/record"
)

// state is what the writer counts. An operation works on a copy; the group's last one is written with its commit.
type state struct {
	seq    uint64                   // of the latest change
	hlc    uint64                   // hybrid logical clock: 48 bits of milliseconds, 16 bits of counter
	stamp  int64                    // the latest commit's time, microseconds
	minted [engine.NumBuckets]int64 // by kind: the largest integer id ever used
}

var stateKey = []byte("state")

func (s *state) encode() []byte {
	b := binary.AppendUvarint(nil, s.seq)
	b = binary.AppendUvarint(b, s.hlc)
	b = binary.AppendUvarint(b, uint64(s.stamp))
	for number, n := range s.minted {
		if n > 0 {
			b = append(b, byte(number))
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return b
}

// readState is what the last commit has left.
func readState(r *engine.View) (state, error) {
	row, err := r.Get(metaBucket, stateKey)
	if err != nil {
		return state{}, err
	}
	return decodeState(row)
}

func decodeState(row []byte) (s state, err error) {
	if row == nil {
		return s, nil
	}
	c := cutter{rest: row}
	s.seq, s.hlc, s.stamp = c.uvarint(), c.uvarint(), int64(c.uvarint())
	for len(c.rest) > 0 {
		number := c.byte()
		if n := c.uvarint(); int(number) < len(s.minted) {
			s.minted[number] = int64(n)
		}
	}
	if c.short {
		return s, ErrCorrupt
	}
	return s, nil
}

// tick moves the hybrid clock past everything it has said, and to the wall clock if that is later.
func (s *state) tick(now time.Time) uint64 {
	s.hlc = max(s.hlc+1, millis(now)<<16)
	return s.hlc
}

// millis is a wall clock as the hybrid one takes it; before 1970 it is 1970.
func millis(now time.Time) uint64 { return uint64(max(0, now.UnixMilli())) }

// maxAhead is how far a stamp of another node may lie ahead of our clock and still move the hybrid clock.
const maxAhead = 24 * time.Hour

// observe moves the hybrid clock to a stamp of another node, so that what is written here from now on comes after what that has
// written; one too far ahead, of a laptop in 2035, moves nothing (design.md §4).
func (s *state) observe(stamp uint64, now time.Time) {
	if stamp>>16 <= millis(now.Add(maxAhead)) {
		s.hlc = max(s.hlc, stamp)
	}
}

// doubtSlack is how far the wall clock may lie behind the latest commit before that commit's time is doubted instead, and how
// far from a peer's before it is doubted itself.
const doubtSlack = ClockSlack

// commitTime is the stamp of a commit made now: never earlier than the one before, unless that lies too far ahead of a
// clock that is not doubted (design.md §3). jumped tells that it went back.
func (s *state) commitTime(now time.Time, doubted bool) (stamp int64, jumped bool) {
	stamp = now.UnixMicro()
	if stamp >= s.stamp {
		return stamp, false
	}
	if s.stamp-stamp > doubtSlack.Microseconds() && !doubted {
		return stamp, true
	}
	return s.stamp, false
}

// mint is the next free id of a counting kind.
func (s *state) mint(k *record.Kind) record.ID {
	s.minted[k.Number]++
	return record.Int(s.minted[k.Number])
}

// use raises the mark to an id that was given, or that has come from elsewhere: neither a mint nor a lease gives it again. Drawn ones
// and facts' have no mark.
func (s *state) use(k *record.Kind, id record.ID) {
	if k.ULID || id.Int() >= record.FirstDrawn {
		return
	}
	s.minted[k.Number] = max(s.minted[k.Number], id.Int())
}
