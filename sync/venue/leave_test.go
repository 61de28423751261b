package venue_test

import (
	"fmt"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
)

// has tells whether a store has a document in one of its databases.
func (w *town) has(s *kv.Store, database, doc string) bool {
	db, err := s.Docs.Database(auth.Operator(), database)
	if err != nil {
		return false // its church or event has not come yet
	}
	_, err = db.Read(doc, docs.Ask{Leaves: true})
	return err == nil
}

// until waits until something is so.
func (w *town) until(what string, is func() bool) {
	w.Helper()
	for late := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			w.Fatalf("%s: never", what)
		}
	}
}

// TestWhatIsOnlyPulledLeavesAtOnce: the laptop pushes no group, so nothing of its own is to be awaited before one goes, and what comes
// after it in the feed comes.
func TestWhatIsOnlyPulledLeavesAtOnce(t *testing.T) {
	t.Parallel()
	w, _, other := parish(t)
	group := kvtest.Create(t, w.centre, record.Group, `{"name":"choir"}`)
	doc := record.Group.DocID(record.Int(group))
	_, leave := w.follow(w.laptop)
	t.Cleanup(leave)
	w.until("the group at the laptop", func() bool { return w.has(w.laptop, "reference", doc) })
	w.changes(w.centre, record.Group, group, fmt.Sprintf(`{"church_id":%d}`, other))
	w.until("the group, now of another church, gone", func() bool { return !w.has(w.laptop, "reference", doc) })
	church := kvtest.Create(t, w.centre, record.Church, `{"name":"South"}`)
	w.until("a church that is added afterwards", func() bool { return w.has(w.laptop, "reference", record.Church.DocID(record.Int(church))) })
}

// TestALaptopThatIsEnrolledAnewIsToldWhatHasLeft: the person goes to another church before the new key has asked for anything.
func TestALaptopThatIsEnrolledAnewIsToldWhatHasLeft(t *testing.T) {
	t.Parallel()
	w, church, other := parish(t)
	person := kvtest.Create(t, w.centre, record.Person, fmt.Sprintf(`{"full_name":"Ana Souza","church_id":%d}`, church))
	database, doc := fmt.Sprint("church-", church), record.Person.DocID(record.Int(person))
	w.visits(w.laptop)
	if !w.has(w.laptop, database, doc) {
		t.Fatal("the person does not come")
	}
	w.changes(w.centre, record.Person, person, fmt.Sprintf(`{"church_id":%d}`, other))
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}, Venue: auth.Venue{Names: true}})
	w.visits(w.laptop)
	if w.has(w.laptop, database, doc) {
		t.Error("the laptop still has the person")
	}
}

// TestNamesComeBackWithACodeForNames: they went from the laptop when it was enrolled without them, after it had pulled all of them.
func TestNamesComeBackWithACodeForNames(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.sell(w.centre, "first")
	for _, names := range []bool{true, false, true} {
		w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.EventOf, IDs: []int64{w.event}}, Venue: auth.Venue{Names: names}})
		w.visits(w.laptop)
		if got := len(w.all(w.laptop, record.HolderName)); (got > 0) != names {
			t.Errorf("the laptop has %d names, enrolled with names: %t", got, names)
		}
	}
}
