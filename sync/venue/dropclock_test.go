package venue_test

import (
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/scopes"
)

// TestNoClockAloneEmptiesADoor: while a clock is wrong, or somebody is scanned, an event stays at its laptop, and both sides go on
// exchanging it.
func TestNoClockAloneEmptiesADoor(t *testing.T) {
	t.Parallel()
	const over = 74 * time.Hour
	for name, try := range map[string]struct {
		later, ahead time.Duration // how much time has passed, and how far the centre's clock is ahead
		trusted      bool          // somebody has said at the laptop that its clock is right
		scans        bool          // and lets somebody in then
		says         string
		away         bool // the two do not meet
	}{
		"the centre's clock is six days ahead":           {0, 6 * 24 * time.Hour, false, true, "clock is doubted", false},
		"it is, and the laptop's own clock is trusted":   {0, 6 * 24 * time.Hour, true, true, "clock and the centre's differ", false},
		"the centre's clock is ten years ahead":          {0, 87600 * time.Hour, false, true, "the centre is not reached", true},
		"it is over, the centre's clock is ten minutes":  {over, 10 * time.Minute, false, false, "clock is doubted", false},
		"it is over by right clocks, somebody is let in": {over, 0, false, true, "was scanned there", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			v := w.join()
			w.ends(time.Now().Add(-time.Hour))
			w.arrives(w.laptop, w.sell(w.centre, "first"))
			w.await(w.laptop, scopes.Event, "the end of the event", func(docs.DatabaseInfo) bool { return w.endKnown() })
			w.later.Store(int64(try.later))
			w.ahead.Store(int64(try.ahead))
			w.sell(w.laptop, "another") // a commit that had begun before has the clock of before
			if try.trusted {
				w.trusts(try.ahead)
			}
			if try.scans {
				w.scan(w.laptop, "first")
			}
			v.Wake()
			w.tells(try.says)
			walkIn := w.sell(w.laptop, "walk-in")
			if d := w.scan(w.laptop, "walk-in"); d.Outcome != outcome.Admitted {
				t.Errorf("a scan at the laptop = %+v, want it to go on", d)
			}
			if !try.away {
				w.arrives(w.laptop, w.sell(w.centre, "second"))
				w.arrives(w.centre, walkIn)
			}
		})
	}
}

// endKnown tells whether the laptop knows that the event is over.
func (w *town) endKnown() bool {
	w.Helper()
	e, err := w.laptop.Venues.EventTimes(auth.Operator(), w.event)
	if err != nil {
		w.Fatal(err)
	}
	return e.End.Before(w.now())
}

// trusts has somebody say that the laptop's clock is right, though the centre's is another.
func (w *town) trusts(offset time.Duration) {
	w.Helper()
	if err := w.laptop.Tables.Clock.Measure(w.centre.Tables.Identity.Node(), offset, w.now()); err != nil {
		w.Fatal(err)
	}
	if _, err := w.laptop.Tables.Clock.Trust(auth.Operator()); err != nil {
		w.Fatal(err)
	}
}

// TestAnEventGoesOnWhereItsLaptopSaysSo: staff of the church have moved its end on a laptop, which the centre does not know yet.
func TestAnEventGoesOnWhereItsLaptopSaysSo(t *testing.T) {
	t.Parallel()
	w, _, _ := parish(t)
	w.changes(w.centre, record.Event, w.event, `{"end_datetime":"2020-01-01T21:00:00Z"}`)
	w.sell(w.centre, "first")
	w.visits(w.laptop)
	w.later.Store(int64(74 * time.Hour))
	w.changes(w.laptop, record.Event, w.event, `{"end_datetime":"2040-01-01T21:00:00Z"}`)
	_, leave := w.follow(w.laptop)
	defer leave()
	w.tells("by this machine's clock")
	if d := w.scan(w.laptop, "first"); d.Outcome != outcome.Admitted {
		t.Errorf("a scan there = %+v", d)
	}
}

// TestADropIsAnnouncedADayAhead: nothing goes before, however long the event has been over.
func TestADropIsAnnouncedADayAhead(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	v := w.join()
	w.ends(time.Now().Add(-time.Hour))
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	w.await(w.laptop, scopes.Event, "the end of the event", func(docs.DatabaseInfo) bool { return w.endKnown() })
	w.later.Store(int64(9 * 24 * time.Hour)) // it was in a drawer
	v.Wake()
	w.tells("will be dropped here")
	w.later.Add(int64(23 * time.Hour))
	before := w.hellos.Load()
	for w.hellos.Load() < before+2 {
		v.Wake()
	}
	if w.holds(w.laptop) == 0 {
		t.Error("the event was dropped 23 hours after that was announced")
	}
	w.later.Add(int64(2 * time.Hour))
	v.Wake()
	w.tells("were dropped")
}
