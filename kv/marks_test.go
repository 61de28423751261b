package kv_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/backup"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

// backedUp is a file that holds what a store holds.
func backedUp(t testing.TB, s *kv.Store) string {
	t.Helper()
	backup := filepath.Join(t.TempDir(), "backup")
	if _, err := s.Files.CopyTo(auth.Operator(), backup); err != nil {
		t.Fatal(err)
	}
	return backup
}

// restored puts a backup in the place of a closed store, as the command does, and answers what was logged.
func restored(t testing.TB, dir, copied string) (log string) {
	t.Helper()
	aside := t.TempDir()
	file, err := os.ReadFile(copied)
	if err == nil {
		err = os.WriteFile(table.Path(aside), file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	closed(t, reopenable(t, kv.Config{Dir: aside, Restored: true}))
	var out bytes.Buffer
	if _, err := backup.ReplaceStore(dir, table.Path(aside), sunday, slog.New(slog.NewTextHandler(&out, nil))); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestTheSameBackupRestoredTwiceGivesNoIDTwice: what was given between the two restores is in neither of them. Whom it was leased to
// is not known any more, so what laptops have made of it is taken.
func TestTheSameBackupRestoredTwiceGivesNoIDTwice(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	churches(t, s, 3)
	kvtest.Create(t, s, record.Event, `{"name":"Supper","start_datetime":"2026-11-22T19:00:00Z","end_datetime":"2026-11-22T21:00:00Z","responsible_church":1}`)
	laptop := enrolled(t, s, "church:1", auth.Venue{})
	backup := backedUp(t, s)
	given := map[string]bool{}
	var leases []office.Lease
	for range 3 {
		for _, k := range []*record.Kind{record.Church, record.APIKey} {
			var id int64
			if k == record.Church {
				id = kvtest.Create(t, s, k, `{"name":"A"}`)
			} else {
				made := kvtest.Login(t, s, "denomination", "*:*")
				id = made.Key()
			}
			if of := k.DocID(record.Int(id)); given[of] {
				t.Errorf("%s was given before", of)
			} else {
				given[of] = true
			}
		}
		lease, err := s.Venues.Lease(laptop, record.Person, 10_000, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, before := range leases {
			if lease.From <= before.To {
				t.Errorf("the lease %+v overlaps %+v, which was given before", lease, before)
			}
		}
		leases = append(leases, lease)
		closed(t, s)
		if log := restored(t, c.Dir, backup); log != "" {
			t.Errorf("restoring logs %s", log)
		}
		s = reopenable(t, c)
		made := merge.DocWrite{ID: record.Person.DocID(record.Int(lease.To)), Path: chain("a"), Body: []byte(`{"full_name":"Eva","church_id":1}`)}
		if err := push(t, opens(t, s, laptop, "church-1"), made); err != nil {
			t.Errorf("what a laptop has made of the lease %+v: %v", lease, err)
		}
		healthy(t, s)
	}
	closed(t, s)
}

// TestRestoringOverWhatCannotBeRead is what restoring is for; it says which ids it does not know.
func TestRestoringOverWhatCannotBeRead(t *testing.T) {
	for name, spoil := range map[string]func(file []byte) []byte{
		"cut short":   func(file []byte) []byte { return file[:10<<10] },
		"empty":       func([]byte) []byte { return nil },
		"overwritten": func(file []byte) []byte { return bytes.Repeat([]byte{0xa5}, len(file)) },
		"pages overwritten": func(file []byte) []byte {
			return append(file[:16<<10:16<<10], bytes.Repeat([]byte{0xa5}, len(file)-16<<10)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := kv.Config{Dir: folder(t)}
			s := reopenable(t, c)
			churches(t, s, 3)
			backup := backedUp(t, s)
			closed(t, s)
			file, err := os.ReadFile(table.Path(c.Dir))
			if err == nil {
				err = os.WriteFile(table.Path(c.Dir), spoil(file), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if log := restored(t, c.Dir, backup); !strings.Contains(log, "level=WARN") {
				t.Errorf("restoring over a damaged store logs %q", log)
			}
			s = reopenable(t, c)
			if id := kvtest.Create(t, s, record.Church, `{"name":"A"}`); id != 100_004 {
				t.Errorf("the next church has id %d, want 100004", id)
			}
			closed(t, s)
		})
	}
}

// TestTheMarksOfAnotherCongregationAreItsOwn.
func TestTheMarksOfAnotherCongregationAreItsOwn(t *testing.T) {
	one, _ := opened(t)
	churches(t, one, 1)
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	churches(t, s, 1)
	loaded(t, s, row(t, record.Church, 2_000_000, `{"name":"Z"}`))
	closed(t, s)
	restored(t, c.Dir, backedUp(t, one))
	s = reopenable(t, c)
	if id := kvtest.Create(t, s, record.Church, `{"name":"A"}`); id != 100_002 {
		t.Errorf("the next church has id %d, want 100002", id)
	}
	closed(t, s)
}
