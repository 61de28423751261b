package table

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/access"
	"doorward/kv/engine"
	"doorward/kv/record"
)

// state holds the writer's counters. An operation works on a copy. The commit writes the copy of its last operation.
type state struct {
	Seq    uint64                   // of the latest change
	Hlc    uint64                   // hybrid logical clock: 48 bits of milliseconds, 16 bits of counter
	stamp  int64                    // the latest commit's time, microseconds
	Minted [engine.NumBuckets]int64 // by kind: the largest integer id ever used
}

var StateKey = []byte("state") // in meta

// Encode is the row in meta: sequence, hybrid clock and stamp as uv, and the mark of each kind.
func (s *state) Encode() []byte {
	b := binary.AppendUvarint(nil, s.Seq)
	b = binary.AppendUvarint(b, s.Hlc)
	b = binary.AppendUvarint(b, uint64(s.stamp))
	for number, n := range s.Minted {
		if n > 0 {
			b = append(b, byte(number))
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return b
}

// ReadState reads the state that the last commit has written. It is zero in a store without a commit.
func ReadState(r *engine.View) (s state, err error) {
	row, err := r.Get(MetaBucket, StateKey)
	if err != nil || row == nil {
		return s, err
	}
	c := Cutter{Rest: row}
	s.Seq, s.Hlc, s.stamp = c.Uvarint(), c.Uvarint(), int64(c.Uvarint())
	for len(c.Rest) > 0 {
		number := c.Byte()
		if n := c.Uvarint(); int(number) < len(s.Minted) {
			s.Minted[number] = int64(n)
		}
	}
	if c.Short {
		return s, engine.ErrCorrupt
	}
	return s, nil
}

// Tick moves the hybrid clock past every time that it has given, and to the wall clock if that is later.
func (s *state) Tick(now time.Time) uint64 {
	s.Hlc = max(s.Hlc+1, millis(now)<<16)
	return s.Hlc
}

// millis is a wall clock as the hybrid one takes it; before 1970 it is 1970.
func millis(now time.Time) uint64 { return uint64(max(0, now.UnixMilli())) }

// maxAhead is how far a stamp of another node may lie ahead of our clock and still move the hybrid clock.
const maxAhead = 24 * time.Hour

// Observe moves the hybrid clock to a stamp of another node, so that later records of this store come after that node's. A stamp that
// lies too far ahead, as of a laptop in the year 2035, is ignored (design.md §4).
func (s *state) Observe(stamp uint64, now time.Time) {
	if stamp>>16 <= millis(now.Add(maxAhead)) {
		s.Hlc = max(s.Hlc, stamp)
	}
}

// commitTime is the stamp of a commit made now. It is never earlier than the commit before, unless that lies too far ahead of a clock
// that is not doubted (design.md §3). jumped tells that the stamp went back.
func (s *state) commitTime(now time.Time, doubted bool) (stamp int64, jumped bool) {
	stamp = now.UnixMicro()
	if stamp >= s.stamp {
		return stamp, false
	}
	if s.stamp-stamp > ClockSlack.Microseconds() && !doubted {
		return stamp, true
	}
	return s.stamp, false
}

// Mint is the next free id of a counting kind.
func (s *state) Mint(k *record.Kind) record.ID {
	s.Minted[k.Number]++
	return record.Int(s.Minted[k.Number])
}

// Use raises the mark to an id that a caller gave or that came from another node, so that no mint and no lease gives it again. Ids
// that are drawn at random and ids of facts have no mark.
func (s *state) Use(k *record.Kind, id record.ID) {
	if k.ULID || id.Int() >= record.FirstDrawn {
		return
	}
	s.Minted[k.Number] = max(s.Minted[k.Number], id.Int())
}

// PassOver moves a kind's mark on by a gap. A root does not know which laptops had leases of the ids in the gap, so it takes their
// records from every laptop.
func PassOver(w *engine.Tx, s *state, k *record.Kind, gap int64, root bool) {
	from := s.Minted[k.Number] + 1
	s.Minted[k.Number] += gap
	if LeaseSize(k) > 0 && root {
		w.Put(LeaseBucket, LeaseKey(LeaseGiven, k, from), binary.AppendUvarint(SeqKey(uint64(from+gap-1)), Forgotten))
	}
}

// A store without a centre mints ids from 1. It leases ranges of ids beyond its mark, and never uses them itself. A store with a centre
// mints from its leases. If they are used up, it draws ids at random from those that no lease ever has (design.md §4).
const (
	LeaseGiven = 'g' // g 1, kind 1, from 8 → to 8, api key uv, epoch
	LeaseTaken = 't' // t 1, kind 1, from 8 → to 8, next 8
	LeaseLast  = 'l' // l 1, kind 1 → the end 8 of the last range taken: they ascend
)

// Forgotten stands for the key of a range that may have been leased after the backup that a store was restored from.
const Forgotten = 0

// LeaseSize is how many ids of a kind one lease has; 0 = only the root makes records of the kind.
func LeaseSize(k *record.Kind) int64 {
	switch {
	case k == record.Ticket:
		return 100_000
	case k.ULID || k.OfTicket() || !access.OfLaptops(k):
		return 0 // a ticket's code has its id
	}
	return 10_000
}

// LeaseKey is the key of a range.
func LeaseKey(side byte, k *record.Kind, from int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{side, k.Number}, uint64(from))
}

// burnLeases gives up every lease of this store, because another copy of it may mint from the same ranges.
func burnLeases(o *Tx) {
	keys, err := FirstKeys(o.View.View, LeaseBucket, []byte{LeaseTaken}, MaxKept)
	o.Store.Damage.Note(err)
	if errors.Is(err, engine.ErrCorrupt) { // the damaged row and the ranges after it are given up too
		all := func(key []byte) { keys = append(keys, bytes.Clone(key)) }
		Sound(o.View.View, LeaseBucket, []byte{LeaseTaken}, func(key, _ []byte) { all(key) }, all)
	}
	for _, key := range keys {
		o.Delete(LeaseBucket, key)
	}
}

// NewFactID is the id of a fact made now.
func NewFactID(now time.Time) record.ID {
	return record.FromULID(ulid.MustNew(millis(now), rand.Reader))
}
