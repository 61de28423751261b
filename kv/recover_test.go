package kv_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/backup"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/outcome"
	"doorward/kv/record"
)

// relapsed has a centre restored to a backup that was made before something happened.
func relapsed(t testing.TB, c *joined, between func()) *kvtest.Clock {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "backup")
	if _, err := c.centre.Files.CopyTo(auth.Operator(), copied); err != nil {
		t.Fatal(err)
	}
	between()
	dir := t.TempDir()
	if _, err := backup.ReplaceStore(dir, copied, sunday, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	closed(t, reopenable(t, kv.Config{Dir: dir, Restored: true}))
	clock := kvtest.NewClock(time.Now())
	c.centre = kvtest.OpenConfig(t, kv.Config{Dir: dir, Clock: clock.Now})
	return clock
}

// A restored centre does not know what it had leased since its backup. It gives none of that again, and takes what was made of it.
func TestIDsLeasedBeforeARestoreAreGood(t *testing.T) {
	c := newPair(t)
	var last office.Lease
	clock := relapsed(t, &c, func() {
		for range 20 {
			last = c.leased(t, record.Person, 10_000)
		}
	})
	other := enrolled(t, c.centre, "church:1", auth.Venue{})
	lost, err := c.centre.Venues.Lease(other, record.Person, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	theirs := merge.DocWrite{ID: record.Person.DocID(record.Int(lost.From)), Path: chain("a"), Body: []byte(`{"full_name":"Eva","church_id":1}`)}
	if err := push(t, opens(t, c.centre, c.p, "church-1"), theirs); err != nil {
		t.Errorf("the laptop brings what another had made: %v", err)
	}
	made := merge.DocWrite{ID: record.Person.DocID(record.Int(last.From)), Path: chain("a"), Body: []byte(`{"full_name":"Ana","church_id":1}`)}
	if err := push(t, opens(t, c.centre, c.p, "church-1"), made); err != nil {
		t.Errorf("the laptop brings what it had made: %v", err)
	}
	if next, err := c.centre.Venues.Lease(c.p, record.Person, 1, c.venue.Tables.Epochs.Present()); err != nil || next.From <= last.To {
		t.Errorf("the next lease is %+v, %v, want one beyond %d", next, err, last.To)
	}
	clock.Move(8 * 24 * time.Hour)
	made.ID = record.Person.DocID(record.Int(last.From + 1))
	if err := push(t, opens(t, c.centre, c.p, "church-1"), made); err != nil {
		t.Errorf("a week later the laptop brings what it had made: %v", err)
	}
	healthy(t, c.centre)
}

// What a restored centre takes back stays signed by who made it, itself too.
func TestARestoredCentreKnowsAgainWhoWroteWhat(t *testing.T) {
	c := newPair(t)
	id := kvtest.Create(t, c.centre, record.Person, `{"full_name":"Ana","church_id":1}`)
	chief, other := kvtest.Login(t, c.centre, "denomination", "*:*"), ulid.Make()
	relapsed(t, &c, func() {})
	db := opens(t, c.centre, c.p, "church-1")
	for _, by := range []ulid.ULID{other, ulid.MustParse(c.centre.Tables.Identity.Node())} {
		w := onTop(t, db, record.Person.DocID(record.Int(id)), `"Ana`, `"Ana S`)
		w.Author = merge.Author{Node: by, Key: chief.Key()}
		if err := push(t, db, w); err != nil {
			t.Fatal(err)
		}
		tree := kv.TreeOf(t, c.centre, record.Person, id)
		want := by
		if by.String() == c.centre.Tables.Identity.Node() {
			want = ulid.ULID{} // made here
		}
		if last := tree.Winner(); last.Node != want || last.Key != chief.Key() {
			t.Errorf("a change by %s is signed by %s, key %d", by, last.Node, last.Key)
		}
	}
}

// A restored centre takes back its own facts, and those of others, from a laptop that has them; later on it takes none again.
func TestARestoredCentreIsToldWhatItHadKnown(t *testing.T) {
	c := newPair(t)
	newTicket(t, c.centre, 1, "CODE", "")
	gate := enrolled(t, c.centre, "event:1", auth.Venue{Node: c.venue.Tables.Identity.Node()})
	event := func(s *kv.Store, p auth.Principal) *docs.Database { return opens(t, s, p, "event-1") }
	clock := relapsed(t, &c, func() {
		scanned(t, c.centre, auth.Operator(), door.Attempt{Event: 1, Code: "CODE"}, outcome.Admitted)
		patched(t, c.centre, record.Ticket, 1, `{"state":"cancelled"}`)
		replicated(t, event(c.centre, auth.Operator()), c.centre.Tables.Identity.Node(), event(c.venue, auth.Operator()))
	})
	scanned(t, c.centre, auth.Operator(), door.Attempt{Event: 1, Code: "OTHER"}, outcome.UnknownCode)
	push := func() []string {
		return replicated(t, event(c.venue, auth.Operator()), c.venue.Tables.Identity.Node(), event(c.centre, gate))
	}
	clock.Move(8 * 24 * time.Hour)
	if refused := push(); len(refused) != 2 {
		t.Errorf("after a week the centre refuses %v, want its fact and its cancellation", refused)
	}
	clock.Move(-4 * 24 * time.Hour)
	if refused := push(); refused != nil {
		t.Errorf("the restored centre refuses %v", refused)
	}
	scanned(t, c.centre, auth.Operator(), door.Attempt{Event: 1, Code: "CODE"}, outcome.Cancelled)
	page, err := c.centre.Door.DoubleEntries(auth.Operator(), 1, desk.Part{Limit: 9})
	if err != nil || page.Count != 1 || page.Items[0].Node != c.centre.Tables.Identity.Node() {
		t.Errorf("double entries = %+v, %v, want the admission that is cancelled since", page, err)
	}
	healthy(t, c.centre)
}

// A laptop has heard of a ticket's new name, or of its label, and not of both when the centre is restored to before. What it brings
// back agrees with what the centre has beside it, and with the rest where that comes later.
func TestHalfOfANameThatARestoredCentreIsBroughtBack(t *testing.T) {
	for _, level := range []string{"church:1", "event:1"} {
		for _, heard := range []string{"event-1", "event-1-names"} {
			c := newPair(t)
			kv.ShareCodeKey(t, c.centre, c.venue)
			id := newTicket(t, c.centre, 1, "CODE", `,"holder_name":"Ana Souza","phone":"11 987654321"`)
			c.p = enrolled(t, c.centre, level, auth.Venue{Node: c.venue.Tables.Identity.Node(), Names: true})
			hears := func(name string) {
				t.Helper()
				replicated(t, opens(t, c.centre, auth.Operator(), name), c.centre.Tables.Identity.Node(), opens(t, c.venue, auth.Operator(), name))
			}
			hears("event-1")
			hears("event-1-names")
			whole := c.centre
			relapsed(t, &c, func() {
				patched(t, c.centre, record.Ticket, id, `{"holder_name":"Eva Ferreira"}`)
				hears(heard)
			})
			want := map[string]string{"event-1": "Ana Souza", "event-1-names": "Eva Ferreira"}[heard]
			for _, holds := range []string{want, "Eva Ferreira"} {
				for _, name := range []string{"event-1", "event-1-names"} {
					if refused := pushed(t, c, name); refused != nil {
						t.Errorf("%s is refused %v", level, refused)
					}
				}
				if name, _ := agrees(t, c.centre, id); name != holds {
					t.Errorf("%s has heard of %s: the name is %s, want %s", level, heard, name, holds)
				}
				for _, name := range []string{"event-1", "event-1-names"} { // as another laptop has heard
					replicated(t, opens(t, whole, auth.Operator(), name), whole.Tables.Identity.Node(), opens(t, c.venue, auth.Operator(), name))
				}
			}
			healthy(t, c.centre)
		}
	}
}

// A laptop has brought a ticket's new label, and not the name, and goes on from a backup of before. What nobody has any more is not
// waited for; and if it does come, it counts.
func TestHalfOfANameOfALaptopThatWasRestored(t *testing.T) {
	for _, level := range []string{"church:1", "event:1"} {
		c := newPair(t)
		kv.ShareCodeKey(t, c.centre, c.venue)
		c.p = enrolled(t, c.centre, level, auth.Venue{Node: c.venue.Tables.Identity.Node(), Names: true})
		c.exchange(t, "event-1")
		id := newTicket(t, c.venue, 1, "CODE", `,"holder_name":"Ana Souza","phone":"11 987654321"`)
		for _, name := range ticketDBs {
			pushed(t, c, name)
		}
		session := ""
		meets := func(before string) {
			t.Helper()
			session = ulid.Make().String()
			if _, err := c.centre.Keys.SeenSession(c.venue.Tables.Identity.Node(), session, []string{before}); err != nil {
				t.Fatal(err)
			}
		}
		meets(ulid.Make().String())
		patched(t, c.venue, record.Ticket, id, `{"holder_name":"Eva Ferreira"}`)
		pushed(t, c, "event-1")
		brought := kv.TreeOf(t, c.centre, record.Ticket, id)
		meets(session)
		if tree := kv.TreeOf(t, c.centre, record.Ticket, id); tree.Len() != brought.Len() {
			t.Errorf("%s: the centre does not wait for the name", level)
		}
		meets(ulid.Make().String())
		if name, _ := agrees(t, c.centre, id); name != "Ana Souza" {
			t.Errorf("%s: the name is %s", level, name)
		}
		pushed(t, c, "event-1-names")
		if name, _ := agrees(t, c.centre, id); name != "Eva Ferreira" {
			t.Errorf("%s: the name is %s", level, name)
		}
		healthy(t, c.centre)
	}
}
