package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// torn leaves one conflict about a person's occupation and answers the person's id and the conflict's.
func torn(t *testing.T, s *site) (person int64, conflict string) {
	t.Helper()
	person = tear(t, s.store)
	list := s.status(s.do("GET", "/admin/v1/conflicts/?kind=person&limit=5", ""), 200)
	if got := list.text(t, "count"); got != "1" {
		t.Fatalf("conflicts = %s", list.body)
	}
	return person, list.text(t, "results.0.id")
}

// tear leaves one conflict about the occupation of a person, whose id it answers.
func tear(t *testing.T, store *kv.Store) (person int64) {
	t.Helper()
	kvtest.Create(t, store, record.Church, `{"name":"Centre"}`)
	person = kvtest.Create(t, store, record.Person, `{"full_name":"Ana","occupation":"baker","church_id":1}`)
	db, err := store.Docs.Database(auth.Operator(), "church-1")
	if err != nil {
		t.Fatal(err)
	}
	id := record.Person.DocID(record.Int(person))
	doc, err := db.Read(id, docs.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	was := doc.Revisions[0]
	for i, occupation := range []string{"nurse", "pilot"} {
		revision2 := rev.ID{Generation: 2, Hash: [16]byte{byte(i + 1)}}
		w := merge.DocWrite{ID: id, Path: append([]rev.ID{revision2}, doc.Tree.Path(was.Revision)...),
			Body: []byte(strings.Replace(string(was.Body), "baker", occupation, 1))}
		if results, err := db.Write([]merge.DocWrite{w}); err != nil || results[0].Err != nil {
			t.Fatal(err, results[0].Err)
		}
	}
	return person
}

func TestConflicts(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`{"keep":"winner"}`, "pilot"}, {`{"keep":"other"}`, "nurse"}, {`{"value":"surgeon"}`, "surgeon"}, {`{"value":null}`, ""},
	} {
		s := newSite(t)
		person, id := torn(t, s)
		at := "/admin/v1/conflicts/" + id + "/"
		one := s.status(s.do("GET", at, ""), 200)
		for member, want := range map[string]string{"id": id, "kind": "person", "record_id": "1", "field": "occupation", "winner": "pilot", "other": "nurse"} {
			if got := one.text(t, member); got != want {
				t.Errorf("%s = %q, want %q", member, got, want)
			}
		}
		s.status(s.do("POST", at+"resolve/", test.body), 204)
		got := s.status(s.do("GET", fmt.Sprintf("/v1/people/%d/", person), ""), 200)
		if got.text(t, "occupation") != test.want {
			t.Errorf("after %s the person is %s", test.body, got.body)
		}
		s.status(s.do("POST", at+"resolve/", test.body), 404)
		s.status(s.do("GET", at, ""), 404)
	}
}

// TestADecisionIsTakenOnceForAnIdempotencyKey: a client that got no answer sends it again, and hears that it is done.
func TestADecisionIsTakenOnceForAnIdempotencyKey(t *testing.T) {
	s := newSite(t)
	person, id := torn(t, s)
	at, once := "/admin/v1/conflicts/"+id+"/resolve/", header("Idempotency-Key", "k")
	s.status(s.do("POST", "/admin/v1/conflicts/01HZX3Q0000000000000000000/resolve/", `{"keep":`, once, invalid), 404)
	s.status(s.do("POST", at, `{"keep":"mine"}`, once, invalid), 400)
	if a := s.status(s.do("POST", at, `{"keep":"other"}`, once), 204); a.header.Get("Idempotency-Replayed") != "" {
		t.Error("the first is marked as repeated")
	}
	path := fmt.Sprintf("/v1/people/%d/", person)
	s.status(s.do("PATCH", path, `{"occupation":"baker"}`), 200)
	if a := s.status(s.do("POST", at, `{"keep":"other"}`, once), 204); a.header.Get("Idempotency-Replayed") != "true" {
		t.Error("the second is not marked as repeated")
	}
	s.status(s.do("POST", at, `{"keep":"winner"}`, once), 422)
	s.status(s.do("POST", at, `{"keep":"other"}`, header("Idempotency-Key", "another")), 404)
	s.status(s.do("POST", at, `{"keep":`, once, invalid), 404)
	s.status(s.as("church:1", "admin:*").do("POST", at, `{"keep":"other"}`, once), 404)
	if got := s.do("GET", path, "").text(t, "occupation"); got != "baker" {
		t.Errorf("the occupation is %s, want what was written in between", got)
	}
}

