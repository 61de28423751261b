package venue_test

import (
	"errors"
	"net/http"
	"runtime"
	"slices"
	"strings"
	gosync "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/inbox"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/sync/venue"
)

// tells waits for the laptop's log to say something.
func (w *town) tells(what string) {
	w.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case line := <-w.log:
			if strings.Contains(line, what) {
				return
			}
		case <-late:
			w.Fatalf("the laptop's log never says %q", what)
		}
	}
}

// scan checks a code in.
func (w *town) scan(s *kv.Store, code string) door.Decision {
	w.Helper()
	d, err := s.Door.CheckIn(auth.Operator(), door.Attempt{Event: w.event, Code: code})
	if err != nil {
		w.Fatal(err)
	}
	return d
}

// holds is how much a store has in the databases of the event.
func (w *town) holds(s *kv.Store) (n int) {
	w.Helper()
	for _, sort := range []scopes.Sort{scopes.Event, scopes.EventNames, scopes.EventHolders} {
		db, err := s.Docs.Database(auth.Operator(), scopes.Scope{Sort: sort, ID: w.event}.String())
		if err != nil {
			w.Fatal(err)
		}
		info, err := db.Info()
		if err != nil {
			w.Fatal(err)
		}
		n += info.Docs
	}
	return n
}

// ends sets when the event is over.
func (w *town) ends(at time.Time) {
	w.Helper()
	patch := kvtest.Parse(w, record.Event, `{"end_datetime":"`+at.UTC().Format(time.RFC3339)+`"}`, false)
	target := desk.Target{Surface: record.Admin, Kind: record.Event, ID: record.Int(w.event)}
	if _, err := w.centre.Desk.Update(auth.Operator(), target, patch); err != nil {
		w.Fatal(err)
	}
}

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

// visits has a laptop visit its centre once.
func (w *town) visits(laptop *kv.Store) {
	w.Helper()
	if _, err := venue.VisitOnce(w.Context(), venue.Config{Store: laptop, Version: "test"}, http.DefaultClient, func() {}); err != nil {
		w.Fatal(err)
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
	page, err := w.laptop.Inbox.List(auth.Operator(), inbox.Query{Kind: record.Refusal, Limit: 100})
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
