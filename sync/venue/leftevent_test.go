package venue_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/sync/venue"
)

// TestADeletedEventStopsNobody: whatever else the laptops of its church have goes on, both ways.
func TestADeletedEventStopsNobody(t *testing.T) {
	t.Parallel()
	w, church, _ := parish(t)
	w.visits(w.laptop)
	w.visits(w.laptop) // it tells how far it has come with the event
	if err := w.centre.Desk.Delete(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Event, ID: record.Int(w.event)}); err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"full_name":"Ana Souza","church_id":%d}`, church)
	made := map[*kv.Store]int64{w.laptop: kvtest.Create(t, w.centre, record.Person, body), w.centre: kvtest.Create(t, w.laptop, record.Person, body)}
	w.visits(w.laptop)
	for at, id := range made {
		if _, err := at.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person, ID: record.Int(id)}); err != nil {
			t.Errorf("person %d on the other side = %v", id, err)
		}
	}
}

// madeThere has the laptop sell, let in and change a ticket of the event while it is cut off.
func (w *town) madeThere(ticket int64) {
	w.Helper()
	w.sell(w.laptop, "walk-in")
	for _, code := range []string{"first", "walk-in"} {
		if d := w.scan(w.laptop, code); d.Outcome != outcome.Admitted {
			w.Fatalf("a check-in at the laptop = %+v", d)
		}
	}
	w.changes(w.laptop, record.Ticket, ticket, `{"type":"VIP"}`)
}

// departures are the ways in which an event leaves its church at the centre.
var departures = map[string]func(w *town, ticket, other int64){
	"to another church": func(w *town, _, other int64) {
		w.changes(w.centre, record.Event, w.event, fmt.Sprintf(`{"church_id":%d}`, other))
	},
	"to none": func(w *town, _, _ int64) { w.changes(w.centre, record.Event, w.event, `{"church_id":null}`) },
	"deleted": func(w *town, ticket, _ int64) {
		for _, at := range []desk.Target{{Kind: record.Ticket, ID: record.Int(ticket)}, {Kind: record.Event, ID: record.Int(w.event)}} {
			at.Surface = record.Admin
			if err := w.centre.Desk.Delete(auth.Operator(), at); err != nil {
				w.Fatal(err)
			}
		}
	},
}

// TestNothingIsLostOfAnEventThatLeavesItsChurch: what its laptop had made of it before it heard of that is at the centre, the facts as
// facts and all else for staff; and then nothing of the event stays at the laptop.
func TestNothingIsLostOfAnEventThatLeavesItsChurch(t *testing.T) {
	t.Parallel()
	for name, departs := range departures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, other := parish(t)
			ticket := w.sell(w.centre, "first")
			w.visits(w.laptop)
			w.madeThere(ticket)
			departs(w, ticket, other)
			w.later.Add(int64(13 * time.Hour)) // nobody is scanned any more
			_, leave := w.follow(w.laptop)
			w.tells("were dropped")
			leave()

			if got := w.all(w.centre, record.Checkin); len(got) != 2 {
				t.Errorf("check-ins at the centre = %s, want both", got)
			}
			if s, err := w.centre.Door.Status(auth.Operator(), w.event); name != "deleted" && (err != nil || s.Admitted != 2) {
				t.Errorf("status at the centre = %+v, %v, want two admitted", s, err)
			}
			for _, want := range []string{`"type":"VIP"`, `"code":"walk-in"`} {
				if !strings.Contains(w.refusals(), want) {
					t.Errorf("staff find no %s among %s", want, w.refusals())
				}
			}
			for _, k := range []*record.Kind{record.Ticket, record.HolderName, record.Holder, record.Checkin, record.Refusal} {
				if got := w.all(w.laptop, k); len(got) > 0 {
					t.Errorf("the laptop still holds %s", got)
				}
			}
		})
	}
}

// TestAnEventComesBackToItsChurch: a laptop that has dropped it is given all of it again.
func TestAnEventComesBackToItsChurch(t *testing.T) {
	t.Parallel()
	w, church, other := parish(t)
	ticket := w.sell(w.centre, "first")
	w.visits(w.laptop)
	w.changes(w.centre, record.Event, w.event, fmt.Sprintf(`{"church_id":%d}`, other))
	v, leave := w.follow(w.laptop)
	defer leave()
	w.tells("were dropped")
	w.changes(w.centre, record.Event, w.event, fmt.Sprintf(`{"church_id":%d}`, church))
	v.Wake()
	w.arrives(w.laptop, ticket)
	w.scan(w.laptop, "first")
	w.await(w.centre, scopes.Event, "the check-in", func(docs.DatabaseInfo) bool { return len(w.all(w.centre, record.Checkin)) == 1 })
}

// TestARevokedLaptopHandsOverWhatHasLeftItsChurch: its facts, marked for review, before it wipes itself.
func TestARevokedLaptopHandsOverWhatHasLeftItsChurch(t *testing.T) {
	t.Parallel()
	w, _, other := parish(t)
	ticket := w.sell(w.centre, "first")
	w.visits(w.laptop)
	w.madeThere(ticket)
	departures["to another church"](w, ticket, other)
	all, err := w.centre.Venues.Venues(auth.Operator())
	if err != nil || len(all) != 1 {
		t.Fatalf("Venues() = %v, %v", all, err)
	}
	if err := w.centre.Venues.WipeVenue(auth.Operator(), all[0].ID); err != nil {
		t.Fatal(err)
	}
	wiped := make(chan struct{})
	_, leave := w.followAs(venue.Config{Store: w.laptop, Wipe: func() { close(wiped) }})
	defer leave()
	select {
	case <-wiped:
	case <-time.After(20 * time.Second):
		t.Fatal("the laptop never wipes itself")
	}
	got := w.all(w.centre, record.Checkin)
	for _, text := range got {
		if !strings.Contains(text, "needs_review") {
			t.Errorf("the check-in %s is not marked", text)
		}
	}
	if len(got) != 2 {
		t.Errorf("check-ins at the centre before the wipe = %s, want both", got)
	}
}

// TestALaptopReachesIntoNoEventOfOthers: one that was never its church's is neither dropped on its word nor open to its facts.
func TestALaptopReachesIntoNoEventOfOthers(t *testing.T) {
	t.Parallel()
	w, _, other := parish(t)
	theirs := w.churchEvent(w.centre, other, "2040-01-01T21:00:00Z")
	u, _, err := w.laptop.Laptop.Upstream()
	if err != nil {
		t.Fatal(err)
	}
	session, before, err := w.laptop.Keys.Session()
	if err != nil {
		t.Fatal(err)
	}
	hello := fmt.Sprintf(`{"realm":%q,"node":%q,"session":%q,"predecessor":%q,"events":[%d,99]}`, w.centre.Tables.Identity.Realm(), w.laptop.Tables.Identity.Node(), session, before[0], theirs)
	name := scopes.Scope{Sort: scopes.Event, ID: theirs}.String()
	if status, body := w.post("/sync/_hello", u.Key, u.Secret, hello); status != 200 || strings.Contains(body, name) || strings.Contains(body, "event-99") {
		t.Errorf("a handshake that names others' events = %d %s, want them left out", status, body)
	}
	if status, body := w.post("/sync/"+name+"/_bulk_docs", u.Key, u.Secret, `{"docs":[]}`); status != 403 {
		t.Errorf("a push into another church's event = %d %s, want 403", status, body)
	}
}

// TestALaptopEnrolledForAnEventGoesOnWithoutIt: the event moves, the link holds. What the laptop has sold there counts, as at any event
// which is none of its church's.
func TestALaptopEnrolledForAnEventGoesOnWithoutIt(t *testing.T) {
	t.Parallel()
	w, church, other := parish(t)
	w.laptop = kvtest.OpenConfig(t, kv.Config{Clock: w.now})
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}, Events: []int64{w.event}, Venue: auth.Venue{Names: true}})
	ticket := w.sell(w.centre, "first")
	w.visits(w.laptop)
	w.madeThere(ticket)
	departures["to another church"](w, ticket, other)
	w.later.Add(int64(13 * time.Hour))
	_, leave := w.follow(w.laptop)
	defer leave()
	w.tells("were dropped")
	if d := w.scan(w.centre, "walk-in"); d.Outcome != outcome.AlreadyAdmitted || !strings.Contains(w.refusals(), `"type":"VIP"`) {
		t.Errorf("a scan at the centre = %q, and it has refused %s; want the sold ticket in, and the change of the other kept", d.Outcome, w.refusals())
	}
	w.event = w.churchEvent(w.centre, church, "2040-01-01T21:00:00Z")
	w.await(w.laptop, scopes.Event, "another event", func(docs.DatabaseInfo) bool {
		_, err := w.laptop.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Event, ID: record.Int(w.event)})
		return err == nil
	})
}

// TestAnEventThatLeavesItsChurchStaysWhileSomebodyIsScanned: somebody gives the event to another church in the middle of an evening. Its doors go
// on, the centre hears of each scan, and the event goes when they have been quiet.
func TestAnEventThatLeavesItsChurchStaysWhileSomebodyIsScanned(t *testing.T) {
	t.Parallel()
	for name, departs := range departures {
		if name == "deleted" {
			continue // it has no tickets then
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, other := parish(t)
			ticket := w.sell(w.centre, "first")
			w.sell(w.centre, "second")
			w.visits(w.laptop)
			w.scan(w.laptop, "first")
			departs(w, ticket, other)
			v, leave := w.follow(w.laptop)
			defer leave()
			w.goesOnUntilQuiet(v)
		})
	}
}

// goesOnUntilQuiet checks that the doors of an event, which has left the laptop's reach after a scan, admit the second guest, that the centre hears
// of both, and that the event goes 13 hours later.
func (w *town) goesOnUntilQuiet(v *venue.Venue) {
	w.Helper()
	w.tells("somebody was scanned there in the last 12 hours")
	if d := w.scan(w.laptop, "second"); d.Outcome != outcome.Admitted {
		w.Errorf("a scan at the laptop = %+v, want its door to go on", d)
	}
	w.until("both check-ins at the centre", func() bool { return len(w.all(w.centre, record.Checkin)) == 2 })
	w.later.Add(int64(13 * time.Hour))
	v.Wake()
	w.tells("were dropped")
}

// TestAnEventOfNoChurchStaysWhileSomebodyIsScanned: the laptop is enrolled for the event by its number, and the event becomes another church's.
func TestAnEventOfNoChurchStaysWhileSomebodyIsScanned(t *testing.T) {
	t.Parallel()
	w, church, other := parish(t)
	w.event = kvtest.Create(t, w.centre, record.Event, `{"name":"Region","start_datetime":"2030-01-01T19:00:00Z"}`)
	w.laptop = kvtest.OpenConfig(t, kv.Config{Clock: w.now})
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}, Events: []int64{w.event}, Venue: auth.Venue{Names: true}})
	w.sell(w.centre, "first")
	w.sell(w.centre, "second")
	w.visits(w.laptop)
	w.scan(w.laptop, "first")
	departures["to another church"](w, 0, other)
	v, leave := w.follow(w.laptop)
	defer leave()
	w.goesOnUntilQuiet(v)
}

// TestAnEventOfAllChurchesStaysWithoutItsTickets: a church gives its event to all. Its laptop hears of that before it drops the tickets, and goes
// on showing the event.
func TestAnEventOfAllChurchesStaysWithoutItsTickets(t *testing.T) {
	t.Parallel()
	w, _, _ := parish(t)
	ticket := w.sell(w.centre, "first")
	_, leave := w.follow(w.laptop)
	defer leave()
	w.arrives(w.laptop, ticket)
	w.changes(w.centre, record.Event, w.event, `{"church_id":null}`)
	w.tells("were dropped")
	if events, tickets := w.all(w.laptop, record.Event), w.all(w.laptop, record.Ticket); len(events) != 2 || len(tickets) != 0 {
		t.Errorf("the laptop has the events %s and the tickets %s", events, tickets)
	}
}

// TestAnEventThatStaysIsNotLookedFor: it leaves its church while tickets are scanned there. The laptop does not read the whole church again.
func TestAnEventThatStaysIsNotLookedFor(t *testing.T) {
	t.Parallel()
	w, church, other := parish(t)
	w.sell(w.centre, "first")
	w.visits(w.laptop)
	w.scan(w.laptop, "first")
	w.changes(w.centre, record.Event, w.event, fmt.Sprintf(`{"church_id":%d}`, other))
	link := transport(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, fmt.Sprintf("/church-%d/_feed", church)) && r.URL.Query().Get("since") == "" {
			t.Errorf("the laptop reads %s from its beginning", r.URL)
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	if _, err := venue.VisitOnce(t.Context(), venue.Config{Store: w.laptop}, &http.Client{Transport: link}, func() {}); err != nil {
		t.Fatal(err)
	}
}

// TestAnEventThatComesBackTheSameEveningWasNeverGone: somebody gives the event to another church in the middle of an evening, and takes that
// back. The laptop has the names and the private halves all the time.
func TestAnEventThatComesBackTheSameEveningWasNeverGone(t *testing.T) {
	t.Parallel()
	w, church, other := parish(t)
	w.sell(w.centre, "first")
	w.visits(w.laptop)
	w.scan(w.laptop, "first")
	for _, at := range []int64{church, other, church} {
		w.changes(w.centre, record.Event, w.event, fmt.Sprintf(`{"church_id":%d}`, at))
		w.visits(w.laptop)
		for _, k := range []*record.Kind{record.Ticket, record.HolderName, record.Holder} {
			if got := w.all(w.laptop, k); len(got) != 1 {
				t.Errorf("while the event is of church %d, the laptop has %d records of kind %s, want 1", at, len(got), k.Name)
			}
		}
	}
}

// until waits until something is so.
func (w *town) until(what string, is func() bool) {
	w.Helper()
	for late := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			w.Fatalf("%s: never", what)
		}
	}
}

// TestWhatIsOnlyPulledLeavesAtOnce: the laptop pushes no group, so nothing of its own is to be awaited before one goes, and what comes
// after it in the feed comes.
func TestWhatIsOnlyPulledLeavesAtOnce(t *testing.T) {
	t.Parallel()
	w, _, other := parish(t)
	group := kvtest.Create(t, w.centre, record.Group, `{"name":"choir"}`)
	doc := record.Group.DocID(record.Int(group))
	_, leave := w.follow(w.laptop)
	t.Cleanup(leave)
	w.until("the group at the laptop", func() bool { return w.has(w.laptop, "reference", doc) })
	w.changes(w.centre, record.Group, group, fmt.Sprintf(`{"church_id":%d}`, other))
	w.until("the group, now of another church, gone", func() bool { return !w.has(w.laptop, "reference", doc) })
	church := kvtest.Create(t, w.centre, record.Church, `{"name":"South"}`)
	w.until("a church that is added afterwards", func() bool { return w.has(w.laptop, "reference", record.Church.DocID(record.Int(church))) })
}

// TestALaptopThatIsEnrolledAnewIsToldWhatHasLeft: the person goes to another church before the new key has asked for anything.
func TestALaptopThatIsEnrolledAnewIsToldWhatHasLeft(t *testing.T) {
	t.Parallel()
	w, church, other := parish(t)
	person := kvtest.Create(t, w.centre, record.Person, fmt.Sprintf(`{"full_name":"Ana Souza","church_id":%d}`, church))
	database, doc := fmt.Sprint("church-", church), record.Person.DocID(record.Int(person))
	w.visits(w.laptop)
	if !w.has(w.laptop, database, doc) {
		t.Fatal("the person does not come")
	}
	w.changes(w.centre, record.Person, person, fmt.Sprintf(`{"church_id":%d}`, other))
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}, Venue: auth.Venue{Names: true}})
	w.visits(w.laptop)
	if w.has(w.laptop, database, doc) {
		t.Error("the laptop still has the person")
	}
}

// TestNamesComeBackWithACodeForNames: they went from the laptop when it was enrolled without them, after it had pulled all of them.
func TestNamesComeBackWithACodeForNames(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.sell(w.centre, "first")
	for _, names := range []bool{true, false, true} {
		w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.EventOf, IDs: []int64{w.event}}, Venue: auth.Venue{Names: names}})
		w.visits(w.laptop)
		if got := len(w.all(w.laptop, record.HolderName)); (got > 0) != names {
			t.Errorf("the laptop has %d names, enrolled with names: %t", got, names)
		}
	}
}

// TestAFolderThatHoldsMoreThanItsCodeGivesDoesNotJoin: the code is good for another folder then.
func TestAFolderThatHoldsMoreThanItsCodeGivesDoesNotJoin(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	church := kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
	w.event = w.churchEvent(w.centre, church, "2040-01-01T21:00:00Z")
	w.sell(w.centre, "first")
	kvtest.Create(t, w.centre, record.Person, fmt.Sprintf(`{"full_name":"Ana Souza","church_id":%d}`, church))
	_, code, _, err := w.centre.Venues.Enrol(auth.Operator(), office.Enrolment{Name: "door", Level: auth.Level{Name: auth.EventOf, IDs: []int64{w.event}}, Venue: auth.Venue{Names: true}})
	if err != nil {
		t.Fatal(err)
	}
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}, Venue: auth.Venue{Names: true}})
	w.visits(w.laptop)
	before, _, err := w.laptop.Laptop.Upstream()
	if err != nil {
		t.Fatal(err)
	}
	join := venue.JoinConfig{Store: w.laptop, URL: w.url, Code: code}
	if _, err := venue.Join(t.Context(), join); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("(church-%d)", church)) {
		t.Errorf("Join with all of a church = %v, want it named", err)
	}
	if now, _, err := w.laptop.Laptop.Upstream(); err != nil || now.Key != before.Key {
		t.Errorf("the laptop is %+v, %v, want what it was", now, err)
	}
	if _, err := w.centre.Keys.Login(before.Key, before.Secret); err != nil {
		t.Errorf("the key that it has = %v", err)
	}
	join.Store = kvtest.Open(t)
	if _, err := venue.Join(t.Context(), join); err != nil {
		t.Errorf("Join of an empty folder by the same code = %v", err)
	}
	w.visits(join.Store)
	if n := len(w.all(join.Store, record.HolderName)); n != 1 {
		t.Errorf("%d names came, want 1", n)
	}
}

// TestALaptopEnrolledForTheNextEventHandsOverTheLast: what it had made of that is at the centre, as if it had not been enrolled anew, and
// nothing of it stays at the laptop; but where staff has revoked it in between it keeps what it has, and joins with another folder.
func TestALaptopEnrolledForTheNextEventHandsOverTheLast(t *testing.T) {
	t.Parallel()
	for _, revoked := range []bool{false, true} {
		w := newTown(t)
		church := kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
		w.event = w.churchEvent(w.centre, church, "2040-01-01T21:00:00Z")
		last, next := w.event, w.churchEvent(w.centre, church, "2040-01-08T21:00:00Z")
		w.sell(w.centre, "first")
		at := func(event int64) office.Enrolment {
			return office.Enrolment{Name: fmt.Sprint("door of event ", event), Level: auth.Level{Name: auth.EventOf, IDs: []int64{event}}, Venue: auth.Venue{Names: true}}
		}
		w.enrolFor(w.laptop, at(last))
		w.visits(w.laptop)
		w.sell(w.laptop, "walk-in")
		for _, code := range []string{"first", "walk-in"} {
			if d := w.scan(w.laptop, code); d.Outcome != outcome.Admitted {
				t.Fatalf("a check-in at the laptop = %+v", d)
			}
		}
		_, code, _, err := w.centre.Venues.Enrol(auth.Operator(), at(next))
		if err != nil {
			t.Fatal(err)
		}
		if revoked {
			if err := w.centre.Venues.RevokeVenue(auth.Operator(), 1); err != nil {
				t.Fatal(err)
			}
		}
		_, err = venue.Join(t.Context(), venue.JoinConfig{Store: w.laptop, URL: w.url, Code: code})
		if revoked {
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("(event-%d, ", last)) {
				t.Errorf("Join of who was revoked = %v, want the last event named", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_, leave := w.follow(w.laptop)
		w.tells("were dropped")
		leave()
		if got := w.all(w.centre, record.Checkin); len(got) != 2 {
			t.Errorf("check-ins at the centre = %s, want both", got)
		}
		if s, err := w.centre.Door.Status(auth.Operator(), last); err != nil || s.Admitted != 2 {
			t.Errorf("status at the centre = %+v, %v, want two admitted", s, err)
		}
		if got := w.all(w.centre, record.HolderName); len(got) != 2 || w.refusals() != "" {
			t.Errorf("the centre has %s and has refused %s", got, w.refusals())
		}
		for _, k := range []*record.Kind{record.Ticket, record.HolderName, record.Holder, record.Checkin} {
			if got := w.all(w.laptop, k); len(got) > 0 {
				t.Errorf("the laptop still holds %s", got)
			}
		}
	}
}
