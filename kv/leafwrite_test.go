package kv_test

import (
	"fmt"
	"testing"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

// TestAChurchsLaptopMakesWhatIsOfItsChurch: people and events of its church, new ones too, and tickets at them; nothing of others.
func TestAChurchsLaptopMakesWhatIsOfItsChurch(t *testing.T) {
	s := twoChurches(t) // event 1 is of church 1, event 2 of church 2, event 3 of none
	stranger := record.Person.DocID(record.Int(kvtest.Create(t, s, record.Person, `{"full_name":"Rui","church_id":2}`)))
	u := table.Upstream{URL: "http://centre.example", Node: anotherNode, Epoch: "known", Key: "key", Pushes: []string{"church-1", "event-1", "event-1-names", "event-1-holders"}}
	if err := s.Laptop.Join(auth.Operator(), u, office.Credential{Realm: s.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
	made := func(k *record.Kind, body string) (int64, error) {
		r, err := s.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: k}, kvtest.Parse(t, k, body, true))
		return r.ID.Int(), err
	}
	event := `{"name":"Feast","start_datetime":"2026-11-22T19:00:00Z","church_id":%d}`
	own, err := made(record.Event, fmt.Sprintf(event, 1))
	if err != nil {
		t.Fatalf("an event of the church = %v", err)
	}
	patched(t, s, record.Event, own, `{"name":"A greater feast"}`)
	for _, try := range []struct {
		kind *record.Kind
		body string
		want string
	}{
		{record.Person, `{"full_name":"Ana","church_id":1}`, "ok"},
		{record.Person, `{"full_name":"Ana","church_id":2}`, "forbidden"},
		{record.Ticket, `{"event_id":1,"code":"A"}`, "ok"},
		{record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"B"}`, own), "ok"},
		{record.Ticket, `{"event_id":2,"code":"C"}`, "forbidden"},
		{record.Ticket, `{"event_id":3,"code":"D"}`, "forbidden"},
		{record.Event, fmt.Sprintf(event, 2), "forbidden"},
		{record.Group, `{"name":"Choir","church_id":1}`, "ok"},
		{record.Group, `{"name":"Choir"}`, "forbidden"},
		{record.Church, `{"name":"Third"}`, "forbidden"},
	} {
		if _, err := made(try.kind, try.body); kindOf(err) != try.want {
			t.Errorf("%s %s = %v, want %q", try.kind.Name, try.body, err, try.want)
		}
	}
	page := kvtest.Login(t, s, "denomination", "*:*")
	for church, want := range map[int64]string{1: "ok", 2: "forbidden"} {
		w := merge.DocWrite{ID: drawnDoc(record.Person, church), Path: chain("a"), Body: fmt.Appendf(nil, `{"full_name":"Ana","church_id":%d}`, church)}
		if err := push(t, opens(t, s, page, fmt.Sprintf("church-%d", church)), w); kindOf(err) != want {
			t.Errorf("a page brings a person of church %d: %v, want %s", church, err, want)
		}
	}
	db := opens(t, s, page, "church-2")
	if err := push(t, db, onTop(t, db, stranger, `"Rui"`, `"Rui Reis"`)); kindOf(err) != "forbidden" {
		t.Errorf("a page changes a person of church 2: %v, want forbidden", err)
	}
	u.Pushes = nil // a mirror, or a laptop whose event is over
	if err := s.Laptop.NoteUpstream(u); err != nil {
		t.Fatal(err)
	}
	if _, err := made(record.Person, `{"full_name":"Eva","church_id":1}`); kindOf(err) != "forbidden" {
		t.Errorf("a person, where the centre takes nothing = %v, want forbidden", err)
	}
}

// TestWhatTheCentreTakesNoMore: of an event that the laptop's church has made since, of one where the laptop is a guest, and at all.
func TestWhatTheCentreTakesNoMore(t *testing.T) {
	event1 := []string{"event-1", "event-1-names", "event-1-holders"}
	for name, try := range map[string]struct {
		changes          func(*table.Upstream) // what the centre has said last
		own, theirs, new string                // an edit of the laptop's ticket, of another one, and a ticket of event 4
	}{
		"all is taken":                  {func(*table.Upstream) {}, "ok", "ok", "ok"},
		"the laptop is revoked":         {func(u *table.Upstream) { u.Revoked = true }, "forbidden", "forbidden", "forbidden"},
		"its events were chosen":        {func(u *table.Upstream) { u.Chosen = true }, "ok", "ok", "forbidden"},
		"the new event is over":         {func(u *table.Upstream) { u.Over = []string{"event-4"} }, "ok", "ok", "forbidden"},
		"the laptop is a guest":         {func(u *table.Upstream) { u.Guest = event1 }, "ok", "forbidden", "ok"},
		"the centre was not met so far": {func(u *table.Upstream) { u.Epoch, u.Chosen = "", true }, "ok", "ok", "ok"},
	} {
		s := twoChurches(t)
		newEvent(t, s, `,"church_id":1`)
		u := table.Upstream{URL: "http://centre.example", Node: anotherNode, Epoch: "known", Key: "key", Pushes: append([]string{"church-1"}, event1...)}
		if err := s.Laptop.Join(auth.Operator(), u, office.Credential{Realm: s.Tables.Identity.Realm()}); err != nil {
			t.Fatal(err)
		}
		own, theirs := newTicket(t, s, 1, "OWN", ""), merge.DocWrite{ID: drawnDoc(record.Ticket, 1), Path: chain("a"), Body: []byte(`{"event_id":1,"state":"valid"}`)}
		theirs.Author = merge.Author{Node: ulid.MustParse(anotherNode), At: sunday}
		if err := push(t, opens(t, s, auth.Operator(), "event-1"), theirs); err != nil {
			t.Fatal(err)
		}
		try.changes(&u)
		if err := s.Laptop.NoteUpstream(u); err != nil {
			t.Fatal(err)
		}
		edit := func(id int64) error {
			return second(s.Desk.Update(auth.Operator(), target(record.Ticket, id), kvtest.Parse(t, record.TicketForm, `{"type":"Adult"}`, false)))
		}
		made := second(s.Desk.Create(auth.Operator(), target(record.Ticket, 0), kvtest.Parse(t, record.Ticket, `{"event_id":4,"code":"NEW"}`, true)))
		if got := [3]string{kindOf(edit(own)), kindOf(edit(record.FirstDrawn + 1)), kindOf(made)}; got != [3]string{try.own, try.theirs, try.new} {
			t.Errorf("%s: an edit of the laptop's ticket, one of another, and a new ticket are %q, want %q, %q, %q", name, got, try.own, try.theirs, try.new)
		}
	}
}

// TestARestartedLaptopKnowsWhatItsCentreTakes: before the centre is met again, as where there is no link.
func TestARestartedLaptopKnowsWhatItsCentreTakes(t *testing.T) {
	t.Parallel()
	c := table.Config{Dir: t.TempDir()}
	s := reopenable(t, c)
	kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	u := table.Upstream{URL: "http://centre.example", Node: anotherNode, Epoch: "known", Key: "key", Pushes: []string{"church-1"}}
	if err := s.Laptop.Join(auth.Operator(), u, office.Credential{Realm: s.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	s = kvtest.OpenConfig(t, c)
	for body, want := range map[string]string{`{"full_name":"Ana","church_id":1}`: "ok", `{"full_name":"Eva"}`: "forbidden"} {
		if _, err := s.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person}, kvtest.Parse(t, record.Person, body, true)); kindOf(err) != want {
			t.Errorf("a person %s = %v, want %q", body, err, want)
		}
	}
}
