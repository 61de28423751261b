package venue_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/sync/venue"
)

// erases erases a person at the centre.
func (w *town) erases(person int64) {
	w.Helper()
	if _, err := w.centre.Erasures.Erase(auth.Operator(), record.Person, record.Int(person)); err != nil {
		w.Fatal(err)
	}
}

// isGone wants a person to be erased at a store: it has no body of any revision, and knows them all.
func (w *town) isGone(at string, s *kv.Store, person int64) {
	w.Helper()
	_, err := s.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person, ID: record.Int(person)})
	if !errors.Is(err, table.ErrNotFound) {
		w.Errorf("the person at %s: %v, want not found", at, err)
	}
	db, err := s.Docs.Database(auth.Operator(), "church-1")
	if err != nil {
		w.Fatal(err)
	}
	lacking := merge.Revs{ID: record.Person.DocID(record.Int(person)), Revisions: []rev.ID{{Generation: 9}}}
	if m, err := db.Missing([]merge.Revs{lacking}); err != nil || m[0].Missing != nil {
		w.Errorf("%s lacks %v of the person, %v, want that nothing can come any more", at, m, err)
	}
	past, err := s.Desk.History(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person, ID: record.Int(person)}, true)
	if err == nil && slices.ContainsFunc(past, func(p desk.Past) bool { return p.Held }) {
		w.Errorf("%s holds bodies of the person", at)
	}
}

// TestARestoredCentreIsToldWhoWasErased: by a laptop, and by a mirror. It tells others, and gives the person back to nobody; whose ticket
// it is since keeps the name.
func TestARestoredCentreIsToldWhoWasErased(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]office.Enrolment{
		"a laptop": {Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{1}}, Venue: auth.Venue{Names: true}},
		"a mirror": {Level: auth.Level{Name: auth.Denomination}, Venue: auth.Venue{Mirror: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
			w.event = w.churchEvent(w.centre, 1, "2040-01-01T21:00:00Z")
			person := kvtest.Create(t, w.centre, record.Person, `{"full_name":"Zacarias","church_id":1}`)
			other := kvtest.Create(t, w.centre, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
			kept, passed := w.sell(w.centre, "kept"), w.sell(w.centre, "passed")
			for _, ticket := range []int64{kept, passed} {
				w.changes(w.centre, record.Ticket, ticket, fmt.Sprintf(`{"holder_name":"Zacarias","person_id":%d}`, person))
			}
			w.enrolFor(w.laptop, e)
			later := kvtest.Open(t)
			w.enrolFor(later, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{1}}, Venue: auth.Venue{Names: true}})
			w.visits(w.laptop)
			w.visits(later)
			w.relapses(func() {
				w.changes(w.centre, record.Ticket, passed, fmt.Sprintf(`{"holder_name":"Ana Souza","person_id":%d}`, other))
				w.erases(person)
				w.visits(w.laptop)
				w.isGone("the laptop that was told", w.laptop, person)
			})
			w.visits(w.laptop)
			w.isGone("the restored centre", w.centre, person)
			w.isGone("the laptop that has told it", w.laptop, person)
			w.visits(later)
			w.isGone("the laptop that was told by the restored centre", later, person)
			if n := w.centre.Erasures.Unfinished(); n != 0 {
				t.Errorf("%d erasures are not carried out", n)
			}
			for at, s := range map[string]*kv.Store{"centre": w.centre, "laptop": w.laptop, "other laptop": later} {
				if names := w.namesAt(s); strings.Contains(names, "Zacarias") || name == "a laptop" && !strings.Contains(names, "Ana Souza") {
					t.Errorf("the %s has %s", at, names)
				}
				for _, ticket := range []int64{kept, passed} {
					past, err := s.Desk.History(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(ticket)}, true)
					if err != nil {
						t.Fatal(err)
					}
					for _, p := range past {
						if strings.Contains(string(p.Body), "Zacarias") {
							t.Errorf("the %s keeps %s %s of ticket %d: %s", at, p.Kind.Name, p.Revision, ticket, p.Body)
						}
					}
				}
				if r, err := s.Files.Verify(auth.Operator(), nil); err != nil || r.Damaged != 0 {
					t.Errorf("Verify of the %s = %+v, %v", at, r, err)
				}
			}
		})
	}
}

// TestALaptopHearsOfAnErasureAtOnce: also of somebody who is in none of its databases, long before the two shake hands again.
func TestALaptopHearsOfAnErasureAtOnce(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.join()
	w.arrives(w.laptop, w.sell(w.centre, "first")) // it is connected
	for round := range 2 {
		person := kvtest.Create(t, w.centre, record.Person, `{"full_name":"Zacarias"}`)
		w.erases(person)
		for began := time.Now(); ; {
			all, err := w.laptop.Erasures.Recall.Known(auth.Operator())
			if err != nil {
				t.Fatal(err)
			}
			if len(all) > round {
				t.Logf("round %d: the laptop knows after %v", round, time.Since(began))
				break
			}
			if time.Since(began) > 10*time.Second {
				t.Fatalf("round %d: the laptop has not heard of it", round)
			}
			soon, end := context.WithTimeout(t.Context(), 20*time.Millisecond) // what it is told need not be a change
			_ = w.laptop.Log.Await(soon, w.laptop.Tables.Commits.Seq(), w.laptop.Tables.Commits.Releases())
			end()
		}
	}
}

// TestALaptopThatIsEnrolledAnewTellsARestoredCentre: the backup is from before the laptop was enrolled, so it joins again. It tells all the
// same what was erased since, and brings what the centre has lost.
func TestALaptopThatIsEnrolledAnewTellsARestoredCentre(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	church := kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
	e := office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}, Venue: auth.Venue{Names: true}}
	body := fmt.Sprintf(`{"full_name":"Zacarias","church_id":%d}`, church)
	erased := kvtest.Create(t, w.centre, record.Person, body)
	var lost int64
	w.relapses(func() {
		w.enrolFor(w.laptop, e)
		w.visits(w.laptop)
		lost = kvtest.Create(t, w.centre, record.Person, body)
		w.erases(erased)
		w.visits(w.laptop)
		w.isGone("the laptop that was told", w.laptop, erased)
	})
	w.enrolFor(w.laptop, e)
	w.visits(w.laptop)
	w.isGone("the restored centre", w.centre, erased)
	if !w.has(w.centre, fmt.Sprint("church-", church), record.Person.DocID(record.Int(lost))) {
		t.Error("the restored centre lacks who was added since its backup")
	}
}

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
