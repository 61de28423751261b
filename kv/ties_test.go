package kv_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/fault"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
)

// TestALaptopOfAChurchSellsAtTheEventItHasAlong: at an event of nobody's church it writes what a laptop of that event does, and once
// it is revoked its centre lets it come to its facts.
func TestALaptopOfAChurchSellsAtTheEventItHasAlong(t *testing.T) {
	s := twoChurches(t) // event 1 is of church 1, event 3 of none
	other := newEvent(t, s, "")
	newTicket(t, s, 3, "MADE-HERE", "")
	p, c := letIn(t, s, office.Enrolment{Name: "north", Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{1}}, Events: []int64{3}, Venue: auth.Venue{Names: true}})
	sold := func(id string, event int64) merge.DocWrite {
		return merge.DocWrite{ID: id, Path: chain("a"), Author: merge.Author{Node: ulid.MustParse(laptopNode)}, Body: fmt.Appendf(nil, `{"code_hash":"%032d","event_id":%d,"label":"","state":"valid"}`, event, event)}
	}
	if err := push(t, opens(t, s, p, "event-3"), sold(drawnDoc(record.Ticket, 1), 3)); err != nil {
		t.Errorf("a ticket sold at the event = %v", err)
	}
	db := opens(t, s, p, "event-3")
	changed := onTop(t, db, record.Ticket.DocID(record.Int(1)), `"state":"valid"`, `"state":"blocked"`)
	if err := push(t, db, changed); kindOf(err) != "forbidden" {
		t.Errorf("a change of somebody else's ticket = %v, want forbidden", err)
	}
	if err := push(t, opens(t, s, p, fmt.Sprint("event-", other)), sold(drawnDoc(record.Ticket, 2), other)); kindOf(err) != "forbidden" {
		t.Errorf("a ticket of an event that it has not along = %v, want forbidden", err)
	}
	moved := onTop(t, db, record.Ticket.DocID(record.Int(1)), `"event_id":3`, `"event_id":1`)
	if err := push(t, opens(t, s, p, "event-1"), moved); kindOf(err) != "forbidden" {
		t.Errorf("somebody else's ticket taken to an event of the church = %v, want forbidden", err)
	}
	if _, err := s.Docs.Database(p, "event-2"); kindOf(err) != "forbidden" {
		t.Errorf("the database of another church's event = %v, want forbidden", err)
	}
	if err := s.Venues.RevokeVenue(auth.Operator(), c.ID); err != nil {
		t.Fatal(err)
	}
	p, err := s.Keys.RevokedNode(c.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"event-3", "event-3-names", "event-3-holders"} {
		if _, err := opens(t, s, p, name).Missing([]merge.Revs{{ID: drawnDoc(record.Ticket, 1), Revisions: chain("b")}}); err != nil {
			t.Errorf("a revoked laptop's question at %s = %v", name, err)
		}
	}
}

// TestNoLaptopIsEnrolledForAnEventThatItsChurchDoesNotSee: it would be refused that event's database for ever.
func TestNoLaptopIsEnrolledForAnEventThatItsChurchDoesNotSee(t *testing.T) {
	s := twoChurches(t) // event 1 is of church 1, event 2 of church 2, event 3 of none
	for _, c := range []struct {
		level  string
		events []int64
		want   string
	}{
		{"church:1", []int64{1, 3}, ""},
		{"church:1", []int64{1, 2}, "Event 2 is of a church that the laptop is not enrolled for."},
		{"church:1,2", []int64{1, 2}, ""},
		{"regional:1", []int64{2}, "Event 2 is of a church that the laptop is not enrolled for."},
		{"regional:2", []int64{2, 3}, ""},
		{"denomination", []int64{1, 2}, ""},
		{"church:1", []int64{9}, fault.InvalidID(9)},
	} {
		l, err := auth.ParseLevel(c.level)
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, err = s.Venues.Enrol(auth.Operator(), office.Enrolment{Name: "north " + c.level + fmt.Sprint(c.events), Level: l, Events: c.events})
		var faults fault.ByField
		if errors.As(err, &faults); (err != nil) != (c.want != "") || strings.Join(faults["event"], " ") != c.want {
			t.Errorf("Enrol(%s with %v) = %v %v, want %q", c.level, c.events, err, faults, c.want)
		}
	}
}

