package kv_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

// leased asks the centre for ids and keeps them.
func (c joined) leased(t testing.TB, k *record.Kind, count int64) office.Lease {
	t.Helper()
	l, err := c.centre.Venues.Lease(c.p, k, count, c.venue.Tables.Epochs.Present())
	if err != nil {
		t.Fatalf("lease: %v", err)
	}
	if err := c.venue.Laptop.TakeLease(auth.Operator(), l); err != nil {
		t.Fatalf("take the lease: %v", err)
	}
	return l
}

func TestALaptopMintsFromItsLeases(t *testing.T) {
	c := newPair(t)
	kvtest.Create(t, c.centre, record.Person, `{"full_name":"Ana","church_id":1}`)
	l := c.leased(t, record.Person, 2)
	if l.From != 2 || l.To != 3 {
		t.Fatalf("the lease is %d to %d, want 2 to 3", l.From, l.To)
	}
	if id := kvtest.Create(t, c.centre, record.Person, `{"full_name":"Eva"}`); id != 4 {
		t.Errorf("the centre mints %d, want the next beyond the lease", id)
	}
	for _, want := range []int64{2, 3} {
		if id := kvtest.Create(t, c.venue, record.Person, `{"full_name":"N"}`); id != want {
			t.Errorf("the laptop mints %d, want %d", id, want)
		}
	}
	if id := kvtest.Create(t, c.venue, record.Person, `{"full_name":"N"}`); id < record.FirstDrawn || id > record.MaxID {
		t.Errorf("a laptop without leased ids mints %d, want one that no range holds", id)
	}
	if err := c.venue.Laptop.TakeLease(auth.Operator(), l); kindOf(err) != "conflict" {
		t.Errorf("taking the lease twice: %v", err)
	}
	healthy(t, c.centre)
	healthy(t, c.venue)
}

func TestNobodyElseGivesALeasedID(t *testing.T) {
	c := newPair(t)
	c.leased(t, record.Person, 10)
	row := func(id int64) entry.Row {
		return row(t, record.Person, id, fmt.Sprintf(`{"full_name":"P%d","church_id":1}`, id))
	}
	results, err := c.centre.Desk.Upsert(auth.Operator(), []entry.Row{row(5), row(11)}, false)
	if err != nil || kindOf(results[0].Err) != "conflict" || results[1].Err != nil {
		t.Errorf("an import of a leased id and of a free one = %+v, %v", results, err)
	}
	other := enrolled(t, c.centre, "church:1", auth.Venue{})
	doc := func(id int64) merge.DocWrite {
		return merge.DocWrite{ID: record.Person.DocID(record.Int(id)), Path: chain("a"), Body: []byte(`{"full_name":"N","church_id":1}`)}
	}
	if err := push(t, opens(t, c.centre, other, "church-1"), doc(6)); kindOf(err) != "forbidden" {
		t.Errorf("another laptop brings a leased id: %v", err)
	}
	if err := push(t, opens(t, c.centre, c.p, "church-1"), doc(6)); err != nil {
		t.Errorf("the laptop brings an id that it was leased: %v", err)
	}
	named := entry.Row{Kind: record.Person, ID: record.Int(77), Patch: kvtest.Parse(t, record.Person, `{"full_name":"N"}`, false)}
	results, err = c.venue.Desk.Upsert(auth.Operator(), []entry.Row{named}, false)
	if err != nil || kindOf(results[0].Err) != "conflict" {
		t.Errorf("an id that a laptop gives = %+v, %v", results, err)
	}
}

func TestANewEpochBurnsItsLeases(t *testing.T) {
	c := newPair(t)
	l := c.leased(t, record.Person, 10)
	if err := c.venue.Tables.Epochs.Begin("a test"); err != nil {
		t.Fatal(err)
	}
	if id := kvtest.Create(t, c.venue, record.Person, `{"full_name":"N"}`); id < record.FirstDrawn {
		t.Errorf("after a new epoch the laptop mints %d of its old lease", id)
	}
	next := c.leased(t, record.Person, 10)
	if id := kvtest.Create(t, c.venue, record.Person, `{"full_name":"N"}`); id != next.From || next.From <= l.To {
		t.Errorf("the laptop mints %d, want %d of its new lease", id, next.From)
	}
}

