package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/record"
)

// ClockSlack is how far two clocks may be apart before one of them is doubted.
const ClockSlack = 2 * time.Minute

// Doubt says why the wall clock is not believed; "" = it is.
type Doubt string

// The doubts.
const (
	BeforeBuild Doubt = "it is earlier than this program was built"
	OffPeer     Doubt = "it is more than two minutes from a peer's clock"
	WentBack    Doubt = "it is earlier than when it was last right"
	Unknown     Doubt = "what was known of it is damaged in the store"
)

// Clock is what a store knows about the machine's clock.
type Clock struct {
	Doubt    Doubt
	Measured time.Time     // when a peer's clock was last looked at, by ours; zero = never
	Peer     string        // the peer of that clock
	Offset   time.Duration // how far it was ahead of ours
}

// standing is the wall clock's: what was last measured, and when the clock was last right.
type standing struct {
	measured int64  // microseconds since 1970 by our clock; 0 = never
	offset   int64  // microseconds that the peer's clock was ahead
	peer     string // its node, or what else it is called by
	right    int64  // when a measure or a person said so, microseconds since 1970; 0 = never
	trusted  int64  // the offset that the person trusted; 0 after a good measure
	build    int64  // build time of a program that was newer than the clock although the clock was right, microseconds since 1970; 0 = none
	lost     bool   // the row is damaged: the clock is doubted until a measure or a person says that it is right
}

// wall is what the wall clock is judged by, and the doubt that the log last reported.
type wall struct {
	standing atomic.Pointer[standing]
	told     atomic.Pointer[Doubt]
}

var clockKey = []byte("clock") // in meta: each field of a standing, numbers as varints, the peer last

// maxPeer is how much of a peer's name is kept.
const maxPeer = 64

func (c *standing) encode() (row []byte) {
	for _, n := range []int64{c.measured, c.offset, c.right, c.trusted, c.build} {
		row = binary.AppendVarint(row, n)
	}
	return append(row, c.peer...)
}

func readStanding(r *engine.View) (*standing, error) {
	c := &standing{}
	row, err := r.Get(MetaBucket, clockKey)
	if err != nil || row == nil {
		return c, err
	}
	for _, field := range []*int64{&c.measured, &c.offset, &c.right, &c.trusted, &c.build} {
		n, size := binary.Varint(row)
		if size <= 0 {
			return c, fmt.Errorf("%w: meta row clock", engine.ErrCorrupt)
		}
		*field, row = n, row[size:]
	}
	c.peer = string(row)
	return c, nil
}

// doubt judges the wall clock of a program built at some time.
func (c *standing) doubt(now, built time.Time) Doubt {
	at, slack := now.UnixMicro(), DoubtSlack.Microseconds()
	switch {
	case now.Before(built) && c.build != built.UnixMicro():
		return BeforeBuild
	case c.off() > slack || c.off() < -slack:
		return OffPeer
	case c.lost:
		return Unknown
	case c.right != 0 && at < c.right-slack:
		return WentBack
	}
	return ""
}

// off is how far the peer's clock was from what a person has trusted.
func (c *standing) off() int64 { return c.offset - c.trusted }

// confirm notes that the clock is right.
func (c *standing) confirm(now, built time.Time) {
	c.right, c.build, c.lost = now.UnixMicro(), 0, false
	if now.Before(built) {
		c.build = built.UnixMicro()
	}
}

// measure notes a peer's clock; one within two minutes of ours confirms it.
func (c *standing) measure(m Clock, built time.Time) {
	c.measured, c.offset = m.Measured.UnixMicro(), m.Offset.Microseconds()
	c.peer = m.Peer[:min(len(m.Peer), maxPeer)]
	if m.Offset.Abs() <= DoubtSlack {
		c.trusted = 0
		c.confirm(m.Measured, built)
	}
}

// MeasureClock tells how far a peer's clock was ahead of ours at a moment of ours, once for each time that the two meet. It
// decides whether the clock is believed until the next measure, over restarts.
func (s *Set) MeasureClock(peer string, offset time.Duration, at time.Time) error {
	return s.changeClock(func(c *standing) { c.measure(Clock{Measured: at, Peer: peer, Offset: offset}, s.built) })
}

// TrustClock ends every doubt of the clock as it is, because a person has checked it. The same difference from a peer's clock
// raises no doubt again; another difference does. It returns *Forbidden unless p administers the whole store.
func (s *Set) TrustClock(p auth.Principal) (Clock, error) {
	if err := p.CheckRule(); err != nil {
		return Clock{}, err
	}
	err := s.changeClock(func(c *standing) {
		c.trusted = c.offset
		c.confirm(s.ClockNow(), s.built)
	})
	return s.Clock(), err
}

