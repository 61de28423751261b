package sync_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
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
func (w *town) scan(s *kv.Store, code string) kv.Decision {
	w.Helper()
	d, err := s.CheckIn(kv.Operator(), kv.Attempt{Event: w.event, Code: code})
	if err != nil {
		w.Fatal(err)
	}
	return d
}

// holds is how much a store has in the databases of the event.
func (w *town) holds(s *kv.Store) (n int) {
	w.Helper()
	for _, sort := range []record.ScopeSort{record.ScopeEvent, record.ScopeEventNames, record.ScopeEventHolders} {
		db, err := s.Database(kv.Operator(), record.Scope{Sort: sort, ID: w.event}.String())
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
	target := kv.Target{Surface: record.Admin, Kind: record.Event, ID: record.Int(w.event)}
	if _, err := w.centre.Update(kv.Operator(), target, patch); err != nil {
		w.Fatal(err)
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
	w.later.Store(int64(74 * time.Hour))
	v.Wake()
	w.tells("were dropped")
	if n := w.holds(w.laptop); n != 0 {
		t.Errorf("the laptop has %d documents of an event that is over", n)
	}
	if _, err := w.laptop.CheckIn(kv.Operator(), kv.Attempt{Event: w.event, Code: "walk-in"}); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("a check-in there = %v, want ErrNotFound", err)
	}
	if again := w.scan(w.centre, "first"); again.Outcome != kv.AlreadyAdmitted || again.CheckinID != d.CheckinID {
		t.Errorf("a scan at the centre = %+v, want %s to be admitted already", again, d.CheckinID)
	}

	w.ends(time.Now().Add(90 * time.Hour)) // it goes on
	v.Wake()
	w.arrives(w.laptop, first)
	w.arrives(w.laptop, walkIn)
	if again := w.scan(w.laptop, "first"); again.CheckinID != d.CheckinID {
		t.Errorf("a scan at the laptop = %+v, want the admission of before", again)
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
	w.later.Store(int64(74 * time.Hour))
	v.Wake()
	w.tells("has refused facts")
	if d := w.scan(w.laptop, "first"); d.Outcome != kv.AlreadyAdmitted {
		t.Errorf("a scan there = %+v, want the admission to be there still", d)
	}
}

// forge puts a fact into the laptop that another node has made, as if its file had been tampered with.
func (w *town) forge(kind string) {
	w.Helper()
	db, err := w.laptop.Database(kv.Operator(), record.Scope{Sort: record.ScopeEvent, ID: w.event}.String())
	if err != nil {
		w.Fatal(err)
	}
	page, _, err := db.Changes(kv.Feed{Limit: 100})
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range page {
		if !strings.HasPrefix(c.ID, kind) {
			continue
		}
		doc, err := db.Read(c.ID, kv.Ask{Leaves: true})
		if err != nil {
			w.Fatal(err)
		}
		body := strings.Replace(string(doc.Revisions[0].Body), w.laptop.Node(), "01J00000000000000000000001", 1)
		write := kv.DocWrite{ID: kind + "01J00000000000000000000002", Path: doc.Tree.Path(doc.Revisions[0].Revision), Body: []byte(body)}
		results, err := db.Write([]kv.DocWrite{write})
		if err != nil || len(results) > 0 && results[0].Err != nil {
			w.Fatal(results, err)
		}
		return
	}
	w.Fatalf("the laptop has no %s", kind)
}
