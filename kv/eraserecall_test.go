package kv_test

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/backup"
	"doorward/kv/erase"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestALaptopIsToldOfAllErasures: also of what none of its databases ever had, for its folder may hold more than these.
func TestALaptopIsToldOfAllErasures(t *testing.T) {
	s := twoChurches(t)
	person := func(church int) int64 {
		return kvtest.Create(t, s, record.Person, fmt.Sprintf(`{"full_name":"Somebody","church_id":%d}`, church))
	}
	own, other := person(1), person(2)
	ticket := kvtest.Create(t, s, record.Ticket, fmt.Sprintf(`{"event_id":2,"code":"K7QP","holder_name":"Somebody","person_id":%d}`, other))
	church, event := loggedIn(t, s, laptopKey(t, s, auth.Level{Name: auth.ChurchOf, IDs: []int64{1}})), loggedIn(t, s, laptopKey(t, s, auth.Level{Name: auth.EventOf, IDs: []int64{2}}))
	holding := kv.Present(t, s, ticket)
	for _, id := range []int64{own, other} {
		erased(t, s, id)
	}
	all := []map[string]record.ID{{"person": record.Int(own)}, {"person": record.Int(other)}, {"holder": holding}}
	wantTold(t, s, event, 0, all...)
	upto := wantTold(t, s, church, 0, all...)
	wantTold(t, s, church, upto)
	late := person(1)
	erased(t, s, late)
	if next := wantTold(t, s, church, upto, map[string]record.ID{"person": record.Int(late)}); next <= upto {
		t.Errorf("told up to %d, want beyond %d", next, upto)
	}
	if _, _, err := s.Erasures.Recall.List(kvtest.Login(t, s, "denomination", "*:*"), 0); kindOf(err) != "not found" {
		t.Errorf("Erasures for a key of another class = %v, want not found", err)
	}
}

