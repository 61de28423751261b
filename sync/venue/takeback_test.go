package venue_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/sync/venue"
)

// TestALaptopGivesWayToItsCentre: both have changed a ticket that the laptop had sold while neither heard of the other. The centre's
// word is what stands, on the laptop too, and staff find there what the laptop's said.
func TestALaptopGivesWayToItsCentre(t *testing.T) {
	t.Parallel()
	for name, centre := range map[string]string{"changed": `{"order":"the centre's"}`, "cancelled": `{"state":"cancelled"}`, "deleted": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			id := w.parted(centre)
			_, leave := w.follow(w.laptop)
			t.Cleanup(leave)
			w.await(w.laptop, scopes.Event, "what the centre says", func(docs.DatabaseInfo) bool { return w.leaves(w.laptop, id) == w.leaves(w.centre, id) })
			if refusals := w.refusals(); !strings.Contains(refusals, "the laptop's") {
				t.Errorf("the centre keeps %s, want what the laptop wrote last", refusals)
			}
			for _, s := range []*kv.Store{w.centre, w.laptop} {
				w.healthy(s)
			}
			if d := w.scan(w.laptop, "walk-in"); (d.Outcome == outcome.Admitted) != (name == "changed") {
				t.Errorf("the laptop answers %q, want what the centre would", d.Outcome)
			}
		})
	}
}

// TestALaptopGivesWayNoFurther: what the centre has taken of a record before, it has still, and so has the laptop.
func TestALaptopGivesWayNoFurther(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	_, leave := w.follow(w.laptop)
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	id := w.sell(w.laptop, "walk-in")
	at := desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(id)}
	if _, err := w.laptop.Desk.Update(auth.Operator(), at, kvtest.Parse(t, record.Ticket, `{"order":"accepted"}`, false)); err != nil {
		t.Fatal(err)
	}
	w.arrives(w.centre, id)
	w.await(w.centre, scopes.Event, "the order", func(docs.DatabaseInfo) bool { return strings.Contains(w.leaves(w.centre, id), "accepted") })
	leave()
	if d := w.scan(w.centre, "walk-in"); d.Outcome != outcome.Admitted {
		t.Fatalf("the centre answers %q", d.Outcome)
	}
	if err := w.laptop.Desk.Delete(auth.Operator(), at); err != nil { // nobody has come in with it, as far as the laptop knows
		t.Fatal(err)
	}
	_, leave = w.follow(w.laptop)
	t.Cleanup(leave)
	w.await(w.laptop, scopes.Event, "the ticket again", func(docs.DatabaseInfo) bool { return w.leaves(w.laptop, id) == w.leaves(w.centre, id) })
	w.admits(w.laptop, 1)
	if d := w.scan(w.laptop, "walk-in"); d.Outcome != outcome.AlreadyAdmitted {
		t.Errorf("the laptop answers %q, want what the centre would", d.Outcome)
	}
}

// TestALaptopGivesWayToARestoredCentre: the centre was restored to a backup from before it had corrected a name. The laptop comes when the
// centre takes nothing of that time any more, and never had the name before the correction.
func TestALaptopGivesWayToARestoredCentre(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	id := w.sell(w.centre, "first")
	w.relapsesFor(30*24*time.Hour, func() {
		w.changes(w.centre, record.Ticket, id, `{"holder_name":"Ana Lima"}`)
		w.visits(w.laptop)
		if names := w.namesAt(w.laptop); !strings.Contains(names, "Ana Lima") {
			t.Fatalf("the laptop has %s", names)
		}
	})
	w.visits(w.laptop)
	if refusals := w.refusals(); !strings.Contains(refusals, "Ana Lima") {
		t.Errorf("the centre keeps %s, want the correction", refusals)
	}
	for at, s := range map[string]*kv.Store{"centre": w.centre, "laptop": w.laptop} {
		if names := w.namesAt(s); strings.Contains(names, "Ana Lima") || !strings.Contains(names, "Ana Souza") {
			t.Errorf("the %s has %s", at, names)
		}
		w.healthy(s)
	}
}

