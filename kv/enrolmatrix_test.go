package kv_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/fault"
	"doorward/kv/keys"
	"doorward/kv/office"
)

// enrolments are all that a laptop could be enrolled for at the store of twoChurches, and more that is not there.
func enrolments() (all []office.Enrolment) {
	event := func(ids ...int64) auth.Level { return auth.Level{Name: auth.EventOf, IDs: ids} }
	church := func(ids ...int64) auth.Level { return auth.Level{Name: auth.ChurchOf, IDs: ids} }
	for _, level := range []auth.Level{event(1), event(3), event(9), event(), church(1), church(1, 2), church(9), {Name: auth.Denomination}} {
		for _, events := range [][]int64{nil, {1}, {2}, {3, 3}, {9}} {
			for bits := range 8 {
				v := auth.Venue{Finance: bits&1 != 0, Mirror: bits&2 != 0, Names: bits&4 != 0}
				all = append(all, office.Enrolment{Level: level, Events: events, Venue: v})
			}
		}
	}
	return all
}

// TestEnrolRefusesWhatItsPullWouldRefuse: each database that a laptop is told to exchange is one that it may read or write, and nothing
// that it was enrolled for is missing among them.
func TestEnrolRefusesWhatItsPullWouldRefuse(t *testing.T) {
	s := twoChurches(t)
	taken := 0
	for i, e := range enrolments() {
		e.Name = fmt.Sprint("laptop ", i)
		name := fmt.Sprintf("%s, events %v, %+v", e.Level.String(), e.Events, e.Venue)
		_, code, _, err := s.Venues.Enrol(auth.Operator(), e)
		var faults fault.ByField
		if errors.As(err, &faults) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		taken++
		c, err := s.Venues.Exchange(code, office.Joiner{Node: ulid.Make().String(), Secret: keys.HashSecret("mine")})
		if err != nil {
			t.Fatalf("%s: Exchange = %v", name, err)
		}
		p, err := s.Keys.Login(c.Key, "mine")
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.Venues.Exchanged(p, 0)
		if err != nil {
			t.Fatalf("%s: Exchanged = %v", name, err)
		}
		held := map[string]bool{}
		for _, x := range all {
			if held[x.Name] {
				t.Errorf("%s: %s is exchanged twice", name, x.Name)
			}
			held[x.Name] = true
			mayExchange(t, s, p, name, x)
		}
		for _, want := range wanted(&e) {
			if !held[want] {
				t.Errorf("%s: %s is not exchanged", name, want)
			}
		}
	}
	if taken < 20 {
		t.Errorf("only %d enrolments were taken", taken)
	}
}

// mayExchange checks that a laptop may do with a database what it is told to do.
func mayExchange(t *testing.T, s *kv.Store, p auth.Principal, name string, x office.Exchanged) {
	t.Helper()
	db, err := s.Docs.Database(p, x.Name)
	if err != nil {
		t.Errorf("%s: Database(%s) = %v", name, x.Name, err)
		return
	}
	if x.Pull {
		if _, _, err := db.Changes(docs.Feed{Limit: 1}); err != nil {
			t.Errorf("%s: pull of %s = %v", name, x.Name, err)
		}
	}
	if x.Push {
		if _, err := db.Write(nil); err != nil {
			t.Errorf("%s: push to %s = %v", name, x.Name, err)
		}
	}
}

// wanted are the databases that an enrolment asks for.
func wanted(e *office.Enrolment) (names []string) {
	events := e.Events
	if e.Level.Name == auth.EventOf {
		events = append(events, e.Level.IDs...)
	}
	for _, id := range events {
		names = append(names, fmt.Sprint("event-", id))
		if e.Venue.Names {
			names = append(names, fmt.Sprintf("event-%d-names", id))
		}
	}
	if e.Level.Name == auth.ChurchOf && !e.Venue.Mirror { // a mirror has all churches in records
		for _, id := range e.Level.IDs {
			names = append(names, fmt.Sprint("church-", id))
			if e.Venue.Finance {
				names = append(names, fmt.Sprintf("church-%d-finance", id))
			}
		}
	}
	if e.Venue.Mirror {
		names = append(names, "records")
	}
	return names
}
