package venue_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/sync/venue"
)

// TestARevokedLaptopLosesTheNamesOfAnEventThatHasLeftItsReach: it is not told to drop the event, so it is told who is erased there.
func TestARevokedLaptopLosesTheNamesOfAnEventThatHasLeftItsReach(t *testing.T) {
	t.Parallel()
	w, _, other := parish(t)
	ticket, person := w.sell(w.centre, "first"), kvtest.Create(t, w.centre, record.Person, `{"full_name":"Ana Souza"}`)
	w.changes(w.centre, record.Ticket, ticket, fmt.Sprintf(`{"person_id":%d}`, person))
	w.visits(w.laptop)
	departures["to another church"](w, ticket, other)
	w.revokes()
	if _, err := w.centre.Erasures.Erase(auth.Operator(), record.Person, record.Int(person)); err != nil {
		t.Fatal(err)
	}
	if got := w.namesAt(w.laptop); !strings.Contains(got, "Ana Souza") {
		t.Fatalf("the laptop has %s before it is told", got)
	}
	_, err := venue.VisitOnce(t.Context(), venue.Config{Store: w.laptop, Version: "test"}, http.DefaultClient, func() {})
	if err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Fatalf("a visit = %v, want that the laptop is revoked", err)
	}
	if got := w.namesAt(w.laptop); strings.Contains(got, "Ana") {
		t.Errorf("the laptop still has %s", got)
	}
}

// namesAt is what a store's file has of the event's tickets and their holders' names.
func (w *town) namesAt(s *kv.Store) string {
	return strings.Join(append(w.all(s, record.HolderName), w.all(s, record.Ticket)...), "")
}