// TestWhomARestoredCentreNeverKnewIsToldToAll: a backup from before somebody was there says nothing of where a laptop has him.
func TestWhomARestoredCentreNeverKnewIsToldToAll(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	kvtest.Create(t, s, record.Church, `{"name":"Church"}`)
	key := laptopKey(t, s, auth.Level{Name: auth.ChurchOf, IDs: []int64{1}})
	copied := filepath.Join(t.TempDir(), "backup.db")
	if _, err := s.Files.CopyTo(auth.Operator(), copied); err != nil {
		t.Fatal(err)
	}
	id := kvtest.Create(t, s, record.Person, `{"full_name":"Somebody","church_id":1}`)
	erased(t, s, id)
	want := kv.HashErased(s, record.Person, record.Int(id))
	closed(t, s)
	if _, err := backup.ReplaceStore(dir, copied, sunday, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	s = reopenable(t, kv.Config{Dir: dir})
	defer closed(t, s)
	all, _, err := s.Erasures.Recall.List(loggedIn(t, s, key), 0)
	if err != nil || len(all) != 1 || all[0].Hash != want {
		t.Errorf("Erasures = %+v, %v, want the one", all, err)
	}
}

// laptopKey enrols a laptop, whose secret is "mine", and answers its key.
func laptopKey(t testing.TB, s *kv.Store, l auth.Level) string {
	t.Helper()
	_, code, _, err := s.Venues.Enrol(auth.Operator(), office.Enrolment{Name: l.String(), Level: l})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Venues.Exchange(code, office.Joiner{Node: ulid.Make().String(), Secret: keys.HashSecret("mine")})
	if err != nil {
		t.Fatal(err)
	}
	return c.Key
}

func loggedIn(t testing.TB, s *kv.Store, key string) auth.Principal {
	t.Helper()
	p, err := s.Keys.Login(key, "mine")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func erased(t testing.TB, s *kv.Store, id int64) {
	t.Helper()
	if _, err := s.Erasures.Erase(auth.Operator(), record.Person, record.Int(id)); err != nil {
		t.Fatal(err)
	}
}

// wantTold wants a laptop to be told of some records, and answers up to where it was.
func wantTold(t testing.TB, s *kv.Store, p auth.Principal, since uint64, want ...map[string]record.ID) uint64 {
	t.Helper()
	all, upto, err := s.Erasures.Recall.List(p, since)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		for name, id := range w {
			k, _ := record.ByName(name)
			at := slices.IndexFunc(all, func(e erase.Erasure) bool { return e.Kind == k && e.Hash == kv.HashErased(s, k, id) })
			if at < 0 {
				t.Errorf("%s was not told of %s %s", p.Name(), name, k.FormatID(id))
				continue
			}
			all = slices.Delete(all, at, at+1)
		}
	}
	if len(all) > 0 {
		t.Errorf("%s was told of %d others: %+v", p.Name(), len(all), all)
	}
	return upto
}

// TestARestoredCentreTakesErasuresFromALaptop: of what is or was in its databases and of what is not here, for a week, and at no other
// time; from then on they are its own.
func TestARestoredCentreTakesErasuresFromALaptop(t *testing.T) {
	c := joined{centre: twoChurches(t)}
	person := func(church int) int64 {
		return kvtest.Create(t, c.centre, record.Person, fmt.Sprintf(`{"full_name":"Zacarias","church_id":%d}`, church))
	}
	own, moved, other := person(1), person(1), person(2)
	patched(t, c.centre, record.Person, moved, `{"church_id":2}`)
	patched(t, c.centre, record.Event, 2, `{"church_id":1}`) // the laptop's, and has the number of another church
	key := laptopKey(t, c.centre, auth.Level{Name: auth.ChurchOf, IDs: []int64{1}})
	told := func(ids ...int64) (all []erase.Erasure) {
		for _, id := range ids {
			all = append(all, erase.Erasure{Kind: record.Person, Hash: kv.HashErased(c.centre, record.Person, record.Int(id))})
		}
		return all
	}
	absent := other + 1
	all := told(own, moved, other, absent)
	if err := c.centre.Erasures.Recall.Restore(loggedIn(t, c.centre, key), all, true); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("a centre that was not restored: %v, want forbidden", err)
	}
	clock := relapsed(t, &c, func() {})
	p := loggedIn(t, c.centre, key)
	clock.Move(8 * 24 * time.Hour)
	if err := c.centre.Erasures.Recall.Restore(p, all, true); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("after a week: %v, want forbidden", err)
	}
	clock.Move(-8 * 24 * time.Hour)
	if err := c.centre.Erasures.Recall.Restore(kvtest.Login(t, c.centre, "denomination", "*:*"), all, true); kindOf(err) != "not found" {
		t.Errorf("for a key of another class: %v, want not found", err)
	}
	if err := c.centre.Erasures.Recall.Restore(p.Revoked(), all, true); !errors.Is(err, table.ErrRevoked) {
		t.Errorf("for a revoked laptop: %v, want ErrRevoked", err)
	}
	is := func(id int64) string {
		_, err := c.centre.Desk.Retrieve(auth.Operator(), target(record.Person, id))
		return kindOf(err)
	}
	if got := is(own) + is(moved) + is(other); got != "okokok" {
		t.Fatalf("before anything was taken the three are %s", got)
	}
	if err := c.centre.Erasures.Recall.Restore(p, all, false); err != nil {
		t.Fatal(err)
	}
	if r, err := c.centre.Desk.Retrieve(auth.Operator(), target(record.Person, own)); err != nil || member(r.JSON, "full_name") == `"Zacarias"` {
		t.Errorf("until it is carried out the person is %s, %v, want nobody to be shown the name", r.JSON, err)
	}
	if err := c.centre.Erasures.Recall.Restore(p, nil, true); err != nil {
		t.Fatal(err)
	}
	if got := is(own) + is(moved) + is(other); got != "not foundnot foundok" {
		t.Errorf("afterwards the three are %s, want what was never the laptop's to stay", got)
	}
	if n := kv.RowsHolding(t, c.centre, "body", "Zacarias"); n != 0 {
		t.Errorf("%d bodies of them are kept", n)
	}
	back := merge.DocWrite{ID: record.Person.DocID(record.Int(absent)), Path: chain("a"), Body: []byte(`{"full_name":"Zacarias","church_id":1}`)}
	if err := push(t, opens(t, c.centre, p, "church-1"), back); kindOf(err) != "forbidden" {
		t.Errorf("who was made since the backup, and erased, comes back: %v", err)
	}
	another := loggedIn(t, c.centre, laptopKey(t, c.centre, auth.Level{Name: auth.ChurchOf, IDs: []int64{2}}))
	wantTold(t, c.centre, another, 0, map[string]record.ID{"person": record.Int(own)}, map[string]record.ID{"person": record.Int(moved)}, map[string]record.ID{"person": record.Int(absent)})
	healthy(t, c.centre)
}

// TestAnErasureThatIsToldOfJustAfterTheStartIsCarriedOut: it may commit before the goroutine that waits for erasures runs its first line. With
// one processor it does.
func TestAnErasureThatIsToldOfJustAfterTheStartIsCarriedOut(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	kvtest.Create(t, s, record.Church, `{"name":"Church"}`)
	person := record.Int(kvtest.Create(t, s, record.Person, `{"full_name":"Somebody","church_id":1}`))
	hash := s.Tables.Identity.HashErased(record.Person, person)
	closed(t, s)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s = kvtest.OpenConfig(t, c)
	err := s.Tables.Do(func(o *table.Tx) error {
		merge.QueueErasure(o, record.Person, hash)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(10 * time.Second); s.Erasures.Finished() == 0; runtime.Gosched() {
		if time.Now().After(late) {
			t.Fatal("the erasure is not carried out")
		}
	}
	if _, err := s.Desk.Retrieve(auth.Operator(), target(record.Person, person.Int())); kindOf(err) != "not found" {
		t.Errorf("Retrieve of the erased person = %v, want not found", err)
	}
}