func (s *Set) changeClock(change func(*standing)) error {
	err := s.Do(false, func(o *Tx) error {
		c, err := readStanding(o.View.View)
		if errors.Is(err, engine.ErrCorrupt) {
			c, err = &standing{lost: true}, nil
		}
		if err != nil {
			return err
		}
		change(c)
		o.Put(MetaBucket, clockKey, c.encode())
		o.After(func() { s.wall.standing.Store(c) })
		return nil
	})
	s.JudgeClock(s.ClockNow())
	return err
}

// Clock tells what is known about the machine's clock now.
func (s *Set) Clock() Clock {
	c := s.wall.standing.Load()
	k := Clock{Doubt: s.JudgeClock(s.ClockNow()), Peer: c.peer, Offset: time.Duration(c.offset) * time.Microsecond}
	if c.measured != 0 {
		k.Measured = time.UnixMicro(c.measured).UTC()
	}
	return k
}

// JudgeClock tells whether the wall clock is doubted, and says in the log when that changes.
func (s *Set) JudgeClock(now time.Time) Doubt {
	d := s.wall.standing.Load().doubt(now, s.built)
	before := s.wall.told.Load()
	if before == nil && d == "" || before != nil && *before == d || !s.wall.told.CompareAndSwap(before, &d) {
		return d
	}
	if d != "" {
		s.Log.Warn("the clock is not believed: the times of tickets are not judged until it is right, or a person trusts it", slog.String("because", string(d)))
	} else {
		s.Log.Info("the clock is believed again")
	}
	return d
}

// Offset is the measured offset as facts carry it, in milliseconds; ok is false where none was measured.
func (s *Set) Offset() (ms int64, ok bool) {
	c := s.wall.standing.Load()
	return time.Duration(c.offset * int64(time.Microsecond)).Milliseconds(), c.measured != 0
}

// state is what the writer counts. An operation works on a copy; the group's last one is written with its commit.
type state struct {
	Seq    uint64                   // of the latest change
	Hlc    uint64                   // hybrid logical clock: 48 bits of milliseconds, 16 bits of counter
	stamp  int64                    // the latest commit's time, microseconds
	Minted [engine.NumBuckets]int64 // by kind: the largest integer id ever used
}

var StateKey = []byte("state")

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

// ReadState is what the last commit has left.
func ReadState(r *engine.View) (state, error) {
	row, err := r.Get(MetaBucket, StateKey)
	if err != nil {
		return state{}, err
	}
	return DecodeState(row)
}

func DecodeState(row []byte) (s state, err error) {
	if row == nil {
		return s, nil
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

// Tick moves the hybrid clock past everything it has said, and to the wall clock if that is later.
func (s *state) Tick(now time.Time) uint64 {
	s.Hlc = max(s.Hlc+1, Millis(now)<<16)
	return s.Hlc
}

// Millis is a wall clock as the hybrid one takes it; before 1970 it is 1970.
func Millis(now time.Time) uint64 { return uint64(max(0, now.UnixMilli())) }

// maxAhead is how far a stamp of another node may lie ahead of our clock and still move the hybrid clock.
const maxAhead = 24 * time.Hour

// Observe moves the hybrid clock to a stamp of another node, so that what is written here from now on comes after what that has
// written; one too far ahead, of a laptop in 2035, moves nothing (design.md §4).
func (s *state) Observe(stamp uint64, now time.Time) {
	if stamp>>16 <= Millis(now.Add(maxAhead)) {
		s.Hlc = max(s.Hlc, stamp)
	}
}

// DoubtSlack is how far the wall clock may lie behind the latest commit before that commit's time is doubted instead, and how
// far from a peer's before it is doubted itself.
const DoubtSlack = ClockSlack

// commitTime is the stamp of a commit made now: never earlier than the one before, unless that lies too far ahead of a
// clock that is not doubted (design.md §3). jumped tells that it went back.
func (s *state) commitTime(now time.Time, doubted bool) (stamp int64, jumped bool) {
	stamp = now.UnixMicro()
	if stamp >= s.stamp {
		return stamp, false
	}
	if s.stamp-stamp > DoubtSlack.Microseconds() && !doubted {
		return stamp, true
	}
	return s.stamp, false
}

// Mint is the next free id of a counting kind.
func (s *state) Mint(k *record.Kind) record.ID {
	s.Minted[k.Number]++
	return record.Int(s.Minted[k.Number])
}

// Use raises the mark to an id that was given, or that has come from elsewhere: neither a mint nor a lease gives it again. Drawn ones
// and facts' have no mark.
func (s *state) Use(k *record.Kind, id record.ID) {
	if k.ULID || id.Int() >= record.FirstDrawn {
		return
	}
	s.Minted[k.Number] = max(s.Minted[k.Number], id.Int())
}
