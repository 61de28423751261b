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

// ClockSlack is how far two clocks may be apart before one of them is doubted. It is also how far the clock may be behind the latest commit
// before the time of that commit is doubted.
const ClockSlack = 2 * time.Minute

// Doubt says why the clock is not believed; "" = it is.
type Doubt string

// The doubts.
const (
	BeforeBuild Doubt = "it is earlier than this program was built"
	OffPeer     Doubt = "it is more than two minutes from a peer's clock"
	WentBack    Doubt = "it is earlier than when it was last right"
	Unknown     Doubt = "what was known of it is damaged in the store"
)

// Clock is the machine's clock, as this store judges it.
type Clock struct {
	tables   *Set
	now      func() time.Time
	zone     *time.Location
	built    time.Time // of this program: an earlier clock is doubted
	standing atomic.Pointer[standing]
	told     atomic.Pointer[Doubt] // the log was told of it last
}

// Now is the clock's time.
func (c *Clock) Now() time.Time { return c.now() }

// Zone is the congregation's timezone.
func (c *Clock) Zone() *time.Location { return c.zone }

// Reading is what a store knows about the machine's clock.
type Reading struct {
	Doubt    Doubt
	Measured time.Time     // when a peer's clock was last read, by our clock; zero = never
	Peer     string        // the peer of that clock
	Offset   time.Duration // how far it was ahead of ours
}

// standing is what was last measured of the clock, and when the clock was last right.
type standing struct {
	measured int64  // microseconds since 1970 by our clock; 0 = never
	offset   int64  // microseconds that the peer's clock was ahead
	peer     string // its node, or another name
	right    int64  // when a measure or a person said so, microseconds since 1970; 0 = never
	trusted  int64  // the offset that the person trusted; 0 after a good measure
	build    int64  // build time of a program that was newer than the clock although the clock was right, microseconds since 1970; 0 = none
	lost     bool   // the row is damaged: the clock is doubted until a measure or a person says that it is right
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
	cut := Cutter{Rest: row}
	for _, field := range []*int64{&c.measured, &c.offset, &c.right, &c.trusted, &c.build} {
		*field = cut.Varint()
	}
	if c.peer = string(cut.Rest); cut.Short {
		err = fmt.Errorf("%w: meta row clock", engine.ErrCorrupt)
	}
	return c, err
}

// doubt judges the clock for a program that was built at some time.
func (c *standing) doubt(now, built time.Time) Doubt {
	at, slack := now.UnixMicro(), ClockSlack.Microseconds()
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

// off is how far the peer's clock was from the offset that a person has trusted.
func (c *standing) off() int64 { return c.offset - c.trusted }

// confirm notes that the clock is right.
func (c *standing) confirm(now, built time.Time) {
	c.right, c.build, c.lost = now.UnixMicro(), 0, false
	if now.Before(built) {
		c.build = built.UnixMicro()
	}
}

// measure notes a peer's clock; one within two minutes of ours confirms it.
func (c *standing) measure(m Reading, built time.Time) {
	c.measured, c.offset = m.Measured.UnixMicro(), m.Offset.Microseconds()
	c.peer = m.Peer[:min(len(m.Peer), maxPeer)]
	if m.Offset.Abs() <= ClockSlack {
		c.trusted = 0
		c.confirm(m.Measured, built)
	}
}

// Measure tells how far a peer's clock was ahead of ours at a moment of ours, once for each time that the two meet. It
// decides whether the clock is believed until the next measure, over restarts.
func (c *Clock) Measure(peer string, offset time.Duration, at time.Time) error {
	return c.change(func(st *standing) { st.measure(Reading{Measured: at, Peer: peer, Offset: offset}, c.built) })
}

// Trust ends every doubt of the clock as it is, because a person has checked it. The same difference from a peer's clock
// raises no doubt again; another difference does. It returns *Forbidden unless p administers the whole store.
func (c *Clock) Trust(p auth.Principal) (Reading, error) {
	if err := p.CheckRule(); err != nil {
		return Reading{}, err
	}
	err := c.change(func(st *standing) {
		st.trusted = st.offset
		st.confirm(c.Now(), c.built)
	})
	return c.Reading(), err
}

func (c *Clock) change(change func(*standing)) error {
	err := c.tables.Do(func(o *Tx) error {
		st, err := soundStanding(o.View.View)
		if err != nil {
			return err
		}
		change(st)
		o.Put(MetaBucket, clockKey, st.encode())
		o.After(func() { c.standing.Store(st) })
		return nil
	})
	c.Judge(c.Now())
	return err
}

// read reads what was last known of the clock. Damage is noted, and raises a doubt.
func (c *Clock) read(r *engine.View, found *damages) error {
	st, err := soundStanding(r)
	if err != nil {
		return err
	}
	if st.lost {
		found.add(DamagedRow(MetaBucket, clockKey))
	}
	c.standing.Store(st)
	return nil
}

// soundStanding reads the row. For a damaged row it returns a standing that is lost.
func soundStanding(r *engine.View) (*standing, error) {
	st, err := readStanding(r)
	if errors.Is(err, engine.ErrCorrupt) {
		return &standing{lost: true}, nil
	}
	return st, err
}

// forget drops everything that is known of the clock.
func (c *Clock) forget() { c.standing.Store(&standing{}) }

// Reading tells what is known about the machine's clock now.
func (c *Clock) Reading() Reading {
	st := c.standing.Load()
	r := Reading{Doubt: c.Judge(c.Now()), Peer: st.peer, Offset: time.Duration(st.offset) * time.Microsecond}
	if st.measured != 0 {
		r.Measured = time.UnixMicro(st.measured).UTC()
	}
	return r
}

// Judge tells whether the clock is doubted, and says in the log when that changes.
func (c *Clock) Judge(now time.Time) Doubt {
	d := c.standing.Load().doubt(now, c.built)
	before := c.told.Load()
	if before == nil && d == "" || before != nil && *before == d || !c.told.CompareAndSwap(before, &d) {
		return d
	}
	if d != "" {
		c.tables.Log.Warn("the clock is not believed: the times of tickets are not judged until it is right, or a person trusts it", slog.String("because", string(d)))
	} else {
		c.tables.Log.Info("the clock is believed again")
	}
	return d
}

// Offset is the measured offset as facts carry it, in milliseconds; ok is false where none was measured.
func (c *Clock) Offset() (ms int64, ok bool) {
	st := c.standing.Load()
	return time.Duration(st.offset * int64(time.Microsecond)).Milliseconds(), st.measured != 0
}
