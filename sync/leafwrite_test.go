package sync_test

import (
	"errors"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// TestALaptopMakesOnlyWhatItsCentreTakes: whatever its centre would refuse is refused on the laptop, where somebody can do something
// about it.
func TestALaptopMakesOnlyWhatItsCentreTakes(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	theirs := w.sell(w.centre, "theirs")
	w.join()
	w.arrives(w.laptop, theirs)
	change := func(id int64, to string) error {
		_, err := w.laptop.Update(kv.Operator(), kv.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(id)},
			kvtest.Parse(t, record.Ticket, `{"type":"`+to+`"}`, false))
		return err
	}
	refused := func(what string, err error) {
		t.Helper()
		var no *kv.Forbidden
		if !errors.As(err, &no) || !strings.Contains(no.Reason, "centre") {
			t.Errorf("%s = %v, want *Forbidden that names the centre", what, err)
		}
	}
	refused("a change of the centre's ticket", change(theirs, "Adult"))
	refused("deleting it", w.laptop.Delete(kv.Operator(), kv.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(theirs)}))
	for _, kind := range []*record.Kind{record.Church, record.Person, record.Event} {
		_, err := w.laptop.Create(kv.Operator(), kv.Target{Surface: record.Admin, Kind: kind}, kvtest.Parse(t, kind, bodyFor(kind), true))
		refused("making a "+kind.Name, err)
	}

	own := w.sell(w.laptop, "own")
	if err := change(own, "Adult"); err != nil {
		t.Errorf("a change of the laptop's own ticket = %v", err)
	}
	w.arrives(w.centre, own)
	if _, err := w.centre.Update(kv.Operator(), kv.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(own)},
		kvtest.Parse(t, record.Ticket, `{"state":"cancelled"}`, false)); err != nil {
		t.Fatal(err)
	}
	w.await(w.laptop, record.ScopeEvent, "the cancellation", func(kv.DatabaseInfo) bool {
		r, err := w.laptop.Retrieve(kv.Operator(), kv.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(own)})
		return err == nil && strings.Contains(string(r.JSON), `"state":"cancelled"`)
	})
	refused("a change of what the centre has changed", change(own, "Child"))
	if d, err := w.laptop.CheckIn(kv.Operator(), kv.Attempt{Event: w.event, Code: "own"}); err != nil || d.Outcome != kv.Cancelled {
		t.Errorf("a check-in of a cancelled ticket = %q, %v", d.Outcome, err)
	}
}

func bodyFor(k *record.Kind) string {
	switch k {
	case record.Person:
		return `{"full_name":"Ana Souza"}`
	case record.Event:
		return `{"name":"Another","start_datetime":"2030-01-01T19:00:00Z"}`
	}
	return `{"name":"Another"}`
}

// TestALaptopGivesWayToItsCentre: both have changed a ticket that the laptop has sold, while they could not speak to one another. The
// centre takes nothing more of it from the laptop, so what the centre says stands there too, and what the laptop said is listed.
func TestALaptopGivesWayToItsCentre(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	_, leave := w.follow(w.laptop)
	w.arrives(w.laptop, w.sell(w.centre, "theirs"))
	own := w.sell(w.laptop, "own")
	w.arrives(w.centre, own)
	leave()
	change := func(s *kv.Store, body string) {
		t.Helper()
		target := kv.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(own)}
		if _, err := s.Update(kv.Operator(), target, kvtest.Parse(t, record.Ticket, body, false)); err != nil {
			t.Fatal(err)
		}
	}
	change(w.centre, `{"state":"cancelled"}`)
	for _, to := range []string{"One", "Two", "Three"} { // more revisions than the centre has
		change(w.laptop, `{"type":"`+to+`"}`)
	}
	_, leave = w.follow(w.laptop)
	defer leave()
	w.await(w.laptop, record.ScopeEvent, "the cancellation", func(kv.DatabaseInfo) bool {
		d, err := w.laptop.CheckIn(kv.Operator(), kv.Attempt{Event: w.event, Code: "own"})
		return err == nil && d.Outcome == kv.Cancelled
	})
	page, err := w.laptop.List(kv.Operator(), kv.Query{Surface: record.Admin, Kind: record.Conflict, Limit: 10})
	if err != nil || page.Count != 1 || !strings.Contains(string(page.Results), "Three") {
		t.Errorf("the laptop's conflicts are %s, %v, want what it made of the ticket", page.Results, err)
	}
}