// TestADoorShowsTheLabelsOfARestoredCentre: the centre was restored to a backup from before it had corrected a name, and a door without names
// had the label of the correction.
func TestADoorShowsTheLabelsOfARestoredCentre(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.EventOf, IDs: []int64{w.event}}})
	id := w.sell(w.centre, "first")
	w.relapses(func() {
		w.changes(w.centre, record.Ticket, id, `{"holder_name":"Rui Lima"}`)
		w.visits(w.laptop)
		if got := w.labels(w.laptop); !strings.Contains(got, "Rui L.") {
			t.Fatalf("the laptop has the labels %s", got)
		}
	})
	w.visits(w.laptop)
	w.showsTheLabel(w.laptop, "Ana S.")
}

// TestADoorForgetsTheLabelsThatARestoredCentreLacks: the centre was restored to a backup from before it had sold a ticket. The name comes back
// there with another laptop, as it was before a correction, and then the door has its label.
func TestADoorForgetsTheLabelsThatARestoredCentreLacks(t *testing.T) {
	t.Parallel()
	w, _, _ := parish(t)
	door := kvtest.Open(t)
	w.enrolFor(door, office.Enrolment{Level: auth.Level{Name: auth.EventOf, IDs: []int64{w.event}}})
	w.visits(w.laptop)
	w.relapses(func() {
		id := w.sell(w.centre, "first")
		w.visits(w.laptop)
		w.changes(w.centre, record.Ticket, id, `{"holder_name":"Rui Lima"}`)
		w.visits(door)
		if got := w.labels(door); !strings.Contains(got, "Rui L.") {
			t.Fatalf("the door has the labels %s", got)
		}
	})
	w.visits(door)
	if got := w.labels(door); got != "" {
		t.Errorf("the door has the labels %s, the centre none", got)
	}
	w.visits(w.laptop)
	w.visits(door)
	w.showsTheLabel(door, "Ana S.")
}

// TestARestoredCentreLearnsItsMergesAgain: it was restored to a backup from before two tickets with one code came together there. A laptop brings
// the tombstone of the one, which names the other.
func TestARestoredCentreLearnsItsMergesAgain(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	w.visits(w.laptop)
	var first, second int64
	w.relapses(func() {
		first = w.sell(w.centre, "twice")
		second = w.sell(w.laptop, "twice")
		w.visits(w.laptop)
		w.visits(w.laptop)
	})
	merged := fmt.Sprintf(`{"merged_into":%q}`, record.Ticket.DocID(record.Int(first))) // the laptop of an event brings a twin
	if got := w.leaves(w.laptop, second); !strings.Contains(got, merged) {
		t.Fatalf("the laptop has %s", got)
	}
	w.visits(w.laptop)
	if got, want := w.leaves(w.centre, second), w.leaves(w.laptop, second); got != want {
		t.Errorf("the centre has %s, the laptop %s", got, want)
	}
}

// TestALaptopGivesWayInWhatItCannotRead: it may write the private halves of tickets there, and is not shown any. It takes its own word back
// all the same, and the visit goes on.
func TestALaptopGivesWayInWhatItCannotRead(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	w.visits(w.laptop)
	id := w.sell(w.laptop, "walk-in")
	w.changes(w.laptop, record.Ticket, id, `{"email":"first@example.com"}`)
	config := venue.Config{Store: w.laptop, Version: "test"}
	if _, err := venue.VisitOnce(w.Context(), config, &http.Client{Transport: &withoutAnswer{}}, func() {}); err == nil {
		t.Error("a visit that breaks off ends well")
	}
	w.changes(w.centre, record.Ticket, id, `{"email":"centre@example.com"}`)
	w.changes(w.laptop, record.Ticket, id, `{"email":"laptop@example.com"}`)
	w.visits(w.laptop)
	if refusals := w.refusals(); !strings.Contains(refusals, "laptop@example.com") {
		t.Errorf("the centre keeps %s, want what the laptop wrote last", refusals)
	}
	if holders := fmt.Sprint(w.all(w.centre, record.Holder)); !strings.Contains(holders, "centre@example.com") {
		t.Errorf("the centre has %s", holders)
	}
	if holders := w.all(w.laptop, record.Holder); len(holders) > 0 {
		t.Errorf("the laptop still has %s", holders)
	}
}