// TestWhatALaptopMayBring: the databases that its code gives, and those of no church and no event here. A laptop of one event gets no finances
// and no mirror.
func TestWhatALaptopMayBring(t *testing.T) {
	s := twoChurches(t) // event 1 is of church 1, event 2 of church 2
	church := auth.Level{Name: auth.ChurchOf, IDs: []int64{1}}
	for _, c := range []struct {
		mirror bool
		holds  string
		more   bool
	}{
		{false, "church-1", false}, {false, "event-1-names", false}, {false, "church-2", true}, {false, "event-2", true}, {false, "church-2-finance", true},
		{false, "church-9", false}, {false, "event-9", false}, {true, "church-2", false}, {true, "event-2", false},
	} {
		_, code, _, err := s.Venues.Enrol(auth.Operator(), office.Enrolment{Name: fmt.Sprint(c), Level: church, Venue: auth.Venue{Mirror: c.mirror}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Venues.Exchange(code, office.Joiner{Node: ulid.Make().String(), Holds: []string{c.holds}})
		if _, more := errors.AsType[*office.HoldsMore](err); more != c.more || err != nil && !more {
			t.Errorf("a laptop (a mirror: %t) brings %s: %v, want it refused %t", c.mirror, c.holds, err, c.more)
		}
	}
	for field, grants := range map[string]auth.Venue{"": {Names: true}, "finance": {Finance: true}, "mirror": {Mirror: true}} {
		_, _, _, err := s.Venues.Enrol(auth.Operator(), office.Enrolment{Name: "north " + field, Level: auth.Level{Name: auth.EventOf, IDs: []int64{1}}, Venue: grants})
		if faults, _ := errors.AsType[fault.ByField](err); (err != nil) != (field != "") || len(faults[field]) != len(faults) {
			t.Errorf("a laptop of one event with %+v: %v, want the fault %q", grants, err, field)
		}
	}
}

// TestAnEventThatIsGoneEndsNoPush: what a church's laptop says of an event that was deleted meanwhile is judged, and the next document too.
func TestAnEventThatIsGoneEndsNoPush(t *testing.T) {
	s := twoChurches(t)
	p := enrolled(t, s, "church:1", auth.Venue{Names: true})
	db := opens(t, s, p, "event-1")
	changed := onTop(t, db, record.Event.DocID(record.Int(1)), `"active":true`, `"active":false`)
	if err := s.Desk.Delete(auth.Operator(), target(record.Event, 1)); err != nil {
		t.Fatal(err)
	}
	if err := push(t, db, changed); kindOf(err) == "not found" {
		t.Errorf("a change of an event that is gone = %v", err)
	}
}

// TestAMirrorIsReadOnly: it has a copy of everything, to read. At an event that it was enrolled for besides it sells and lets in as any
// guest does; it changes no person, no event and no ticket that others have made.
func TestAMirrorIsReadOnly(t *testing.T) {
	s := twoChurches(t) // event 1 is of church 1, event 3 of none
	kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	newTicket(t, s, 3, "MADE-HERE", "")
	p, _ := letIn(t, s, office.Enrolment{Name: "copy", Level: auth.Level{Name: auth.Denomination}, Events: []int64{3}, Venue: auth.Venue{Mirror: true, Names: true}})
	sold := func(id, event int64) merge.DocWrite {
		return merge.DocWrite{ID: drawnDoc(record.Ticket, id), Path: chain("a"), Author: merge.Author{Node: ulid.MustParse(laptopNode)}, Body: fmt.Appendf(nil, `{"code_hash":"%032d","event_id":%d,"label":"","state":"valid"}`, id, event)}
	}
	in := func(event int64) merge.DocWrite {
		return merge.DocWrite{ID: "checkin:" + ulid.Make().String(), Path: chain("a"), Body: fmt.Appendf(nil, `{"event_id":%d,"node":%q,"hlc":"0000000000000001","at":"2026-05-01T12:00:00Z"}`, event, p.Node())}
	}
	mirror := opens(t, s, p, "records")
	at := func(name string) *docs.Database {
		db, err := s.Docs.Database(p, name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return db
	}
	for _, c := range []struct {
		name, db, want string
		w              merge.DocWrite
	}{
		{"a person", "church-1", "forbidden", merge.DocWrite{ID: drawnDoc(record.Person, 1), Path: chain("a"), Body: []byte(`{"full_name":"N","church_id":1}`)}},
		{"an edit of a person", "church-1", "forbidden", onTop(t, mirror, record.Person.DocID(record.Int(1)), `"Ana"`, `"Eva"`)},
		{"an edit of an event", "event-1", "forbidden", onTop(t, mirror, record.Event.DocID(record.Int(1)), `"active":true`, `"active":false`)},
		{"a ticket of any event", "event-1", "forbidden", sold(1, 1)},
		{"a check-in at any event", "event-1", "forbidden", in(1)},
		{"a change of a ticket of others", "event-3", "forbidden", onTop(t, mirror, record.Ticket.DocID(record.Int(1)), `"state":"valid"`, `"state":"blocked"`)},
		{"a ticket of the event that it was enrolled for", "event-3", "ok", sold(2, 3)},
		{"a check-in there", "event-3", "ok", in(3)},
	} {
		if err := push(t, at(c.db), c.w); kindOf(err) != c.want {
			t.Errorf("%s = %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := s.Venues.Lease(p, record.Person, 10, "epoch"); kindOf(err) != "forbidden" {
		t.Errorf("ids for people = %v, want forbidden", err)
	}
}

// TestNoScopeLeaks: what lies beyond a laptop's or a key's church, event or grants comes to no harm by its pushes, wherever it says that
// the record is or goes, and is not read.
func TestNoScopeLeaks(t *testing.T) {
	s := twoChurches(t) // event 1 is of church 1, event 2 of church 2, event 3 of none
	ours := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	theirs := kvtest.Create(t, s, record.Person, `{"full_name":"Rui","church_id":2}`)
	kvtest.Create(t, s, record.FinancialAccount, `{"name":"Cash"}`)
	kvtest.Create(t, s, record.Supplier, `{"name":"X"}`)
	newTicket(t, s, 1, "OURS", "")
	newTicket(t, s, 2, "THEIRS", "")
	door, church := enrolled(t, s, "event:1", auth.Venue{}), enrolled(t, s, "church:1", auth.Venue{Names: true})
	key := kvtest.Login(t, s, "church:1", "*:*")
	all := func(name string) *docs.Database { return opens(t, s, auth.Operator(), name) }
	made := func(k *record.Kind, id int64, body string) merge.DocWrite {
		return merge.DocWrite{ID: drawnDoc(k, id), Path: chain("a"), Body: []byte(body)}
	}
	fact := func(p auth.Principal, event int) merge.DocWrite {
		return merge.DocWrite{ID: "checkin:" + ulid.Make().String(), Path: chain("a"), Body: fmt.Appendf(nil, `{"event_id":%d,"node":%q,"hlc":"0000000000000001","at":"2026-05-01T12:00:00Z"}`, event, p.Node())}
	}
	before := s.Tables.Commits.Seq()
	for _, c := range []struct {
		name, db string
		p        auth.Principal
		w        merge.DocWrite
	}{
		{"a door's ticket of another event", "event-1", door, made(record.Ticket, 1, `{"event_id":2,"state":"valid"}`)},
		{"a door's ticket of another event, through that event's database", "event-2", door, made(record.Ticket, 1, `{"event_id":2,"state":"valid"}`)},
		{"a door's check-in at another event, through that event's database", "event-2", door, fact(door, 2)},
		{"a church's person of another church, through that church's database", "church-2", church, made(record.Person, 1, `{"full_name":"N","church_id":2}`)},
		{"a door's edit of another event's ticket", "event-1", door, onTop(t, all("event-2"), record.Ticket.DocID(record.Int(2)), `"valid"`, `"blocked"`)},
		{"a door's theft of another event's ticket", "event-1", door, onTop(t, all("event-2"), record.Ticket.DocID(record.Int(2)), `"event_id":2`, `"event_id":1`)},
		{"a door's ticket given to another event", "event-1", door, onTop(t, all("event-1"), record.Ticket.DocID(record.Int(1)), `"event_id":1`, `"event_id":2`)},
		{"a door's name at another event", "event-1-names", door, made(record.HolderName, 1, `{"event_id":2,"full_name":"N"}`)},
		{"a door's check-in at another event", "event-1", door, fact(door, 2)},
		{"a door's check-in of another laptop", "event-1", door, fact(church, 1)},
		{"a church's check-in at another church's event", "event-1", church, fact(church, 2)},
		{"a church's person of another church", "church-1", church, made(record.Person, 1, `{"full_name":"N","church_id":2}`)},
		{"a church's theft of a person", "church-1", church, onTop(t, all("church-2"), record.Person.DocID(record.Int(theirs)), `"church_id":2`, `"church_id":1`)},
		{"a church's gift of a person", "church-1", church, onTop(t, all("church-1"), record.Person.DocID(record.Int(ours)), `"church_id":1`, `"church_id":2`)},
		{"a church's person of no church", "church-1", church, made(record.Person, 2, `{"full_name":"N"}`)},
		{"a church's theft of an event", "church-1", church, onTop(t, all("event-2"), record.Event.DocID(record.Int(2)), `"church_id":2`, `"church_id":1`)},
		{"a church's theft of an event of nobody's", "church-1", church, onTop(t, all("event-3"), record.Event.DocID(record.Int(3)), `"church_id":null`, `"church_id":1`)},
		{"a church's ticket of an event of nobody's", "event-3", church, made(record.Ticket, 3, `{"event_id":3,"state":"valid"}`)},
		{"a church's reference", "reference", church, made(record.Role, 1, `{"name":"N"}`)},
		{"a church's entry, without --finance", "church-1", church, made(record.FinancialEntry, 1, `{"church_id":1,"financial_account_id":1,"supplier_id":1,"transaction_type":"income","base_amount":"1.00"}`)},
		{"a key's theft of a person", "church-1", key, onTop(t, all("church-2"), record.Person.DocID(record.Int(theirs)), `"church_id":2`, `"church_id":1`)},
		{"a key's gift of a person", "church-1", key, onTop(t, all("church-1"), record.Person.DocID(record.Int(ours)), `"church_id":1`, `"church_id":2`)},
		{"a key's ticket", "event-1", key, made(record.Ticket, 4, `{"event_id":1,"state":"valid"}`)},
	} {
		db, err := s.Docs.Database(c.p, c.db)
		if err == nil {
			err = push(t, db, c.w)
		}
		if kindOf(err) != "forbidden" {
			t.Errorf("%s = %v, want forbidden", c.name, err)
		}
	}
	page, _, err := all("records").Changes(docs.Feed{Since: before, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range page {
		if !strings.HasPrefix(c.ID, "refusal:") {
			t.Errorf("%s was written", c.ID)
		}
	}
	for name, p := range map[string]auth.Principal{"event-1-names": door, "event-1-holders": door, "event-2": door, "church-1": door, "church-1-finance": church, "church-2": church, "event-2-names": church, "records": church} {
		db, err := s.Docs.Database(p, name)
		if err == nil {
			_, _, err = db.Changes(docs.Feed{Limit: 1})
		}
		if kindOf(err) != "forbidden" {
			t.Errorf("a laptop of %s reads %s: %v", p.Name(), name, err)
		}
	}
	healthy(t, s)
}

// TestWhatHasLeftALaptopIsNotItsToChange: of an event that another church has now it brings its check-ins, and nothing else, not even of
// a ticket that it sold.
func TestWhatHasLeftALaptopIsNotItsToChange(t *testing.T) {
	s := twoChurches(t)
	p, _ := letIn(t, s, office.Enrolment{Name: "north", Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{1}}, Venue: auth.Venue{Names: true}})
	sold := merge.DocWrite{ID: drawnDoc(record.Ticket, 1), Path: chain("a"), Author: merge.Author{Node: ulid.MustParse(laptopNode)}, Body: []byte(`{"event_id":1,"state":"valid"}`)}
	if err := push(t, opens(t, s, p, "event-1"), sold); err != nil {
		t.Fatal(err)
	}
	ticket := onTop(t, opens(t, s, p, "event-1"), sold.ID, `"valid"`, `"blocked"`)
	ticket.Author = sold.Author
	patched(t, s, record.Event, 1, `{"church_id":2}`)
	if err := push(t, opens(t, s, p, "event-1"), ticket); kindOf(err) != "forbidden" {
		t.Errorf("an edit of a ticket that has left = %v, want forbidden", err)
	}
	in := merge.DocWrite{ID: "checkin:" + ulid.Make().String(), Path: chain("a"), Body: fmt.Appendf(nil, `{"event_id":1,"node":%q,"hlc":"0000000000000001","at":"2026-05-01T12:00:00Z"}`, p.Node())}
	if err := push(t, opens(t, s, p, "event-1"), in); err != nil {
		t.Errorf("a check-in at an event that has left = %v", err)
	}
	if err := opens(t, s, p, "event-1").MayRead(); kindOf(err) != "forbidden" {
		t.Errorf("it reads the event that has left: %v", err)
	}
}
