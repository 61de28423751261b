package kv_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/engine"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestDamageToWhatAStoreIsKeepsItShut: of the rows of meta those that say which store it is, and what it has given, are not guessed. One
// sentence names the row, why the store stays shut and what to do. Every other row may be damaged.
func TestDamageToWhatAStoreIsKeepsItShut(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
	if _, err := s.Tables.Clock.Trust(auth.Operator()); err != nil {
		t.Fatal(err)
	}
	if err := s.Tables.Epochs.Begin("of a test"); err != nil {
		t.Fatal(err)
	}
	epoch := s.Tables.Epochs.Present()
	closed(t, s)
	sound, err := os.ReadFile(table.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	shut := []string{"format", "realm", "node", "epoch", "code_key", "state"}
	rows := keysOf(t, dir, "meta")
	if len(rows) < len(shut)+3 {
		t.Fatalf("meta has only %q", rows)
	}
	for _, key := range rows {
		name := string(key)
		t.Run(name, func(t *testing.T) {
			dir := placed(t, sound)
			turned(t, dir, rowAt{"meta", key})
			var log strings.Builder
			aside := !strings.HasPrefix(name, "marker") // the folder is a copy, and only the marker is to tell
			s, err := kv.Open(kv.Config{Dir: dir, Aside: aside, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			for _, row := range shut {
				if name != row {
					continue
				}
				if err == nil {
					closed(t, s)
				}
				want := "meta row " + row + ", by which it knows which store it is and which ids and sequences it has given, cannot be read, and it could give some twice: restore a backup"
				if !errors.Is(err, engine.ErrCorrupt) || !strings.Contains(err.Error(), want) {
					t.Errorf("Open = %v, want %q", err, want)
				}
				rep, err := kv.Inspect(dir)
				if err != nil || len(rep.Places) != 1 || rep.Places[0].Row != row || rep.Places[0].Bucket != "meta" || rep.Rows < 10 {
					t.Errorf("Inspect = %+v, %v, want the row and nothing else", rep, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("Open = %v", err)
			}
			defer closed(t, s)
			switch name {
			case "marker", "marker_times":
				if s.Tables.Epochs.Present() == epoch {
					t.Error("a folder that may be a copy goes on in its epoch")
				}
			case "clock":
				if d := s.Tables.Clock.Reading().Doubt; d != table.Unknown {
					t.Errorf("the clock is doubted because %q, want %q", d, table.Unknown)
				}
				if _, err := s.Tables.Clock.Trust(auth.Operator()); err != nil || s.Tables.Clock.Reading().Doubt != "" {
					t.Errorf("trusted, it is doubted because %q, %v", s.Tables.Clock.Reading().Doubt, err)
				}
			}
			if log.Len() == 0 && name != "compacted" && name != "free" && name != "restored" {
				t.Error("the log says nothing")
			}
		})
	}
}

// TestABurntLeaseIsBurntBeyondADamagedOne: a laptop whose folder may be a copy gives up all ranges of ids that it was leased, also those behind a
// row that it cannot read: the other copy mints from them.
func TestABurntLeaseIsBurntBeyondADamagedOne(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	if err := s.Laptop.Join(auth.Operator(), table.Upstream{URL: "https://centre.example", Node: anotherNode}, office.Credential{Realm: s.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
	for _, from := range []int64{1, 1001, 2001} {
		if err := s.Laptop.TakeLease(auth.Operator(), office.Lease{Kind: record.Person, From: from, To: from + 999}); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, s)
	rows := keysOf(t, dir, "lease")
	turned(t, dir, rowAt{"lease", rows[len(rows)-2]})
	s = kvtest.OpenConfig(t, kv.Config{Dir: dir})
	if err := s.Tables.Epochs.Begin("of a test"); err != nil {
		t.Fatal(err)
	}
	id := kvtest.Create(t, s, record.Person, `{"full_name":"Rui"}`)
	if id < record.FirstDrawn {
		t.Errorf("the id %d is of a range that was given up", id)
	}
}

// TestAReadOnlyStoreShowsNobodyWhoIsToBeErased: the ledger says who is erased, and the file cannot be changed.
func TestAReadOnlyStoreShowsNobodyWhoIsToBeErased(t *testing.T) {
	k := knowing(t)
	backup := filepath.Join(t.TempDir(), "before.db")
	if _, err := k.Store.Files.CopyTo(auth.Operator(), backup); err != nil {
		t.Fatal(err)
	}
	k.erase(t)
	closed(t, k.Store)
	whole, err := os.ReadFile(backup)
	if err := errors.Join(err, os.WriteFile(table.Path(k.dir), whole, 0o600)); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(table.Path(k.dir))
	if err != nil {
		t.Fatal(err)
	}
	s := kvtest.OpenConfig(t, kv.Config{Dir: k.dir, ReadOnly: true})
	if s.Erasures.Unfinished() == 0 {
		t.Error("nothing is to be erased")
	}
	if err := s.Log.Export(auth.Operator(), record.Person, func(text []byte) error {
		if strings.Contains(string(text), "Zacarias") {
			t.Errorf("the export shows %s", text)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if _, err := s.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Church}, kvtest.Parse(t, record.Church, `{"name":"A"}`, true)); !errors.Is(err, engine.ErrReadOnly) {
		t.Errorf("Create = %v, want ErrReadOnly", err)
	}
	closed(t, s)
	if after, err := os.Stat(table.Path(k.dir)); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the file was written: %v", err)
	}
}
