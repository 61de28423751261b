package kv_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/backup"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// The ledger outlives a line that was cut short, and says of damaged ones that they are.
func TestLedgerOfErasures(t *testing.T) {
	k := knowing(t)
	path := filepath.Join(k.dir, kv.LedgerName)
	if err := os.WriteFile(path, []byte(k.Store.Tables.Identity.Realm()+" person 0123"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.erase(t)
	text, err := os.ReadFile(path)
	if err != nil || bytes.Count(text, []byte("\n")) != 6 {
		t.Errorf("the ledger is %q, %v, want the torn line and five more", text, err)
	}
	k.erase(t)
	if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, text) {
		t.Errorf("erased again, the ledger is %q, %v", again, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	closed(t, k.Store)
	closed(t, reopenable(t, kv.Config{Dir: k.dir}))
	if healed, err := os.ReadFile(path); err != nil || bytes.Count(healed, []byte("\n")) != 5 {
		t.Errorf("the ledger that was lost is %q, %v, want five lines", healed, err)
	}
}

// A backup from before an erasure does not bring the person back, whatever has become of the ledger beside the store.
func TestErasedStaysErasedAfterARestore(t *testing.T) {
	for name, harm := range map[string]func(ledger string) error{
		"the ledger is there":     func(string) error { return nil },
		"the ledger is missing":   os.Remove,
		"the ledger is emptied":   func(ledger string) error { return os.Truncate(ledger, 0) },
		"the ledger is cut short": func(ledger string) error { return os.Truncate(ledger, 40) },
		"the ledger's bits are turned": func(ledger string) error {
			text, err := os.ReadFile(ledger)
			return errors.Join(err, os.WriteFile(ledger, bytes.ReplaceAll(text, []byte("person"), []byte("perron")), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := knowing(t)
			backup := filepath.Join(t.TempDir(), "backup.db")
			if _, err := k.Store.Files.CopyTo(auth.Operator(), backup); err != nil {
				t.Fatal(err)
			}
			k.erase(t)
			closed(t, k.Store)
			if err := harm(filepath.Join(k.dir, kv.LedgerName)); err != nil {
				t.Fatal(err)
			}
			k.comesBackWithout(t, backup)
		})
	}
}

// comesBackWithout restores a backup of a store that has erased the person since, and wants nothing left of that one.
func (k *known) comesBackWithout(t *testing.T, copied string) {
	t.Helper()
	kept, err := backup.ReplaceStore(k.dir, copied, sunday, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(kept); err != nil { // older files are the operator's to delete
		t.Fatal(err)
	}
	k.Store = reopenable(t, kv.Config{Dir: k.dir})
	if _, err := k.Store.Desk.Retrieve(auth.Operator(), target(record.Person, k.person)); kindOf(err) != "not found" {
		t.Errorf("the restored person: %v, want not found", err)
	}
	if n := pageOf(t, k.Store, record.Erasure).Count; n != 5 {
		t.Errorf("%d erasures, want 5", n)
	}
	healthy(t, k.Store)
	k.lacksTraces(t)
}

// erasedAndPassedOn erases the person and gives the ticket to another; the laptop knows of both.
func (k *known) erasedAndPassedOn(t testing.TB) (next int64) {
	t.Helper()
	k.pulls(t)
	k.erase(t)
	k.pulls(t)
	k.tells(t)
	next = kvtest.Create(t, k.Store, record.Person, `{"full_name":"Zulmira Next","church_id":1}`)
	patched(t, k.Store, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":"Zulmira Next","person_id":%d}`, next))
	k.pulls(t)
	return next
}

// TestTwoRestoresInARowForgetNoErasure: the store that the first restore has put there, and nobody has opened, knows less than the ledger.
func TestTwoRestoresInARowForgetNoErasure(t *testing.T) {
	k := late(t)
	next := k.erasedAndPassedOn(t)
	backup := backedUp(t, k.Store)
	if _, err := k.Store.Erasures.Erase(auth.Operator(), record.Person, record.Int(next)); err != nil {
		t.Fatal(err)
	}
	patched(t, k.Store, record.Ticket, k.ticket, `{"holder_name":"Ana Lua"}`)
	k.pulls(t)
	k.tells(t)
	closed(t, k.Store)
	for range 2 {
		restored(t, k.dir, backup)
	}
	k.Store = reopenable(t, kv.Config{Dir: k.dir})
	defer func() { closed(t, k.Store) }()
	k.holderAt(t, k.Store, "")
	k.pushes(t)
	kv.AwaitErasures(t, k.Store)
	k.holderAt(t, k.Store, "Ana Lua") // who has the ticket since
	k.pulls(t)
	k.tells(t)
	k.holderAt(t, k.pair.venue, "Ana Lua")
}

// TestADamagedErasureHidesNothingElse: the ledger is lost, and of the store that is replaced one row about an erasure is damaged. The others
// are told of, and no id is given again.
func TestADamagedErasureHidesNothingElse(t *testing.T) {
	k := knowing(t)
	backup := backedUp(t, k.Store)
	k.erase(t)
	church := kvtest.Create(t, k.Store, record.Church, `{"name":"A"}`)
	person := kv.HashErased(k.Store, record.Person, record.Int(k.person))
	closed(t, k.Store)
	kv.SpoilRows(t, k.dir, "erased", string(person[:]))
	ledger := filepath.Join(k.dir, kv.LedgerName)
	if err := os.Remove(ledger); err != nil {
		t.Fatal(err)
	}
	if log := restored(t, k.dir, backup); !strings.Contains(log, "not all that it has erased is known") {
		t.Errorf("restoring logs %q", log)
	}
	if text, err := os.ReadFile(ledger); err != nil || bytes.Count(text, []byte("\n")) != 4 {
		t.Errorf("the ledger is %q, %v, want the four that are sound", text, err)
	}
	k.Store = reopenable(t, kv.Config{Dir: k.dir})
	defer func() { closed(t, k.Store) }()
	if id := kvtest.Create(t, k.Store, record.Church, `{"name":"B"}`); id <= church {
		t.Errorf("the next church has id %d, and %d was given before", id, church)
	}
}

// TestWhatIsStillToBeErasedIsToldOfWithATime: what a store was told to erase and does not hold has no time of its own.
func TestWhatIsStillToBeErasedIsToldOfWithATime(t *testing.T) {
	k := knowing(t)
	before := backedUp(t, k.Store)
	person := kvtest.Create(t, k.Store, record.Person, `{"full_name":"Later","church_id":1}`)
	if _, err := k.Store.Erasures.Erase(auth.Operator(), record.Person, record.Int(person)); err != nil {
		t.Fatal(err)
	}
	closed(t, k.Store)
	restored(t, k.dir, before)
	k.Store = reopenable(t, kv.Config{Dir: k.dir}) // it takes the erasure up, and holds nothing of that person
	after := backedUp(t, k.Store)
	closed(t, k.Store)
	ledger := filepath.Join(k.dir, kv.LedgerName)
	if err := os.Remove(ledger); err != nil {
		t.Fatal(err)
	}
	restored(t, k.dir, after)
	if text, err := os.ReadFile(ledger); err != nil || !bytes.Contains(text, []byte(sunday.Format("2006-01-02"))) {
		t.Errorf("the ledger is %q, %v, want the time of the restore", text, err)
	}
}

// TestALaptopsLedgerSaysWhatItsCentreDoes: of a ticket that was erased twice both holdings, and nothing but their ULIDs.
func TestALaptopsLedgerSaysWhatItsCentreDoes(t *testing.T) {
	k := late(t)
	defer func() { closed(t, k.Store) }()
	first := kv.Present(t, k.Store, k.ticket).ULID()
	next := k.erasedAndPassedOn(t)
	second := kv.Present(t, k.Store, k.ticket).ULID()
	if _, err := k.Store.Erasures.Erase(auth.Operator(), record.Person, record.Int(next)); err != nil {
		t.Fatal(err)
	}
	k.pulls(t)
	k.tells(t)
	for _, s := range []*kv.Store{k.Store, k.pair.venue} {
		text, err := os.ReadFile(filepath.Join(s.Tables.Folder.Dir, kv.LedgerName))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range [][16]byte{first, second} {
			if bytes.Count(text, fmt.Appendf(nil, " holder %x ", id)) != 1 {
				t.Errorf("the ledger is %q, want one line about %x", text, id)
			}
		}
	}
}
