package kv_test

import (
	"fmt"
	"testing"

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