// withoutAnswer is a link that goes down once the centre has a private half, before it has said so.
type withoutAnswer struct{ down atomic.Bool }

func (l *withoutAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.down.Load() {
		return nil, errors.New("the link is down")
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "-holders/_feed") {
		return resp, err
	}
	_, err = io.Copy(io.Discard, resp.Body) // all of it is stored
	l.down.Store(true)
	return nil, errors.Join(err, resp.Body.Close(), errors.New("the link is down"))
}

// TestALaptopIsToldThatAPersonHasMoved: by a centre that was restored to a backup, of every leaf, the tombstone of a merge too.
func TestALaptopIsToldThatAPersonHasMoved(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	for _, name := range []string{"A", "B"} {
		kvtest.Create(t, w.centre, record.Church, fmt.Sprintf(`{"name":%q}`, name))
	}
	person := kvtest.Create(t, w.centre, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{1}}, Venue: auth.Venue{Names: true}})
	w.visits(w.laptop)
	w.relapses(func() {
		w.changes(w.laptop, record.Person, person, `{"occupation":"baker"}`)
		w.changes(w.centre, record.Person, person, `{"occupation":"smith"}`)
		w.visits(w.laptop)
	})
	w.changes(w.centre, record.Person, person, `{"church_id":2}`)
	w.visits(w.laptop)
	refusals := w.all(w.centre, record.Refusal)
	if len(refusals) < 2 {
		t.Errorf("the centre keeps %q, want the merge and the tombstone of what it merged", refusals)
	}
	for _, r := range refusals {
		if !strings.Contains(r, "the record has moved to where the key may not write") {
			t.Errorf("the centre keeps %s, want it to say that the person has moved", r)
		}
	}
}

// TestASaleThatCameInPartIsTakenWhole: the ticket had been changed at the laptop before it came, and the connection broke off before its
// parts. The centre has changed it since, and takes the parts all the same.
func TestASaleThatCameInPartIsTakenWhole(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	w.visits(w.laptop)
	id := w.sell(w.laptop, "walk-in")
	w.changes(w.laptop, record.Ticket, id, `{"order":"P-1"}`)
	config := venue.Config{Store: w.laptop, Version: "test"}
	if _, err := venue.VisitOnce(w.Context(), config, &http.Client{Transport: withoutParts{}}, func() {}); err == nil {
		t.Error("a visit that breaks off ends well")
	}
	w.changes(w.centre, record.Ticket, id, `{"state":"cancelled"}`)
	w.visits(w.laptop)
	if names := w.namesAt(w.centre); !strings.Contains(names, "Ana Souza") || !strings.Contains(names, "cancelled") {
		t.Errorf("the centre has %s", names)
	}
	if refusals := w.refusals(); refusals != "" {
		t.Errorf("the centre refuses %s", refusals)
	}
}

// withoutParts is a connection that carries an event's tickets, and breaks off at their names, holders and codes.
type withoutParts struct{}

