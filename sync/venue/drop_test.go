package venue_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	gosync "sync"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/sync/venue"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// ready wants the laptop to say which events it can serve.
func (w *town) ready(want ...int64) {
	w.Helper()
	if got, err := w.laptop.Laptop.ReadyEvents(100); err != nil || !slices.Equal(got, want) {
		w.Errorf("ReadyEvents() = %v, %v, want %v", got, err, want)
	}
}

func TestALaptopDropsAnEventThatIsOver(t *testing.T) {
	w := newTown(t)
	v := w.join()
	first := w.sell(w.centre, "first")
	w.arrives(w.laptop, first)
	walkIn := w.sell(w.laptop, "walk-in")
	d := w.scan(w.laptop, "first")
	w.arrives(w.centre, walkIn)

	w.ends(time.Now().Add(-time.Hour))
	w.ready(w.event)
	w.passes(v)
	w.tells("were dropped")
	w.ready()
	if n := w.holds(w.laptop); n != 0 {
		t.Errorf("the laptop has %d documents of an event that is over", n)
	}
	if _, err := w.laptop.Door.CheckIn(auth.Operator(), door.Attempt{Event: w.event, Code: "walk-in"}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("a check-in there = %v, want ErrNotFound", err)
	}
	if again := w.scan(w.centre, "first"); again.Outcome != outcome.AlreadyAdmitted || again.CheckinID != d.CheckinID {
		t.Errorf("a scan at the centre = %+v, want %s to be admitted already", again, d.CheckinID)
	}

	w.ends(time.Now().Add(90 * time.Hour)) // it goes on
	v.Wake()
	w.arrives(w.laptop, first)
	w.arrives(w.laptop, walkIn)
	w.comes(w.laptop, record.Event, w.event) // last, for it was changed last; and until it is there nobody is admitted
	if again := w.scan(w.laptop, "first"); again.CheckinID != d.CheckinID {
		t.Errorf("a scan at the laptop = %+v, want the admission of before", again)
	}
}

// TestAnEventComesBackWhereverItsDropWasCutOff: a power cut between any two commits leaves a laptop that is given the event again.
func TestAnEventComesBackWhereverItsDropWasCutOff(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	var dropping atomic.Bool
	var asked gosync.Mutex
	var disks []map[string][]byte // as each commit has found it
	dir := t.TempDir()
	w.laptop = kvtest.OpenConfig(t, kv.Config{Dir: dir, Clock: w.now, Free: func() (int64, error) { // the writer asks before each commit
		asked.Lock() // replication asks, too
		defer asked.Unlock()
		if dropping.Load() {
			disks = append(disks, diskOf(t, dir))
		}
		return 1 << 40, nil
	}})
	w.enrol(w.laptop)
	first := w.sell(w.centre, "first")
	w.visits(w.laptop)
	w.ends(time.Now().Add(-time.Hour))
	dropping.Store(true)
	v, leave := w.follow(w.laptop)
	w.passes(v)
	w.tells("were dropped")
	leave()
	dropping.Store(false)

	w.ends(time.Now().Add(90 * time.Hour))
	for i, disk := range disks {
		c := kv.Config{Dir: t.TempDir(), Aside: true, Clock: w.now}
		putDisk(t, c.Dir, disk)
		s := kvtest.OpenConfig(t, c)
		w.visits(s)
		if _, err := s.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(first)}); err != nil {
			t.Errorf("cut off before commit %d of %d, a ticket of the event that goes on = %v", i+1, len(disks), err)
		}
	}
}

// TestAnEventStaysWhereTheCentreRefusesAFact: nothing goes that is nowhere else.
func TestAnEventStaysWhereTheCentreRefusesAFact(t *testing.T) {
	w := newTown(t)
	v := w.join()
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	w.scan(w.laptop, "first")
	w.forge("checkin:")

	w.ends(time.Now().Add(-time.Hour))
	w.passes(v)
	w.tells("has refused facts")
	if d := w.scan(w.laptop, "first"); d.Outcome != outcome.AlreadyAdmitted {
		t.Errorf("a scan there = %+v, want the admission to be there still", d)
	}
}

// TestWhatALaptopHasRefusedGoesWithTheEvent: the centre never has it, so it does not go with what is handed over, but when the event
// does, of whose private halves nothing is there any more.
func TestWhatALaptopHasRefusedGoesWithTheEvent(t *testing.T) {
	w := newTown(t)
	v := w.join()
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	w.refuses(scopes.EventNames, record.HolderName.DocID(record.Int(7)), `{"full_name":"Zulmira Quintela"}`)
	w.refuses(scopes.EventHolders, record.Holder.DocID(record.Int(7)), `{"holder_name":"Zulmira Quintela"}`)
	for before := w.hellos.Load(); w.hellos.Load() < before+2; { // what follows the first is over when the second begins
		v.Wake()
		runtime.Gosched()
	}
	if n := w.refused(); n != 2 {
		t.Fatalf("the laptop shows %d refusals while it has the event, want 2", n)
	}
	w.ends(time.Now().Add(-time.Hour))
	w.passes(v)
	w.tells("were dropped")
	if n := w.refused(); n != 0 {
		t.Errorf("the laptop shows %d refusals of an event that is over", n)
	}
}

