package kv_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/inbox"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

// room is what a test says is free on the disk.
type room struct{ atomic.Int64 }

func (r *room) free() (int64, error) { return r.Load(), nil }

// TestAFullDiskRefusesInThePromisedOrder holds each kind of write against the exact limits, downwards and up again.
func TestAFullDiskRefusesInThePromisedOrder(t *testing.T) {
	var left room
	left.Store(1 << 40)
	registry := prometheus.NewRegistry()
	s := kvtest.OpenConfig(t, kv.Config{Free: left.free, Registerer: registry, Clock: kvtest.NewClock(sunday).Now})
	event := newEvent(t, s, "")
	church := kvtest.Create(t, s, record.Church, `{"name":"North"}`)
	for i := range 20 {
		newTicket(t, s, event, fmt.Sprintf("K%d", i), "")
	}
	newTicket(t, s, event, "first", "")
	scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "first", Nonce: "once"}, outcome.Admitted)
	w := &writesOnFullDisk{TB: t, s: s, event: event, church: church}
	for range 20 {
		w.items = append(w.items, put(t, s, record.Conflict, `"kind":"thing","record_id":"1","field":"","other":null`))
	}
	w.laptop = opens(t, s, enrolled(t, s, fmt.Sprintf("event:%d", event), auth.Venue{Names: true}), fmt.Sprintf("event-%d", event))
	w.centre = opens(t, s, auth.Operator(), fmt.Sprintf("event-%d", event))
	if err := s.Docs.CreateDatabase(auth.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	const imports, creates, checkins = 1 << 30, 256 << 20, 16 << 20
	for _, step := range []struct {
		free    int64
		refused string
	}{
		{imports, ""}, {imports - 1, "imports"}, {creates, "imports"}, {creates - 1, "imports creates"}, {checkins, "imports creates"},
		{checkins - 1, "imports creates checkins"}, {0, "imports creates checkins"},
		{checkins, "imports creates"}, {creates, "imports"}, {imports, ""},
	} {
		left.Store(step.free)
		if refused := w.all(); refused != step.refused {
			t.Errorf("with %d bytes free %q are refused, want %q", step.free, refused, step.refused)
		}
		var named []string
		for _, full := range s.Tables.Folder.Room.Shortages() {
			named = append(named, full.What)
		}
		if got := strings.Join(named, " "); got != step.refused {
			t.Errorf("with %d bytes free Shortages = %q, want %q", step.free, got, step.refused)
		}
		if got := kvtest.Metric(t, registry, "doorward_store_disk_free_bytes"); got != float64(step.free) {
			t.Errorf("doorward_store_disk_free_bytes = %v, want %d", got, step.free)
		}
		if err := s.Tables.Engine.Writable(); (err != nil) != (step.free < checkins) || err != nil && !errors.Is(err, disk.ErrFull) {
			t.Errorf("with %d bytes free Writable = %v", step.free, err)
		}
	}
	healthy(t, s)
}

// writesOnFullDisk writes something of each use.
type writesOnFullDisk struct {
	testing.TB
	s             *kv.Store
	laptop        *docs.Database
	centre        *docs.Database // as this store copies from it what it pulls
	event, church int64
	items         []inbox.Item // to decide
	n             int
}