func (withoutParts) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "-names/") || strings.Contains(r.URL.Path, "-holders/") {
		return nil, errors.New("the link is down")
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestPrivateHalvesThatAreKeptNowhereStay: the laptop's copy goes once the centre has it, or keeps it for its staff, and not before.
func TestPrivateHalvesThatAreKeptNowhereStay(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]http.RoundTripper{"kept": http.DefaultTransport, "kept nowhere": forgetful{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			w.enrol(w.laptop)
			db, err := w.laptop.Docs.Database(auth.Operator(), scopes.Scope{Sort: scopes.EventHolders, ID: w.event}.String())
			if err != nil {
				t.Fatal(err)
			}
			body := fmt.Appendf(nil, `{"email":5,"event_id":%d}`, w.event) // which the centre refuses
			holder := merge.DocWrite{ID: record.Holder.DocID(record.Int(record.FirstDrawn)), Path: []rev.ID{rev.Next(rev.ID{}, false, body)}, Body: body}
			if results, err := db.Write([]merge.DocWrite{holder}); err != nil || results[0].Err != nil {
				t.Fatalf("Write = %+v, %v", results, err)
			}
			if denied, err := venue.VisitOnce(t.Context(), venue.Config{Store: w.laptop, Version: "test"}, &http.Client{Transport: way}, func() {}); err != nil || len(denied) == 0 {
				t.Fatalf("VisitOnce() = %v, %v, want a refusal", denied, err)
			}
			if _, err := db.Read(holder.ID, docs.Ask{Leaves: true}); (err == nil) != (name == "kept nowhere") {
				t.Errorf("what the centre has refused and %s is read with %v", name, err)
			}
		})
	}
}

// TestALaptopKeepsWhatItsCentreDoesNot: what is refused there, and not kept for anybody to see, is not lost here either.
func TestALaptopKeepsWhatItsCentreDoesNot(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	id := w.parted(`{"order":"the centre's"}`)
	for range 2 { // the second offers it again, for the first has brought what the centre says
		denied, err := venue.VisitOnce(t.Context(), venue.Config{Store: w.laptop, Version: "test"}, &http.Client{Transport: forgetful{}}, func() {})
		if err != nil || len(denied) == 0 {
			t.Fatalf("VisitOnce() = %v, %v, want a refusal", denied, err)
		}
	}
	if leaves := w.leaves(w.laptop, id); !strings.Contains(leaves, "the laptop's") || !strings.Contains(leaves, "the centre's") {
		t.Errorf("the laptop has %s, want what both wrote", leaves)
	}
}

// forgetful is the way to a centre that keeps nothing of what it refuses.
type forgetful struct{}

func (forgetful) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/_feed") {
		return resp, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(strings.NewReader(strings.ReplaceAll(string(b), `,"kept":true`, "")))
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	return resp, err
}

// parted has a laptop sell a ticket, and change it three times while the centre, which it does not hear of, changes it once or deletes it.
func (w *town) parted(centre string) (id int64) {
	w.Helper()
	w.enrol(w.laptop)
	_, leave := w.follow(w.laptop)
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	id = w.sell(w.laptop, "walk-in")
	w.arrives(w.centre, id)
	leave()
	at := desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(id)}
	change := func(s *kv.Store, to string) {
		w.Helper()
		if _, err := s.Desk.Update(auth.Operator(), at, kvtest.Parse(w, record.Ticket, to, false)); err != nil {
			w.Fatal(err)
		}
	}
	for i := range 3 {
		change(w.laptop, fmt.Sprintf(`{"order":"the laptop's %d"}`, i))
	}
	if centre != "" {
		change(w.centre, centre)
	} else if err := w.centre.Desk.Delete(auth.Operator(), at); err != nil {
		w.Fatal(err)
	}
	return id
}

// leaves are the last revisions of a ticket.
func (w *town) leaves(s *kv.Store, id int64) string {
	w.Helper()
	db, err := s.Docs.Database(auth.Operator(), scopes.Scope{Sort: scopes.Event, ID: w.event}.String())
	if err != nil {
		w.Fatal(err)
	}
	doc, err := db.Read(record.Ticket.DocID(record.Int(id)), docs.Ask{Leaves: true})
	if err != nil {
		w.Fatal(err)
	}
	var text strings.Builder
	for _, r := range doc.Revisions {
		fmt.Fprintf(&text, "%v %v %s\n", doc.Tree.Path(r.Revision), r.Deleted, r.Body)
	}
	return text.String()
}