func TestWhoIsLeasedWhat(t *testing.T) {
	c := newPair(t)
	key := kvtest.Login(t, c.centre, "church:1", "*:*")
	reader := kvtest.Login(t, c.centre, "church:1", "sync:*", "people:GET")
	for _, test := range []struct {
		name, want string
		p          auth.Principal
		k          *record.Kind
		count      int64
	}{
		{"people for a key that makes them", "ok", key, record.Person, 100},
		{"too many", "not found", key, record.Person, 10_001},
		{"none", "not found", key, record.Person, 0},
		{"people for a key that reads them", "forbidden", reader, record.Person, 100},
		{"tickets for a key", "forbidden", key, record.Ticket, 100},
		{"tickets for a laptop", "ok", c.p, record.Ticket, 100_000},
		{"churches for a laptop", "forbidden", c.p, record.Church, 1},
	} {
		if _, err := c.centre.Venues.Lease(test.p, test.k, test.count, ""); kindOf(err) != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
	if wanted, err := c.venue.Laptop.LeasesWanted(auth.Operator()); err != nil || len(wanted) != 6 {
		t.Errorf("a new laptop wants leases of %d kinds, %v, want 6", len(wanted), err)
	}
	c.leased(t, record.Person, 10_000)
	if wanted, err := c.venue.Laptop.LeasesWanted(auth.Operator()); err != nil || len(wanted) != 5 {
		t.Errorf("then of %d, %v, want 5", len(wanted), err)
	}
	if wanted, err := c.centre.Laptop.LeasesWanted(auth.Operator()); err != nil || wanted != nil {
		t.Errorf("the root wants %v, %v", wanted, err)
	}
}

// TestAnIDNeverMeansTwoThings draws who makes people, with leases, sub-leases and new epochs between.
func TestAnIDNeverMeansTwoThings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		c := newPair(t)
		seen := map[int64]bool{}
		claim := func(id int64) {
			if seen[id] {
				r.Fatalf("id %d is given twice", id)
			}
			seen[id] = true
		}
		for range rapid.IntRange(1, 25).Draw(r, "steps") {
			s := rapid.SampledFrom([]*kv.Store{c.centre, c.venue}).Draw(r, "side")
			switch rapid.IntRange(0, 6).Draw(r, "what") {
			case 0:
				c.leased(t, record.Person, rapid.Int64Range(1, 6).Draw(r, "count"))
			case 1:
				if l, err := s.Venues.Lease(auth.Operator(), record.Person, rapid.Int64Range(1, 4).Draw(r, "count"), ""); err == nil {
					for id := l.From; id <= l.To; id++ {
						claim(id) // whoever asked may use them
					}
				}
			case 2:
				if err := c.venue.Tables.Epochs.Begin("a test"); err != nil {
					t.Fatal(err)
				}
			case 3:
				id := rapid.Int64Range(1, 40).Draw(r, "id")
				results, err := s.Desk.Upsert(auth.Operator(), []entry.Row{row(t, record.Person, id, `{"full_name":"N"}`)}, false)
				if err != nil {
					t.Fatal(err)
				}
				if results[0].Fate == desk.Created {
					claim(id)
				}
			default:
				claim(kvtest.Create(t, s, record.Person, `{"full_name":"N"}`))
			}
		}
	})
}

func TestACentreIsRemembered(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	if s.Tables.Identity.Centre() != "" {
		t.Errorf("a new store's centre is %q, want none", s.Tables.Identity.Centre())
	}
	if err := s.Laptop.Join(kvtest.Login(t, s, "church:1"), table.Upstream{Node: anotherNode}, office.Credential{Realm: s.Tables.Identity.Realm()}); kindOf(err) != "forbidden" {
		t.Errorf("a church's key sets the centre: %v", err)
	}
	if err := s.Laptop.Join(auth.Operator(), table.Upstream{Node: anotherNode}, office.Credential{Realm: s.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	if s = kvtest.OpenConfig(t, c); s.Tables.Identity.Centre() != anotherNode {
		t.Errorf("after a restart the centre is %q", s.Tables.Identity.Centre())
	}
}

// TestALeaseLiesBeyondWhatHasCome: an id that came by replication is given to nobody, however it came to be.
func TestALeaseLiesBeyondWhatHasCome(t *testing.T) {
	s := twoChurches(t)
	p := enrolled(t, s, "church:1", auth.Venue{})
	db := opens(t, s, auth.Operator(), "church-1")
	for _, id := range []int64{20_500, record.FirstDrawn + 7, 300} {
		if err := push(t, db, merge.DocWrite{ID: record.Person.DocID(record.Int(id)), Path: chain("a"), Body: []byte(`{"full_name":"Ana","church_id":1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := s.Venues.Lease(p, record.Person, 10_000, "")
	if err != nil || l.From != 20_501 {
		t.Errorf("Lease = %+v, %v, want the ids from 20501 on", l, err)
	}
	if id := kvtest.Create(t, s, record.Person, `{"full_name":"Rui","church_id":1}`); id != l.To+1 {
		t.Errorf("the next person is %d, want %d", id, l.To+1)
	}
	healthy(t, s)
}
