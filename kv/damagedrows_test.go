package kv_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/bbolt"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/engine"
	"doorward/kv/feed"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

// rowAt is a row of a bucket.
type rowAt struct {
	bucket string
	key    []byte
}

func (r rowAt) String() string { return fmt.Sprintf("%s %x", r.bucket, r.key) }

func (r rowAt) is(o rowAt) bool { return r.String() == o.String() }

// rowsAt are all rows of a file that are none of meta, in order.
func rowsAt(t *testing.T, dir string) (all []rowAt) {
	t.Helper()
	tampered(t, dir, func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(key, _ []byte) error {
				if string(name) != "meta" {
					all = append(all, rowAt{string(name), bytes.Clone(key)})
				}
				return nil
			})
		})
	})
	return all
}

// turned turns a bit in the value of each of some rows.
func turned(t *testing.T, dir string, rows ...rowAt) {
	t.Helper()
	tampered(t, dir, func(tx *bbolt.Tx) error {
		for _, r := range rows {
			b := tx.Bucket([]byte(r.bucket))
			value := bytes.Clone(b.Get(r.key))
			value[len(value)/2] ^= 0x10
			if err := b.Put(r.key, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// recordRows are the rows that say of a record that it is there, of which it has scopes and which change was its latest: its own, those
// in the logs.
func recordRows(t *testing.T, dir string, k *record.Kind, id record.ID) (rows []rowAt) {
	t.Helper()
	for _, r := range rowsAt(t, dir) {
		switch r.bucket {
		case "kind:" + k.Name:
			if bytes.Equal(r.key, k.AppendID(nil, id)) {
				rows = append(rows, r)
			}
		case "log", "scope_log":
			var value []byte
			tampered(t, dir, func(tx *bbolt.Tx) error {
				value = bytes.Clone(tx.Bucket([]byte(r.bucket)).Get(r.key))
				return nil
			})
			if value[0] == k.Number && bytes.HasPrefix(value[2:], k.AppendID(nil, id)) && value[1]&4 == 0 {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// placed is a new folder with a store's file in it.
func placed(t *testing.T, file []byte) (dir string) {
	t.Helper()
	dir = folder(t)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(table.Path(dir), file, 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDamagedValuesKeepNoStoreShut damages some values of a store that has a row in every bucket. It opens, answers what is sound as
// before or that it is damaged, tells how many values it met, and verify names each.
func TestDamagedValuesKeepNoStoreShut(t *testing.T) {
	proof.Unraced(t)
	file := everyRow(t)
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.DeleteFunc(rowsAt(t, filepath.Dir(file)), func(r rowAt) bool {
		return r.bucket == "engine" // it says which log belongs to the file: without it the file stays shut
	})
	seed := proof.Seed(t)
	draw := rand.New(rand.NewPCG(seed, 0))
	r, err := newReading(t.TempDir(), sound)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 2, 2, 3, 3, 10, 10, 10, 40, 200} {
		dir := placed(t, sound)
		var bad []rowAt
		for len(bad) < n {
			b := all[draw.IntN(len(all))].bucket
			if draw.IntN(3) == 0 { // those that lists are made of
				b = []string{"log", "scope_log", "kind:ticket", "kind:person", "kind:checkin", "admission"}[draw.IntN(6)]
			}
			of := slices.DeleteFunc(slices.Clone(all), func(r rowAt) bool { return r.bucket != b })
			if one := of[draw.IntN(len(of))]; !slices.ContainsFunc(bad, one.is) {
				bad = append(bad, one)
			}
		}
		turned(t, dir, bad...)
		image, err := os.ReadFile(table.Path(dir))
		if err != nil {
			t.Fatal(err)
		}
		registry := prometheus.NewRegistry()
		s, err := kv.Open(kv.Config{Dir: dir, Clock: func() time.Time { return r.clock }, Registerer: registry})
		if err != nil {
			t.Fatalf("with %v damaged: Open = %v", bad, err)
		}
		closed(t, s)
		if err := r.put(image); err != nil {
			t.Fatal(err)
		}
		registry = prometheus.NewRegistry()
		s, err = kv.Open(r.config(registry))
		if err != nil {
			t.Fatal(err)
		}
		opened := counted(registry)
		if s.Tables.Damage.Found() > int(opened) {
			t.Errorf("the store says that it met %d damaged values, and counts %v", s.Tables.Damage.Found(), opened)
		}
		if said := r.ask(s, func() bool { return opened > 0 || counted(registry) > opened }); said != "right" {
			t.Errorf("%s, with %v damaged", said, bad)
		}
		wantNamed(t, s, bad)
		closed(t, s)
	}
}

// wantNamed wants verify to name the bucket of each damaged row, and to say of no more than 100 places.
func wantNamed(t *testing.T, s *kv.Store, bad []rowAt) {
	t.Helper()
	rep, err := s.Files.Verify(auth.Operator(), nil)
	if err != nil || rep.Damaged < len(bad) || len(rep.Damage) > 100 || len(rep.Places) > 100 {
		t.Errorf("Verify of %d damaged values finds %d, names %d, %v", len(bad), rep.Damaged, len(rep.Damage), err)
	}
	if rep.Damaged > 100 {
		return
	}
	for _, r := range bad {
		if !slices.ContainsFunc(rep.Places, func(d table.Damage) bool { return d.Bucket == r.bucket && d.Reason == "a value fails its checksum" }) {
			t.Errorf("Verify names no value of bucket %s: %v", r.bucket, rep.Damage)
		}
	}
}

// TestARecordIsListedByWhicheverOfItsRowsIsSound damages some of the rows that tell of a record. Its lists count it as long as one is sound.
// Where none is, whoever lists what it may be among meets the damage, and others' records are read as before.
func TestARecordIsListedByWhicheverOfItsRowsIsSound(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	for _, name := range []string{"Central", "North"} {
		kvtest.Create(t, s, record.Church, fmt.Sprintf(`{"name":%q}`, name))
	}
	lost := kvtest.Create(t, s, record.Person, `{"full_name":"Lost","church_id":1}`)
	kept := kvtest.Create(t, s, record.Person, `{"full_name":"Kept","church_id":1}`)
	gone := kvtest.Create(t, s, record.Person, `{"full_name":"Gone","church_id":1}`)
	if err := s.Desk.Delete(auth.Operator(), target(record.Person, gone)); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	sound, err := os.ReadFile(table.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	own := map[int64][]rowAt{lost: recordRows(t, dir, record.Person, record.Int(lost)), gone: recordRows(t, dir, record.Person, record.Int(gone))}
	count := func(s *kv.Store, where ...desk.Where) (int, error) {
		page, err := s.Desk.List(auth.Operator(), desk.Query{Surface: record.V1, Kind: record.Person, Where: where})
		return page.Count, err
	}
	for _, c := range []struct {
		name   string
		id     int64
		damage []string
		doubt  bool
	}{
		{"its own and the log's", lost, []string{"kind:person", "log"}, false},
		{"its own and the scope's", lost, []string{"kind:person", "scope_log"}, true},
		{"a deleted one's own and the scope's", gone, []string{"kind:person", "scope_log"}, false},
		{"a deleted one's own and the log's", gone, []string{"kind:person", "log"}, false},
		{"all three", lost, []string{"kind:person", "log", "scope_log"}, true},
		{"all three of a deleted one", gone, []string{"kind:person", "log", "scope_log"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := placed(t, sound)
			turned(t, dir, slices.DeleteFunc(slices.Clone(own[c.id]), func(r rowAt) bool { return !slices.Contains(c.damage, r.bucket) })...)
			registry := prometheus.NewRegistry()
			s := kvtest.OpenConfig(t, kv.Config{Dir: dir, Registerer: registry})
			if n := kvtest.Metric(t, registry, "doorward_store_damaged_values"); n != 1 || s.Tables.Damage.Found() != 1 {
				t.Errorf("the store met %d damaged values, and its metric says %v, want 1: the lists are made of people alone", s.Tables.Damage.Found(), n)
			}
			got, err := s.Desk.Retrieve(auth.Operator(), target(record.Person, kept))
			if err != nil || !bytes.Contains(got.JSON, []byte("Kept")) {
				t.Errorf("Retrieve of a sound record = %s, %v", got.JSON, err)
			}
			if _, err := s.Desk.Retrieve(auth.Operator(), target(record.Person, c.id)); !errors.Is(err, engine.ErrCorrupt) {
				t.Errorf("Retrieve of the damaged record = %v, want ErrCorrupt", err)
			}
			// A count and its page are one answer: it is right, or it is that something is damaged.
			n, err := s.Desk.IDs(auth.Operator(), record.Person)
			want := 2
			if c.doubt && c.id == gone {
				want = 3
			}
			if err != nil || len(n) != want {
				t.Errorf("%d people are listed, %v, want %d", len(n), err, want)
			}
			unsure := len(c.damage) == 3
			if n, err := count(s); unsure != errors.Is(err, engine.ErrCorrupt) || !unsure && n != 2 {
				t.Errorf("people of all churches = %d, %v, want 2, or damage where nothing tells whether one is deleted: %v", n, err, unsure)
			}
			if n, err := count(s, desk.Where{Field: "church_id", In: []any{int64(2)}}); c.doubt != errors.Is(err, engine.ErrCorrupt) || n != 0 {
				t.Errorf("people of another church = %d, %v; nobody knows where the damaged one belongs: %v", n, err, c.doubt)
			}
			wantUnused(t, s, lost, kept, gone)
		})
	}
}

// wantUnused makes a record of a store with damage, and wants an id that nobody had and a sequence beyond all. It is the counters in meta that
// guard both, and a look at what lies under the id: no list is asked.
func wantUnused(t *testing.T, s *kv.Store, had ...int64) {
	t.Helper()
	before := s.Tables.Commits.Seq()
	id := kvtest.Create(t, s, record.Person, `{"full_name":"New","church_id":2}`)
	if slices.Contains(had, id) || s.Tables.Commits.Seq() <= before {
		t.Errorf("a new record has id %d, of %v that were given, and sequence %d after %d", id, had, s.Tables.Commits.Seq(), before)
	}
}

// TestTheLastRowsOfALogAndAKindStopNoWrite damages the latest row of every kind, of the logs and of what doors look into: all other people
// still come in, and records are made under ids and sequences of their own. It fails where a new record's place is not to be had for the
// damage beside it.
func TestTheLastRowsOfALogAndAKindStopNoWrite(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	kvtest.Create(t, s, record.Church, `{"name":"Central"}`)
	event := newEvent(t, s, "")
	for i := range 40 {
		newTicket(t, s, event, fmt.Sprintf("SEAT-%d", i), `,"holder_name":"Bia Lima"`)
	}
	for i := range 20 {
		scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: fmt.Sprintf("SEAT-%d", i)}, outcome.Admitted)
	}
	person := kvtest.Create(t, s, record.Person, `{"full_name":"Last","church_id":1}`)
	for range 2 {
		kvtest.Create(t, s, record.Church, `{"name":"North"}`)
	}
	newEvent(t, s, "")
	before := s.Tables.Commits.Seq()
	closed(t, s)
	var bad []rowAt
	for _, r := range rowsAt(t, dir) {
		if last := len(bad) - 1; last >= 0 && bad[last].bucket == r.bucket {
			bad[last] = r // of each bucket the last
		} else {
			bad = append(bad, r)
		}
	}
	bad = slices.DeleteFunc(bad, func(r rowAt) bool {
		return slices.Contains([]string{"code", "admission", "lookup", "engine"}, r.bucket)
	}) // in the order of hashes, or what no store opens without
	turned(t, dir, bad...)
	s = kvtest.OpenConfig(t, kv.Config{Dir: dir})
	if s.Tables.Damage.Found() == 0 || s.Tables.Commits.Seq() != before {
		t.Errorf("the store met %d damaged values, and stands at %d, want %d", s.Tables.Damage.Found(), s.Tables.Commits.Seq(), before)
	}
	in := 0
	for i := 20; i < 40; i++ {
		d, err := s.Door.CheckIn(auth.Operator(), door.Attempt{Event: event, Code: fmt.Sprintf("SEAT-%d", i)})
		if err == nil && d.Outcome == outcome.Admitted {
			in++
		} else if !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("check-in = %v, %v", d.Outcome, err)
		}
	}
	if in != 19 { // all but the one with the last ticket
		t.Errorf("%d of 20 people come in, want 19", in)
	}
	wantUnused(t, s, person)
	newTicket(t, s, event, "NEW", `,"holder_name":"Rui"`)
	scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "NEW"}, outcome.Admitted)
}

// TestExportSaysWhichRowOfATicketIsDamaged: its own, or the one that holds its holder's name, without which a ticket is not whole.
func TestExportSaysWhichRowOfATicketIsDamaged(t *testing.T) {
	for bucket, want := range map[string]string{"kind:ticket": "ticket 1 of bucket kind:ticket", "kind:holder_name": "ticket 1 for another record of it"} {
		c := kv.Config{Dir: folder(t)}
		s := reopenable(t, c)
		event := kvtest.Create(t, s, record.Event, `{"name":"Feast","start_datetime":"2026-05-03T19:00:00Z"}`)
		kvtest.Create(t, s, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"K1","holder_name":"Ana Souza"}`, event))
		key := key8(1)
		if bucket == "kind:holder_name" {
			key = record.HolderName.AppendID(nil, kv.Present(t, s, 1))
		}
		closed(t, s)
		flipped(t, c.Dir, bucket, key, -1)
		s = kvtest.OpenConfig(t, c)
		err := s.Log.Export(auth.Operator(), record.Ticket, func([]byte) error { return nil })
		var out *feed.LeftOut
		if !errors.As(err, &out) || out.Count != 1 || out.Records[0] != want {
			t.Errorf("with damage in %s Export = %v, want that it leaves out %q", bucket, err, want)
		}
	}
}