// all tries every write, and names the uses that were refused; a use is refused as a whole or not at all.
func (w *writesOnFullDisk) all() string {
	w.n++
	notes, err := w.s.Docs.Database(auth.Operator(), "notes")
	if err != nil {
		w.Fatal(err)
	}
	doc := func(id string) merge.DocWrite {
		return merge.DocWrite{ID: id, Path: chain("a"), Body: []byte(`{"n":1}`)}
	}
	fact := drawnFact{kind: record.Checkin, id: record.FromULID(ulid.Make()), ticket: 1, code: w.n, direction: "in", hlc: w.n}
	elsewhere := drawnFact{kind: record.Checkin, id: record.FromULID(ulid.Make()), ticket: 2, code: w.n, direction: "in", hlc: w.n}
	name := fmt.Sprint("n", w.n)
	return w.refused("imports", map[string]error{
		"import":     second(w.s.Desk.Upsert(auth.Operator(), []entry.Row{row(w, record.Church, 0, `{"name":"bulk"}`)}, false)),
		"attachment": second(notes.PutBlob(strings.NewReader("bytes"))),
		"bulk":       second(notes.Write([]merge.DocWrite{doc(name + "b"), doc(name + "c")})),
	}) + w.refused(" creates", map[string]error{
		"create":   second(w.s.Desk.Create(auth.Operator(), target(record.Church, 0), kvtest.Parse(w, record.Church, `{"name":"new"}`, true))),
		"update":   second(w.s.Desk.Update(auth.Operator(), target(record.Church, w.church), kvtest.Parse(w, record.Church, fmt.Sprintf(`{"name":%q}`, name), false))),
		"document": second(notes.Write([]merge.DocWrite{doc(name)})),
		"a record": second(w.centre.Write([]merge.DocWrite{{ID: drawnDoc(record.Ticket, 1), Path: chain("a"), Body: []byte(`{"event_id":1}`)}})),
		"database": w.s.Docs.CreateDatabase(auth.Operator(), name),
		"laptop":   w.enrol(name),
		"choice":   second(w.s.Inbox.Resolve(auth.Operator(), w.items[w.n], inbox.Choice{})),
	}) + w.refused(" checkins", map[string]error{
		"check-in":  second(w.s.Door.CheckIn(auth.Operator(), door.Attempt{Event: w.event, Code: fmt.Sprint("K", w.n)})),
		"a refusal": second(w.s.Door.CheckIn(auth.Operator(), door.Attempt{Event: w.event, Code: "nobody" + name})),
		"a fact":    second(w.laptop.Write([]merge.DocWrite{fact.doc('a')})),
		"pulled":    second(w.centre.Write([]merge.DocWrite{elsewhere.doc('b')})),
		"a centre":  w.s.Laptop.Join(auth.Operator(), table.Upstream{}, office.Credential{Realm: w.s.Tables.Identity.Realm()}),
	}) + w.refused(" repeated", map[string]error{ // which write nothing, and are answered for as long as the store is open
		"check-in": second(w.s.Door.CheckIn(auth.Operator(), door.Attempt{Event: w.event, Code: "first", Nonce: "once"})),
	})
}

// enrol makes the code of a laptop.
func (w *writesOnFullDisk) enrol(name string) error {
	_, _, _, err := w.s.Venues.Enrol(auth.Operator(), office.Enrolment{Name: name, Level: auth.Level{Name: auth.EventOf, IDs: []int64{w.event}}})
	return err
}

// refused answers a use's name if all of its writes were refused, "" if none was.
func (w *writesOnFullDisk) refused(use string, fates map[string]error) string {
	w.Helper()
	n := 0
	for what, err := range fates {
		if errors.Is(err, disk.ErrFull) {
			n++
		} else if err != nil {
			w.Errorf("%s: %v", what, err)
		}
	}
	switch n {
	case 0:
		return ""
	case len(fates):
		return use
	}
	w.Errorf("of%s some are refused and some are not: %v", use, fates)
	return use
}

func TestLimitsOfTheDiskCanBeSet(t *testing.T) {
	var left room
	left.Store(50 << 20)
	s := kvtest.OpenConfig(t, kv.Config{Free: left.free, Disk: &disk.RoomLimits{Imports: 50<<20 + 1}})
	if err := s.Tables.Folder.Room.Check(disk.Imports); !errors.Is(err, disk.ErrFull) || !strings.Contains(err.Error(), "imports need 50.0 MiB free, and 50.0 MiB are") {
		t.Errorf("Room(imports) = %v", err)
	}
	if err := s.Tables.Folder.Room.Check(disk.Creates); err != nil {
		t.Errorf("Room(creates) without a limit = %v", err)
	}
}

// A backup must not take the room that people need.
func TestNoCopyIsBegunThatWouldFillTheDisk(t *testing.T) {
	var left room
	left.Store(256<<20 + 1<<10)
	s := kvtest.OpenConfig(t, kv.Config{Free: left.free})
	to := filepath.Join(t.TempDir(), "copy.db")
	if _, err := s.Files.CopyTo(auth.Operator(), to); !errors.Is(err, disk.ErrFull) {
		t.Errorf("CopyTo = %v, want ErrDiskFull", err)
	}
	if _, err := s.Files.Compact(t.Context(), auth.Operator()); !errors.Is(err, disk.ErrFull) {
		t.Errorf("Compact = %v, want ErrDiskFull", err)
	}
	left.Store(300 << 20)
	if _, err := s.Files.CopyTo(auth.Operator(), to); err != nil {
		t.Error(err)
	}
	if _, err := s.Files.Compact(t.Context(), auth.Operator()); err != nil {
		t.Error(err)
	}
}
