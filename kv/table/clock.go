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
