package venue_test

import (
	"fmt"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
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
