package laptop_test

import (
	"errors"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/laptop"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

const (
	centre = "01J00000000000000000000000"
	epoch  = "01J00000000000000000000007"
)

// join makes a store a laptop of the centre.
func join(t *testing.T, s *kv.Store, change func(*table.Upstream)) {
	t.Helper()
	u := table.Upstream{URL: "https://centre.example", Node: centre, Key: "k", Secret: "s"}
	if err := s.Laptop.Join(auth.Operator(), u, office.Credential{Realm: s.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
	u.Epoch = epoch
	change(&u)
	if err := s.Laptop.NoteUpstream(u); err != nil {
		t.Fatal(err)
	}
}

// TestTake_WhoseStick: a laptop takes the sticks of its own centre, as long as it belongs there.
func TestTake_WhoseStick(t *testing.T) {
	pulls := func(u *table.Upstream) { u.Pulls = []string{"reference", "event-1"} }
	for _, c := range []struct {
		name   string
		change func(*table.Upstream)
		stick  laptop.Stick
		taken  bool
	}{
		{"of its centre", pulls, laptop.Stick{Node: centre, Epoch: epoch}, true},
		{"of its centre, which was restored since they met", pulls, laptop.Stick{Node: centre, Epoch: "01J00000000000000000000009"}, true},
		{"of before the centre was restored", pulls, laptop.Stick{Node: centre, Epoch: "01J00000000000000000000005"}, false},
		{"of another laptop", pulls, laptop.Stick{Node: "01J00000000000000000000001", Epoch: epoch}, false},
		{"of another congregation", pulls, laptop.Stick{Realm: "01J00000000000000000000002", Node: centre, Epoch: epoch}, false},
		{"at a laptop that is revoked", func(u *table.Upstream) { pulls(u); u.Revoked = true }, laptop.Stick{Node: centre, Epoch: epoch}, false},
		{"at a laptop that does not know what it takes along", func(*table.Upstream) {}, laptop.Stick{Node: centre, Epoch: epoch}, false},
		{"at a laptop that has not met its centre since it joined", func(u *table.Upstream) { pulls(u); u.Epoch = "" }, laptop.Stick{Node: centre, Epoch: epoch}, true},
	} {
		s := kvtest.Open(t)
		join(t, s, c.change)
		if c.stick.Realm == "" {
			c.stick.Realm = s.Tables.Identity.Realm()
		}
		_, err := s.Laptop.Take(auth.Operator(), c.stick)
		if not := laptop.NotTaken(""); (err == nil) != c.taken || err != nil && !errors.As(err, &not) {
			t.Errorf("a stick %s: %v", c.name, err)
		}
	}
}

// TestTaking_OfANewEvent: a laptop that takes all events of its churches takes those too that the centre has not told it of.
func TestTaking_OfANewEvent(t *testing.T) {
	all := []string{"reference", "reference-finance", "church-1", "event-9", "event-9-holders"}
	names, labels := append(all, "event-9-names"), append(all, "event-9-labels")
	for _, c := range []struct {
		name   string
		pulls  []string
		chosen bool
		church string
		begins time.Duration
		takes  map[string]bool
	}{
		{"with names", names, false, "1", time.Hour, map[string]bool{"event-1": true, "event-1-names": true, "event-1-holders": true}},
		{"with labels", labels, false, "1", time.Hour, map[string]bool{"event-1": true, "event-1-labels": true, "event-1-holders": true}},
		{"without any other event, so it is not known whether it takes names", all[:3], false, "1", time.Hour, map[string]bool{"event-1": true, "event-1-holders": true}},
		{"that is held", names, false, "1", -time.Hour, map[string]bool{"event-1": true, "event-1-names": true, "event-1-holders": true}},
		{"that is over, and was dropped", names, false, "1", -48 * time.Hour, nil},
		{"of another church", names, false, "2", time.Hour, nil},
		{"where it takes only those that the centre has named", names, true, "1", time.Hour, nil},
	} {
		s := kvtest.Open(t)
		kvtest.Create(t, s, record.Church, `{"name":"Central"}`)
		kvtest.Create(t, s, record.Church, `{"name":"North"}`)
		begins := time.Now().Add(c.begins).UTC().Format(time.RFC3339)
		kvtest.Create(t, s, record.Event, `{"name":"Feast","start_datetime":"`+begins+`","church_id":`+c.church+`}`)
		join(t, s, func(u *table.Upstream) { u.Pulls, u.Chosen = c.pulls, c.chosen })
		taking, err := s.Laptop.Take(auth.Operator(), laptop.Stick{Realm: s.Tables.Identity.Realm(), Node: centre, Epoch: epoch})
		if err != nil {
			t.Fatal(err)
		}
		for db, k := range map[string]*record.Kind{
			"event-1": record.Ticket, "event-1-names": record.HolderName, "event-1-labels": record.HolderLabel, "event-1-holders": record.Holder,
			"event-2": record.Ticket, // is not here
		} {
			if got, err := taking.Of(k, []string{db}); err != nil || (got == db) != c.takes[db] {
				t.Errorf("an event %s: %s goes to %q, %v", c.name, db, got, err)
			}
		}
	}
}
