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
