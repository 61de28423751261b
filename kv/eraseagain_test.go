package kv_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/backup"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// holderAt wants a ticket's holder to be named so at a store; "" = not at all.
func (k *known) holderAt(t testing.TB, s *kv.Store, want string) {
	t.Helper()
	text := "null"
	if want != "" {
		text = fmt.Sprintf("%q", want)
	}
	r, err := s.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket))
	if err != nil || member(r.JSON, "holder_name") != text {
		t.Errorf("the ticket is %s, %v, want the holder %s", r.JSON, err, text)
	}
}

// TestWhoHasTheTicketOfAnErasedPersonIsErasedToo: the names that came after the first erasure go with the second, everywhere.
func TestWhoHasTheTicketOfAnErasedPersonIsErasedToo(t *testing.T) {
	k := late(t)
	k.pulls(t)
	k.erase(t)
	k.tells(t)
	next := kvtest.Create(t, k.Store, record.Person, `{"full_name":"Zulmira Next","church_id":1}`)
	patched(t, k.Store, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":"Zulmira Next","email":"zulmira@example.org","person_id":%d}`, next))
	k.pulls(t)
	k.holderAt(t, k.pair.venue, "Zulmira Next")
	_, upto, err := k.Store.Erasures.Recall.List(k.pair.p, 0)
	if err != nil {
		t.Fatal(err)
	}
	found, err := k.Store.Erasures.Erase(auth.Operator(), record.Person, record.Int(next))
	if err != nil || found.Tickets != 1 {
		t.Fatalf("Erase = %+v, %v, want one ticket", found, err)
	}
	if again, _, err := k.Store.Erasures.Recall.List(k.pair.p, upto); err != nil || len(again) != 2 {
		t.Errorf("the laptop is told of %+v, %v, want the person and the ticket again", again, err)
	}
	k.tells(t)
	for _, s := range []*kv.Store{k.Store, k.pair.venue} {
		k.holderAt(t, s, "")
	}
	k.venueLacksTraces(t)
	k.pulls(t)
	k.passesOn(t)
	healthy(t, k.pair.venue)
	healthy(t, k.Store)
	k.lacksTraces(t)
}

// TestARestoredCentreKeepsWhoHasTheTicketNow: it makes other revisions without names than before, and the ledger tells of those.
func TestARestoredCentreKeepsWhoHasTheTicketNow(t *testing.T) {
	k := late(t)
	copied := filepath.Join(t.TempDir(), "backup.db")
	if _, err := k.Store.Files.CopyTo(auth.Operator(), copied); err != nil {
		t.Fatal(err)
	}
	patched(t, k.Store, record.Ticket, k.ticket, `{"holder_name":"Zacarias Later","order":"A7"}`)
	k.erase(t)
	patched(t, k.Store, record.Ticket, k.ticket, `{"holder_name":"Ana Lua"}`)
	k.pulls(t)
	k.tells(t)
	closed(t, k.Store)
	if _, err := backup.ReplaceStore(k.dir, copied, sunday, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	k.Store = reopenable(t, kv.Config{Dir: k.dir})
	defer closed(t, k.Store)
	k.holderAt(t, k.Store, "")
	k.pushes(t)
	k.holderAt(t, k.Store, "Ana Lua")
	k.pulls(t)
	k.tells(t)
	k.holderAt(t, k.pair.venue, "Ana Lua")
	k.agrees(t, ticketDBs...)
	healthy(t, k.Store)
}

// TestALaptopKeepsNothingOfWhomATicketPassedOn: one of the event is told of no person, so it has nothing that an erasure had to find.
func TestALaptopKeepsNothingOfWhomATicketPassedOn(t *testing.T) {
	k := knowing(t)
	defer closed(t, k.Store)
	k.meets(t, auth.Level{Name: auth.EventOf, IDs: []int64{1}})
	pulls := func() {
		for _, name := range ticketDBs[:2] {
			replicated(t, opens(t, k.Store, k.pair.p, name), k.Store.Tables.Identity.Node(), opens(t, k.pair.venue, auth.Operator(), name))
		}
	}
	pulls()
	k.holderAt(t, k.pair.venue, "Zacarias Quintela")
	patched(t, k.Store, record.Ticket, k.ticket, `{"holder_name":"Ana Lua","email":"ana@example.org","person_id":null}`)
	pulls()
	k.erase(t)
	k.tells(t)
	k.holderAt(t, k.pair.venue, "Ana Lua")
	k.venueLacksTraces(t)
	healthy(t, k.pair.venue)
}

// TestTheNextHolderIsHiddenWhileBeingErased: in all parts of the ticket, also in those that name nobody's record.
func TestTheNextHolderIsHiddenWhileBeingErased(t *testing.T) {
	k := late(t)
	defer closed(t, k.Store)
	k.erase(t)
	next := kvtest.Create(t, k.Store, record.Person, `{"full_name":"Zulmira Next","church_id":1}`)
	patched(t, k.Store, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":"Zulmira Next","email":"zulmira@example.org","person_id":%d}`, next))
	kv.StopErasing(k.Store, func(step string) error {
		if step == "noted holder" {
			return errors.New("no more")
		}
		return nil
	})
	if _, err := k.Store.Erasures.Erase(auth.Operator(), record.Person, record.Int(next)); err == nil {
		t.Fatal("the erasure was not stopped")
	}
	k.shows(t, k.Store, "holder_name", "null", "label", `""`, "email", "null")
	kv.StopErasing(k.Store, nil)
}

// TestARestoredCentreErasesATwiceErasedTicketTwice: the first erasure alone would let in the name that was given after it.
func TestARestoredCentreErasesATwiceErasedTicketTwice(t *testing.T) {
	for name, lost := range map[string]bool{"the ledger is there": false, "the ledger is lost": true} {
		for _, named := range []bool{false, true} { // in the backup
			for _, heard := range []bool{false, true} { // by the laptop
				t.Run(fmt.Sprintf("%s, named %v, heard %v", name, named, heard), func(t *testing.T) {
					k := late(t)
					defer func() { closed(t, k.Store) }()
					k.twiceErased(t, named, heard, lost)
					k.holderAt(t, k.Store, "")
					k.pushes(t)
					k.holderAt(t, k.Store, "")
					k.pulls(t)
					k.tells(t)
					k.holderAt(t, k.pair.venue, "")
					k.agrees(t, ticketDBs...)
					k.venueLacksTraces(t)
					patched(t, k.pair.venue, record.Ticket, k.ticket, `{"holder_name":"Ana Lua"}`)
					k.pushes(t)
					k.holderAt(t, k.Store, "Ana Lua")
					healthy(t, k.Store)
					healthy(t, k.pair.venue)
				})
			}
		}
	}
}

// twiceErased restores the centre to a backup from before the ticket's next holder was erased too, or from before there was one. The
// laptop was told of the first erasure alone. The ledger may be lost, so that only the store before knows of the second.
func (k *known) twiceErased(t testing.TB, named, heard, lost bool) {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "backup.db")
	keep := func() {
		if _, err := k.Store.Files.CopyTo(auth.Operator(), copied); err != nil {
			t.Fatal(err)
		}
	}
	keep()
	k.pulls(t)
	k.erase(t)
	k.pulls(t)
	k.tells(t)
	patched(t, k.Store, record.Ticket, k.ticket, `{"holder_name":"Zulmira Next"}`)
	if named {
		copied += "2"
		keep()
	}
	if heard {
		k.pulls(t)
	}
	next := kvtest.Create(t, k.Store, record.Person, `{"full_name":"Zulmira Next","church_id":1}`)
	patched(t, k.Store, record.Ticket, k.ticket, fmt.Sprintf(`{"person_id":%d}`, next))
	if _, err := k.Store.Erasures.Erase(auth.Operator(), record.Person, record.Int(next)); err != nil {
		t.Fatal(err)
	}
	closed(t, k.Store)
	if lost {
		if err := os.Remove(filepath.Join(k.dir, kv.LedgerName)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := backup.ReplaceStore(k.dir, copied, sunday, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	k.Store = reopenable(t, kv.Config{Dir: k.dir})
}