func TestConflictsBadInput(t *testing.T) {
	s := newSite(t)
	_, id := torn(t, s)
	at := "/admin/v1/conflicts/" + id + "/resolve/"
	for body, field := range map[string]string{
		``: "keep", `{}`: "keep", `{"keep":"winner","value":1}`: "keep", `{"keep":"mine"}`: "keep", `{"keep":null}`: "keep",
		`{"value":{"a":1}}`: "occupation", `{"value":["a"]}`: "occupation",
	} {
		a := s.status(s.do("POST", at, body, invalid), 400)
		if len(a.text(t, "error.details."+field)) == 0 {
			t.Errorf("%s = %s, want a fault of %s", body, a.body, field)
		}
	}
	s.status(s.do("POST", at, `{"keep":`, invalid), 400)
	s.status(s.do("POST", at, `x`, invalid, header("Content-Type", "text/plain")), 415)
	s.status(s.do("PATCH", at, `{}`, invalid), 405)
	s.status(s.do("POST", "/admin/v1/conflicts/1/resolve/", `{"keep":"winner"}`), 404)
	s.status(s.as("church:1", "admin:GET").do("POST", at, `{"keep":"winner"}`), 403)
	s.status(s.as("church:2", "admin:*").do("POST", at, `{"keep":`, invalid), 404)
	if got := s.do("GET", "/admin/v1/conflicts/?kind=ticket", "").text(t, "count"); got != "0" {
		t.Errorf("conflicts of tickets = %s", got)
	}
}

func TestRefusals(t *testing.T) {
	for _, apply := range []bool{true, false} {
		s := newSite(t)
		s.create(record.Church, `{"name":"Centre"}`)
		pusher := s.as("church:1", "sync:*", "people:*", "group:GET", "memberships:GET", "event:GET")
		p, err := s.store.Keys.Login(pusher.auth[0], pusher.auth[1])
		if err != nil {
			t.Fatal(err)
		}
		db, err := s.store.Docs.Database(p, "church-1")
		if err != nil {
			t.Fatal(err)
		}
		w := merge.DocWrite{ID: "person:0000000000000700", Path: []rev.ID{{Generation: 1}}, Body: []byte(`{"full_name":"Rui","church_id":1}`)}
		if _, err := db.Write([]merge.DocWrite{w}); err != nil {
			t.Fatal(err)
		}
		list := s.status(s.as("church:1", "admin:GET").do("GET", "/admin/v1/refusals/?db=church-1", ""), 200)
		id := list.text(t, "results.0.id")
		if got := list.text(t, "results.0.doc.full_name"); got != "Rui" {
			t.Fatalf("refusals = %s", list.body)
		}
		at := "/admin/v1/refusals/" + id + "/"
		s.status(s.do("GET", at, ""), 200)
		s.status(s.do("POST", at+"resolve/", `{}`, invalid), 400)
		s.status(s.do("POST", at+"resolve/", `{"apply":"perhaps"}`, invalid), 400)
		s.status(s.do("POST", at+"resolve/", `{"apply":null}`, invalid), 400)
		s.status(s.do("POST", at+"resolve/", fmt.Sprintf(`{"apply":%t}`, apply)), 204)
		s.status(s.do("GET", at, ""), 404)
		found := s.do("GET", "/v1/people/", "").text(t, "count")
		if found != map[bool]string{true: "1", false: "0"}[apply] {
			t.Errorf("applied %t: %s people", apply, found)
		}
	}
}

func TestHistory(t *testing.T) {
	s := newSite(t)
	id := s.create(record.Person, `{"full_name":"Ana"}`)
	path := fmt.Sprintf("/admin/v1/person/%d/", id)
	s.status(s.do("PATCH", path, `{"full_name":"Ana Souza"}`), 200)
	plain := s.status(s.do("GET", path+"history/", ""), 200)
	if plain.text(t, "0.fields") != `["full_name"]` || plain.text(t, "0.winner") != "true" || plain.text(t, "1.winner") != "false" ||
		plain.text(t, "0.node") != s.store.Tables.Identity.Node() || plain.text(t, "0.key") == "" || strings.Contains(plain.body, "body") {
		t.Errorf("history = %s", plain.body)
	}
	if etag := s.do("GET", path, "").header.Get("ETag"); !strings.HasPrefix(etag, `"`+plain.text(t, "0.rev")) {
		t.Errorf("the newest revision is %s, the record's %s", plain.text(t, "0.rev"), etag)
	}
	bodies := s.status(s.do("GET", path+"history/?bodies=true", ""), 200)
	if bodies.text(t, "0.body.full_name") != "Ana Souza" || bodies.text(t, "1.body.full_name") != "Ana" {
		t.Errorf("history = %s", bodies.body)
	}
	s.status(s.do("GET", path+"history/?bodies=perhaps", "", invalid), 400)
	s.status(s.do("GET", "/admin/v1/person/99/history/", ""), 404)
	s.status(s.as("church:1", "admin:GET").do("GET", path+"history/?bodies=perhaps", "", invalid), 404)
	s.status(s.as("denomination", "people:GET").do("GET", path+"history/", ""), 403)
	if keys := s.status(s.do("GET", "/admin/v1/api_key/1/history/?bodies=true", ""), 200); strings.Contains(keys.body, "secret") {
		t.Errorf("a key's history = %s", keys.body)
	}
}

