package kv_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"doorward/kv"
	"doorward/kv/record"
)

// The ledger outlives a line that was cut short, and says of damaged ones that they are.
func TestLedgerOfErasures(t *testing.T) {
	k := knowing(t)
	path := filepath.Join(k.dir, kv.LedgerName)
	if err := os.WriteFile(path, []byte(k.Realm()+" person 0123"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.erase(t)
	text, err := os.ReadFile(path)
	if err != nil || bytes.Count(text, []byte("\n")) != 5 {
		t.Errorf("the ledger is %q, %v, want the torn line, three more, and the ticket's once it is done", text, err)
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
	if healed, err := os.ReadFile(path); err != nil || bytes.Count(healed, []byte("\n")) != 3 {
		t.Errorf("the ledger that was lost is %q, %v, want three lines", healed, err)
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
			if _, err := k.CopyTo(kv.Operator(), backup); err != nil {
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
func (k *known) comesBackWithout(t *testing.T, backup string) {
	t.Helper()
	kept, err := kv.Replace(k.dir, backup, sunday, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(kept); err != nil { // older files are the operator's to delete
		t.Fatal(err)
	}
	k.Store = reopenable(t, kv.Config{Dir: k.dir})
	if _, err := k.Retrieve(kv.Operator(), target(record.Person, k.person)); kindOf(err) != "not found" {
		t.Errorf("the restored person: %v, want not found", err)
	}
	if n := pageOf(t, k.Store, record.Erasure).Count; n != 3 {
		t.Errorf("%d erasures, want 3", n)
	}
	healthy(t, k.Store)
	k.compacted(t)
	if found := traced(t, k.dir); found != nil {
		t.Errorf("after: %v", found)
	}
}