// TestALaptopMakesOnlyWhatItsCentreTakes: whatever its centre would refuse is refused on the laptop, where somebody can do something
// about it.
func TestALaptopMakesOnlyWhatItsCentreTakes(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	theirs := w.sell(w.centre, "theirs")
	w.join()
	w.arrives(w.laptop, theirs)
	change := func(id int64, to string) error {
		_, err := w.laptop.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(id)},
			kvtest.Parse(t, record.Ticket, `{"type":"`+to+`"}`, false))
		return err
	}
	refused := func(what string, err error) {
		t.Helper()
		var no *auth.Forbidden
		if !errors.As(err, &no) || !strings.Contains(no.Reason, "centre") {
			t.Errorf("%s = %v, want *Forbidden that names the centre", what, err)
		}
	}
	refused("a change of the centre's ticket", change(theirs, "Adult"))
	refused("deleting it", w.laptop.Desk.Delete(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(theirs)}))
	for _, kind := range []*record.Kind{record.Church, record.Person, record.Event} {
		_, err := w.laptop.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: kind}, kvtest.Parse(t, kind, bodyFor(kind), true))
		refused("making a "+kind.Name, err)
	}

	own := w.sell(w.laptop, "own")
	if err := change(own, "Adult"); err != nil {
		t.Errorf("a change of the laptop's own ticket = %v", err)
	}
	w.arrives(w.centre, own)
	if _, err := w.centre.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(own)},
		kvtest.Parse(t, record.Ticket, `{"state":"cancelled"}`, false)); err != nil {
		t.Fatal(err)
	}
	w.await(w.laptop, scopes.Event, "the cancellation", func(docs.DatabaseInfo) bool {
		r, err := w.laptop.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(own)})
		return err == nil && strings.Contains(string(r.JSON), `"state":"cancelled"`)
	})
	refused("a change of what the centre has changed", change(own, "Child"))
	if d, err := w.laptop.Door.CheckIn(auth.Operator(), door.Attempt{Event: w.event, Code: "own"}); err != nil || d.Outcome != outcome.Cancelled {
		t.Errorf("a check-in of a cancelled ticket = %q, %v", d.Outcome, err)
	}
}

// TestWhereATicketGoesCountsToo: a laptop of a church that has another's event along moves only what it has made itself into it, as its
// centre would have it.
func TestWhereATicketGoesCountsToo(t *testing.T) {
	t.Parallel()
	w := newTown(t) // its event is of no church
	church := kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
	own := w.churchEvent(w.centre, church, "2030-01-01T21:00:00Z")
	theirs := kvtest.Create(t, w.centre, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"theirs"}`, own))
	guests := w.sell(w.centre, "guest's")
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}, Events: []int64{w.event, own}, Venue: auth.Venue{Names: true}})
	w.visits(w.laptop)
	move := func(id int64, to string) error {
		_, err := w.laptop.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(id)},
			kvtest.Parse(t, record.Ticket, to, false))
		return err
	}
	if err := move(theirs, `{"type":"Adult"}`); err != nil {
		t.Errorf("a change of the centre's ticket at an event of the laptop's church = %v", err)
	}
	for id, to := range map[int64]int64{theirs: w.event, guests: own} {
		var no *auth.Forbidden
		if err := move(id, fmt.Sprintf(`{"event_id":%d}`, to)); !errors.As(err, &no) || !strings.Contains(no.Reason, "centre") || strings.Contains(no.Reason, "ticket") {
			t.Errorf("moving the centre's ticket into event %d = %v, want *Forbidden that names the centre, of records of any kind", to, err)
		}
	}
	mine := kvtest.Create(t, w.laptop, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"mine"}`, own))
	w.visits(w.laptop)
	if err := move(mine, fmt.Sprintf(`{"event_id":%d}`, w.event)); err != nil {
		t.Errorf("moving the laptop's own ticket there = %v", err)
	}
	w.visits(w.laptop)
	if d := w.scan(w.centre, "mine"); d.Outcome != outcome.Admitted || w.refusals() != "" {
		t.Errorf("the centre answers %q, and has refused %s; want the moved ticket taken", d.Outcome, w.refusals())
	}
}