// refuses has the laptop refuse a document that another laptop pushes to it.
func (w *town) refuses(sort scopes.Sort, doc, body string) {
	w.Helper()
	spec := keys.KeySpec{Name: "another", Level: auth.Level{Name: auth.EventOf, IDs: []int64{w.event}}, Permissions: []auth.Permission{{Resource: "sync", Method: "*"}}}
	spec.Node = auth.Venue{Node: ulid.Make().String(), Names: true}
	k, secret, err := w.laptop.Keys.AddKey(auth.Operator(), spec)
	if err != nil {
		w.Fatal(err)
	}
	p, err := w.laptop.Keys.Login(k.Key, secret)
	if err != nil {
		w.Fatal(err)
	}
	db, err := w.laptop.Docs.Database(p, scopes.Scope{Sort: sort, ID: w.event}.String())
	if err != nil {
		w.Fatal(err)
	}
	write := merge.DocWrite{ID: doc, Path: []rev.ID{rev.Next(rev.ID{}, false, []byte(body))}, Body: []byte(body)}
	if results, err := db.Write([]merge.DocWrite{write}); err != nil || !errors.Is(results[0].Err, auth.ErrForbidden) {
		w.Fatalf("%s = %+v, %v, want it refused", doc, results, err)
	}
}

// refused is how many refusals the laptop has for its staff.
func (w *town) refused() int {
	w.Helper()
	page, err := w.laptop.Inbox.List(auth.Operator(), record.Refusal, desk.Part{Limit: 100})
	if err != nil {
		w.Fatal(err)
	}
	return page.Count
}

// forge puts a fact into the laptop that another node has made, as if its file had been tampered with.
func (w *town) forge(kind string) {
	w.Helper()
	db, err := w.laptop.Docs.Database(auth.Operator(), scopes.Scope{Sort: scopes.Event, ID: w.event}.String())
	if err != nil {
		w.Fatal(err)
	}
	page, _, err := db.Changes(docs.Feed{Limit: 100})
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range page {
		if !strings.HasPrefix(c.ID, kind) {
			continue
		}
		doc, err := db.Read(c.ID, docs.Ask{Leaves: true})
		if err != nil {
			w.Fatal(err)
		}
		body := strings.Replace(string(doc.Revisions[0].Body), w.laptop.Tables.Identity.Node(), "01J00000000000000000000001", 1)
		write := merge.DocWrite{ID: kind + "01J00000000000000000000002", Path: doc.Tree.Path(doc.Revisions[0].Revision), Body: []byte(body)}
		results, err := db.Write([]merge.DocWrite{write})
		if err != nil || len(results) > 0 && results[0].Err != nil {
			w.Fatal(results, err)
		}
		return
	}
	w.Fatalf("the laptop has no %s", kind)
}

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
	w.changes(w.centre, record.Event, w.event, `{"start_datetime":"2020-01-01T19:00:00Z","end_datetime":"2020-01-01T21:00:00Z"}`)
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

// TestAnEventThatIsOverWaitsForTheCentresDisk: what was made of it offline is nowhere else. Both sides' metrics say that it is behind and
// why, the log once; and it goes once there is room, without being told.
func TestAnEventThatIsOverWaitsForTheCentresDisk(t *testing.T) {
	t.Parallel()
	d := newDisks(t)
	w := d.town
	d.leave()
	walkIn := w.sell(w.laptop, "walk-in")
	w.ends(time.Now().Add(-time.Hour))
	d.centre.Store(16 << 20) // check-ins alone

	stays := func() {
		t.Helper()
		d.follows()
		w.tells("the centre's disk is nearly full")
		for range 3 { // databases
			w.tells("an event that the centre wants dropped stays here")
		}
		d.full(1)
	}
	stays()
	d.leave()
	d.full(0) // as far as anybody knows
	stays()
	d.shakesHands()
	if said := w.said(); said != "" {
		t.Errorf("with the next handshake the log says %s", said)
	}
	d.full(1)
	venues, err := w.centre.Venues.Venues(auth.Operator())
	if here := lagOf(t, d.registry, "push"); here == 0 || err != nil || venues[0].Contact.Backlog != int(here) {
		t.Errorf("the laptop is %v changes behind, and the centre knows of %+v, %v; want both to know of the ticket", here, venues, err)
	}

	d.centre.Store(1 << 30)
	d.Wake()
	w.tells("the centre has room again")
	w.tells("were dropped")
	d.full(0)
	w.arrives(w.centre, walkIn)
	if n, lag := w.holds(w.laptop), lagOf(t, d.registry, "push"); n != 0 || lag != 0 {
		t.Errorf("the laptop has %d documents of an event that is over, and is %v changes behind", n, lag)
	}
}

// TestWhatAChurchKeepsOfAnEventIsNotBehind: the record of an event that was dropped is the church's, and is brought with what else is.
func TestWhatAChurchKeepsOfAnEventIsNotBehind(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	church := kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
	event := w.churchEvent(w.centre, church, "2026-01-01T21:00:00Z")
	kvtest.Create(t, w.centre, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"first"}`, event))
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}})
	w.visits(w.laptop)
	registry := prometheus.NewRegistry()
	v, leave := w.followAs(venue.Config{Store: w.laptop, Registerer: registry})
	t.Cleanup(leave)
	w.passes(v)
	w.tells("were dropped")
	patch := kvtest.Parse(t, record.Event, `{"name":"Culto"}`, false)
	if _, err := w.laptop.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Event, ID: record.Int(event)}, patch); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(20 * time.Second); lagOf(t, registry, "push") != 0; runtime.Gosched() {
		if time.Now().After(late) {
			t.Fatalf("the laptop is %v changes behind for good", lagOf(t, registry, "push"))
		}
	}
}
