package sync_test

import (
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// asLaptop is the same site asked with the key of a laptop.
func (s *site) asLaptop(level string, v kv.Venue) *site {
	s.Helper()
	l, err := kv.ParseLevel(level)
	if err != nil {
		s.Fatal(err)
	}
	v.Node = ulid.Make().String()
	spec := kv.KeySpec{Name: "laptop", Level: l, Permissions: []kv.Permission{{Resource: "sync", Method: "*"}}, Node: v}
	k, secret, err := s.store.AddKey(kv.Operator(), spec)
	if err != nil {
		s.Fatal(err)
	}
	other := *s
	other.auth = [2]string{k.Key, secret}
	return &other
}

// TestWhoOnlyWritesIsToldSoBeforeAnAnswer: an answer that has begun could only be broken off.
func TestWhoOnlyWritesIsToldSoBeforeAnAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kvtest.Create(t, s.store, record.Event, `{"name":"Feast","start_datetime":"2026-11-22T19:00:00Z"}`)
	kvtest.Create(t, s.store, record.Ticket, `{"event_id":1,"code":"K1","holder_name":"Ana"}`)
	laptop := s.asLaptop("event:1", kv.Venue{Names: true})
	const db = "/event-1-holders"
	one, two := record.Holder.DocID(record.Int(1)), record.Holder.DocID(record.Int(2))
	for _, c := range []struct{ method, path, body string }{
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
		a := laptop.want(403, c.method, db+c.path, c.body)
		if c.method != "HEAD" && !strings.Contains(a.body, `"error":"forbidden"`) {
			t.Errorf("%s %s = %s, want a whole answer", c.method, c.path, a.body)
		}
	}
	laptop.want(200, "GET", db, "")
	laptop.want(200, "POST", db+"/_revs_diff", `{"`+two+`":["1-`+strings.Repeat("0", 32)+`"]}`)
	laptop.want(201, "PUT", db+"/_local/c", `{"seq":1}`)
	laptop.want(200, "GET", db+"/_local/c", "")
	laptop.want(201, "POST", db+"/_bulk_docs", `{"docs":[],"new_edits":false}`)
}
