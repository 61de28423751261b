package venue

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"doorward/kv/auth"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/handshake"
	"doorward/sync/input"
	"doorward/sync/line"
	"doorward/sync/replicate"
	"doorward/sync/transit"
)

const (
	warnOffset   = 2 * time.Minute // how far the two clocks may differ before the log says so
	steadyWithin = time.Second     // by how much the clock may go faster or slower during an exchange
)

// handshake compares clocks, notices a copy of this store, and takes ids, keys and erasures.
func (x *visit) handshake(ctx context.Context) error {
	for range 3 { // a store that has a copy begins another epoch and asks again, and so does a machine that has slept during the answer
		m, err := x.hello(ctx, false)
		if err != nil {
			return err
		}
		if m.steady {
			if err := x.compare(m.offset); err != nil {
				return err
			}
		}
		switch {
		case x.greeting.Clone:
			if err := x.config.Store.Tables.Epochs.Begin("the centre has met another copy of this folder"); err != nil {
				return err
			}
		case m.steady:
			if err := newDropper(x).decide(); err != nil {
				return err
			}
			return x.applyGreeting(ctx)
		}
	}
	return dial.ErrCut
}

// measurement is what an exchange tells of the two clocks.
type measurement struct {
	offset time.Duration // how far the centre's clock is ahead of the middle of the exchange
	steady bool          // this machine's clock went on as usual: the machine did not sleep, and the clock was not put right
}

// measure compares the centre's time with when an exchange began, by this machine's clock, and how long it took. now is when it ended.
func measure(centre, began, now time.Time, took time.Duration) measurement {
	passed := now.Round(0).Sub(began.Round(0)) // by the clock on the wall
	return measurement{centre.Sub(began.Add(took / 2)), (passed - took).Abs() <= steadyWithin}
}

// hello sends one handshake.
func (x *visit) hello(ctx context.Context, wiped bool) (m measurement, err error) {
	in, err := x.newHello()
	if err != nil {
		return m, err
	}
	in.Wiped = wiped
	began := time.Now()
	at := x.config.Store.Tables.Clock.Now()
	x.greeting = handshake.Greeting{}
	if err := x.ask(ctx, "_hello", in, &x.greeting); err != nil {
		return m, err
	}
	m = measure(x.greeting.Now, at, x.config.Store.Tables.Clock.Now(), time.Since(began))
	if !x.greeting.IsFrom(x.upstream.Node) {
		return m, dial.ErrNoCentre
	}
	isUnknown := func(e handshake.Database) bool { return !table.OfRecords(e.Name) } // of a later version's sort
	x.greeting.Databases = slices.DeleteFunc(x.greeting.Databases, isUnknown)
	if err := x.config.Store.Keys.SessionMet(in.Session); err != nil {
		return m, err
	}
	x.metrics.noteContact(at, x.greeting.Behind)
	return m, nil
}

// newHello makes the handshake of this store: what it has, and what it wants.
func (x *visit) newHello() (in handshake.Hello, err error) {
	s := x.config.Store
	in = handshake.Hello{Version: x.config.Version, Realm: s.Tables.Identity.Realm(), Node: s.Tables.Identity.Node(), Wants: []string{}}
	session, before, err := s.Keys.Session()
	if err != nil {
		return in, err
	}
	in.Session, in.Predecessor, in.Before = session, before[0], before[1:]
	in.Epoch, in.Erased = s.Tables.Epochs.Present(), x.upstream.Erased
	if c := s.Tables.Clock.Reading(); !c.Measured.IsZero() {
		ms := c.Offset.Milliseconds()
		in.Offset = &ms
	}
	kinds, err := s.Laptop.LeasesWanted(auth.Operator())
	for _, k := range kinds {
		in.Wants = append(in.Wants, k.Name)
	}
	if err != nil {
		return in, err
	}
	if in.Events, err = s.Venues.HeldEvents(auth.Operator()); err != nil {
		return in, err
	}
	o := lag{x.config.Store, x.upstream}
	if in.Backlog, in.Oldest, err = o.backlog(); err != nil {
		return in, err
	}
	in.Since, err = o.pulledUpTo()
	return in, err
}

// compare saves how far the centre's clock is from ours.
func (x *visit) compare(offset time.Duration) error {
	if offset.Abs() > warnOffset {
		x.config.Logger.Warn("this machine's clock and the centre's differ", "by", offset.Round(time.Second))
	}
	return x.config.Store.Tables.Clock.Measure(x.greeting.Node, offset, x.config.Store.Tables.Clock.Now())
}

// applyGreeting takes what the centre gives: erasures, ids, and the keys that are valid here too.
func (x *visit) applyGreeting(ctx context.Context) error {
	if err := x.takeErasures(); err != nil {
		return err
	}
	for _, l := range x.greeting.Leases {
		k, ok := record.ByName(l.Kind)
		if !ok {
			continue
		}
		err := x.config.Store.Laptop.TakeLease(auth.Operator(), office.Lease{Kind: k, From: l.From, To: l.To})
		if err != nil && !errors.Is(err, table.ErrConflict) && !errors.Is(err, table.ErrNotFound) {
			return err
		}
	}
	if len(x.greeting.Keys) == 0 {
		return nil
	}
	return x.takeKeys(ctx)
}

// takeKeys stores keys that are new here or have changed.
func (x *visit) takeKeys(ctx context.Context) error {
	own, err := replicate.OpenLocal(x.config.Store, auth.Operator(), "records")
	if err != nil {
		return err
	}
	var keys []*transit.Revision
	var offers []merge.Revs
	for _, text := range x.greeting.Keys {
		l, err := line.Parse(input.NewDecoder(bytes.NewReader(text)))
		if err != nil {
			return dial.ErrCut
		}
		if r := l.Revision; r != nil && strings.HasPrefix(r.ID, record.APIKey.Name+":") {
			keys = append(keys, r)
			offers = append(offers, merge.Revs{ID: r.ID, Revisions: []rev.ID{r.Rev()}})
		}
	}
	missing, err := own.Missing(ctx, offers)
	if err != nil || len(missing) == 0 {
		return err
	}
	if _, err = own.Write(ctx, keys); err == nil {
		x.config.Logger.Info("keys have come from the centre, and work here too", "keys", len(missing))
	}
	return err
}