func TestFactsToReviewAreListed(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 3, 19, 0, 0, 0, time.UTC))
	w := settle(newSiteOver(t, kvtest.OpenConfig(t, table.Config{Clock: clock.Now, Built: clock.Now().Add(time.Hour)})))
	ticket := w.ticket(w.event, "K1", `"type":"Adult","order":"H-7"`)
	admitted := w.scan(w.event, `{"code":"K1","door":"North"}`)
	clock.Move(time.Second)
	w.scan(w.event, `{"code":"K1"}`)
	a := w.status(w.do("GET", "/admin/v1/reviews/", ""), 200)
	want := fmt.Sprintf(`{"kind":"checkin","id":%q,"event_id":%d,"ticket_id":%d,"label":"Ana S.","type":"Adult","order":"H-7","door":"North",`+
		`"at":%q,"clock_offset_ms":null,"flags":["clock_suspect"],"outcome":null,"checkin_id":null,"node":%q,"key_id":`,
		admitted.text(t, "checkin_id"), w.event, ticket, admitted.text(t, "admitted_at"), w.store.Tables.Identity.Node())
	if a.text(t, "count") != "2" || !strings.Contains(a.body, `"results":[`+want) || a.text(t, "results.1.outcome") != "already_admitted" {
		t.Errorf("reviews = %s\nwant first %s", a.body, want)
	}
	if page := w.status(w.do("GET", "/admin/v1/reviews/?limit=1", ""), 200); !strings.Contains(page.text(t, "next"), "offset=1") || page.value(t, "results.1") != nil {
		t.Errorf("a page of one = %s", page.body)
	}
	for query, count := range map[string]string{"flag=clock_suspect": "2", "flag=needs_review": "0", fmt.Sprint("event_id=", w.event): "2", fmt.Sprint("event_id=", w.openEvent): "0"} {
		if got := w.status(w.do("GET", "/admin/v1/reviews/?"+query, ""), 200).text(t, "count"); got != count {
			t.Errorf("%s: %s facts, want %s", query, got, count)
		}
	}
	for query, field := range map[string]string{"flag=late": "flag", "event_id=99": "event_id"} {
		w.status(w.do("GET", "/admin/v1/reviews/?"+query, "", invalid), 400).text(t, "error.details."+field+".0")
	}
	far := w.as(fmt.Sprintf("event:%d", w.farEvent), "admin:GET")
	if got := far.status(far.do("GET", "/admin/v1/reviews/", ""), 200).text(t, "count"); got != "0" {
		t.Errorf("a key of another event lists %s facts", got)
	}
	door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	door.status(door.do("GET", "/admin/v1/reviews/", ""), 403)
	for kind, count := range map[string]string{"checkin": "1", "scan": "1", "undo": "0"} {
		if got := w.status(w.do("GET", "/admin/v1/"+kind+"/?flags=clock_suspect", ""), 200).text(t, "count"); got != count {
			t.Errorf("%s of the flag: %s, want %s", kind, got, count)
		}
	}
}

func TestReadsAreListed(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)) // no minute ends between two reads
	w := settle(newSiteOver(t, kvtest.OpenConfig(t, kv.Config{Clock: clock.Now})))
	id := w.create(record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	w.status(w.do("GET", fmt.Sprintf("/v1/people/%d/", id), ""), 200)
	w.status(w.do("GET", "/v1/people/?limit=1", ""), 200)
	a := w.status(w.do("GET", "/admin/v1/reads/?kind=person", ""), 200)
	if a.text(t, "count") != "1" || a.text(t, "results.0.kind") != "person" || a.text(t, "results.0.records") != "2" ||
		a.value(t, "results.0.key_id") == nil || a.text(t, "results.0.minute") == "" {
		t.Errorf("reads are %s, want two of a person", a.body)
	}
	for query, want := range map[string]string{"kind=ticket": "0", "minute_before=2001-01-01": "0", "minute_after=2001-01-01&key_id=" + a.text(t, "results.0.key_id"): "1"} {
		if a := w.status(w.do("GET", "/admin/v1/reads/?"+query, ""), 200); a.text(t, "count") != want {
			t.Errorf("reads with %s are %s, want %s", query, a.body, want)
		}
	}
	w.status(w.do("GET", "/admin/v1/reads/?key_id=x", "", invalid), 400)
}
