package sync_test

import (
	"fmt"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/sync/peertest"
)

// TestEveryAnswerTellsWhatIsKept: that of the plain protocol too, to laptops.
func TestEveryAnswerTellsWhatIsKept(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Event, `{"name":"Sunday","start_datetime":"2030-01-01T19:00:00Z"}`)
	id := kvtest.Create(t, s.Store, record.Ticket, `{"event_id":1,"code":"theirs","holder_name":"Ana Souza"}`)
	doc := `{"_id":"` + record.Ticket.DocID(record.Int(id)) + `","_rev":"1-00000000000000000000000000000001","event_id":1}`
	for s, kept := range map[*peertest.Site]bool{s.AsLaptop("event:1", auth.Venue{}): true, s: false} { // a page is told what CouchDB would tell it
		a := s.Want(201, "POST", "/event-1/_bulk_docs", `{"new_edits":false,"docs":[`+doc+`]}`)
		if !strings.Contains(a.Body, "forbidden") || strings.Contains(a.Body, `,"kept":true}`) != kept {
			t.Errorf("_bulk_docs = %s, want kept: %t", a.Body, kept)
		}
	}
}

// TestWhoOnlyWritesIsToldSoBeforeAnAnswer: an answer that has begun could only be broken off.
func TestWhoOnlyWritesIsToldSoBeforeAnAnswer(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Event, `{"name":"Feast","start_datetime":"2026-11-22T19:00:00Z"}`)
	kvtest.Create(t, s.Store, record.Ticket, `{"event_id":1,"code":"K1","holder_name":"Ana"}`)
	laptop := s.AsLaptop("event:1", auth.Venue{Names: true})
	const db = "/event-1-holders"
	one, two := record.Holder.DocID(record.Int(1)), record.Holder.DocID(record.Int(2))
	for _, c := range []struct{ method, path, body string }{
		{"GET", "", ""},
		{"HEAD", "", ""},
		{"GET", "/", ""},
		{"GET", "/_changes", ""},
		{"GET", "/_changes?feed=longpoll", ""},
		{"GET", "/_changes?feed=continuous&heartbeat=1000", ""},
		{"POST", "/_changes?filter=_doc_ids", `{"doc_ids":["` + one + `"]}`},
		{"GET", "/_feed", ""},
		{"POST", "/_bulk_get", `{"docs":[{"id":"` + one + `"}]}`},
		{"GET", "/_all_docs", ""},
		{"GET", "/_all_docs?limit=0", ""},
		{"POST", "/_all_docs", `{"keys":["` + one + `"]}`},
		{"GET", "/" + one, ""},
		{"HEAD", "/" + one, ""},
		{"GET", "/" + one + "?open_revs=all", ""},
		{"GET", "/" + two, ""},
		{"GET", "/" + one + "/photo", ""},
		{"DELETE", "/" + one, ""},
	} {
		a := laptop.Want(403, c.method, db+c.path, c.body)
		if c.method != "HEAD" && !strings.Contains(a.Body, `"error":"forbidden"`) {
			t.Errorf("%s %s = %s, want a whole answer", c.method, c.path, a.Body)
		}
	}
	if a := laptop.Want(200, "GET", "/_all_dbs", ""); strings.Contains(a.Body, "holders") || !strings.Contains(a.Body, "event-1") {
		t.Errorf("_all_dbs = %s, want what the laptop reads", a.Body)
	}
	laptop.Want(201, "POST", db+"/_ensure_full_commit", "{}")
	laptop.Want(200, "POST", db+"/_revs_diff", `{"`+two+`":["1-`+strings.Repeat("0", 32)+`"]}`)
	laptop.Want(201, "PUT", db+"/_local/c", `{"seq":1}`)
	laptop.Want(200, "GET", db+"/_local/c", "")
	laptop.Want(201, "POST", db+"/_bulk_docs", `{"docs":[],"new_edits":false}`)
}

// TestAnUnseenRecordIsNoConflict: whoever may not see a record learns from no answer that its id is taken.
func TestAnUnseenRecordIsNoConflict(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	for range 2 {
		kvtest.Create(t, s.Store, record.Church, `{"name":"Church"}`)
	}
	own := kvtest.Create(t, s.Store, record.Person, `{"full_name":"Eva","church_id":1}`)
	other := kvtest.Create(t, s.Store, record.Person, `{"full_name":"Ana","church_id":2}`)
	kvtest.Create(t, s.Store, record.Event, `{"name":"Feast","start_datetime":"2026-11-22T19:00:00Z"}`)
	kvtest.Create(t, s.Store, record.Ticket, `{"event_id":1,"code":"K1","holder_name":"Ana"}`)
	church := s.As("church:1", "*:*")
	body := `{"full_name":"Bia","church_id":1}`
	stale := `{"full_name":"Bia","church_id":1,"_rev":"1-` + strings.Repeat("0", 32) + `"}`
	person := func(id int64) string { return "/church-1/" + record.Person.DocID(record.Int(id)) }
	church.Want(403, "PUT", person(other), body)
	for _, in := range []string{body, stale, `{"_deleted":true}`} {
		church.Want(409, "PUT", person(own), in)
		if a, b := church.Do("PUT", person(other), in), church.Do("PUT", person(999), in); a.Status != b.Status || a.Body != b.Body {
			t.Errorf("PUT of %s to another church's person = %d %s, to nobody %d %s", in, a.Status, a.Body, b.Status, b.Body)
		}
	}
	for _, id := range []int64{other, 999} {
		a := church.Want(201, "POST", "/church-1/_bulk_docs", fmt.Sprintf(`{"docs":[{"_id":%q,"full_name":"Bia","church_id":1}]}`, record.Person.DocID(record.Int(id))))
		if !strings.Contains(a.Body, `"error":"forbidden"`) {
			t.Errorf("_bulk_docs of person %d = %s, want it forbidden", id, a.Body)
		}
	}
	laptop := s.AsLaptop("event:1", auth.Venue{Names: true})
	for _, id := range []int64{1, 999} {
		laptop.Want(403, "PUT", "/event-1-holders/"+record.Holder.DocID(record.Int(id)), `{"event_id":1,"email":"ana@example.org"}`)
	}
}
