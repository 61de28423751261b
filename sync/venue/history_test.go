package venue_test

import (
	"fmt"
	"slices"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/record"
)

// TestHistoryNamesAllThatALaptopChangedOffline: of several edits of one record the last alone comes with its body.
func TestHistoryNamesAllThatALaptopChangedOffline(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	w.visits(w.laptop)
	own := w.sell(w.laptop, "own")
	w.visits(w.laptop)
	for _, to := range []string{`{"type":"Adult"}`, `{"order":"B7"}`} {
		w.changes(w.laptop, record.Ticket, own, to)
	}
	w.visits(w.laptop)
	all, err := w.centre.Desk.History(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(own)}, false)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(p desk.Past) bool { return p.Kind == record.Ticket && p.Winner })
	if i < 0 || !slices.Contains(all[i].Fields, "type") || !slices.Contains(all[i].Fields, "order") {
		t.Errorf("the history is %s, want that it names type and order", fmt.Sprintf("%+v", all))
	}
}