// TestALaptopSellsWhatReachesItsCentre: one that takes all events of its church along sells at those that it makes itself, too; one that
// was enrolled for some of them sells at these alone, for of the others no ticket is ever brought.
func TestALaptopSellsWhatReachesItsCentre(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]bool{"all events of its church": true, "some of them": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			church := kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
			own, other := w.churchEvent(w.centre, church, "2040-01-01T21:00:00Z"), w.churchEvent(w.centre, church, "2040-01-01T21:00:00Z")
			e := office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}}
			if !all {
				e.Events = []int64{w.event, own}
			}
			w.enrolFor(w.laptop, e)
			w.visits(w.laptop)
			made := w.churchEvent(w.laptop, church, "2040-01-01T21:00:00Z")
			for _, event := range []int64{made, other, own} { // the first before the centre hears of it
				sells := all || event == own
				id, err := w.sellsAt(event)
				var no *auth.Forbidden
				switch {
				case sells && err != nil, !sells && (!errors.As(err, &no) || !strings.Contains(no.Reason, "enrolled for")):
					t.Errorf("selling at event %d = %v, want it sold: %t", event, err, sells)
				case sells:
					w.visits(w.laptop)
					w.visits(w.laptop) // the first brings the event that was made
					if _, err := w.centre.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: id}); err != nil {
						t.Errorf("the ticket of event %d at the centre = %v", event, err)
					}
				}
			}
		})
	}
}

// TestALaptopSellsNothingAtAnEventThatIsOver: it would be taken out of its file at once. It hears of one that was over when it was made,
// too.
func TestALaptopSellsNothingAtAnEventThatIsOver(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	church := kvtest.Create(t, w.centre, record.Church, `{"name":"Igreja"}`)
	event := w.churchEvent(w.centre, church, "2026-01-01T21:00:00Z")
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{church}}})
	w.visits(w.laptop)
	if _, err := w.sellsAt(event); err != nil {
		t.Errorf("selling soon after it has joined = %v", err)
	}
	v, leave := w.follow(w.laptop)
	t.Cleanup(leave)
	w.passes(v)
	w.tells("were dropped")
	late := w.churchEvent(w.centre, church, "2026-01-01T21:00:00Z")
	for _, event := range []int64{event, late} {
		w.hears(v, scopes.Scope{Sort: scopes.Event, ID: event}.String())
		_, err := w.sellsAt(event)
		var no *auth.Forbidden
		if !errors.As(err, &no) || !strings.Contains(no.Reason, "over") {
			t.Errorf("selling at event %d = %v, want *Forbidden that says that it is over", event, err)
		}
	}
}

// hears waits for the laptop to have been told that a database is over, and to have the event.
func (w *town) hears(v *venue.Venue, database string) {
	w.Helper()
	for late := time.Now().Add(20 * time.Second); time.Now().Before(late); runtime.Gosched() {
		u, _, err := w.laptop.Laptop.Upstream()
		if err != nil {
			w.Fatal(err)
		}
		scope, _ := scopes.Parse(database)
		_, err = w.laptop.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Event, ID: record.Int(scope.ID)})
		if err == nil && slices.Contains(u.Over, database) {
			return
		}
		v.Wake()
	}
	w.Fatalf("the laptop never hears that %s is over", database)
}

func bodyFor(k *record.Kind) string {
	switch k {
	case record.Person:
		return `{"full_name":"Ana Souza"}`
	case record.Event:
		return `{"name":"Another","start_datetime":"2030-01-01T19:00:00Z"}`
	}
	return `{"name":"Another"}`
}
