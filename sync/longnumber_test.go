package sync_test

import (
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/sync/peertest"
)

// TestALongNumberIsForbidden: one of thousands of digits would make every list that shows it unreadable to clients of some languages. It comes
// into no record, whoever brings it, and into no list of what was refused.
func TestALongNumberIsForbidden(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Church, `{"name":"Central"}`)
	id := record.Person.DocID(record.Int(kvtest.Create(t, s.Store, record.Person, `{"full_name":"Ana Souza","church_id":1}`)))
	long := strings.Repeat("7", 5000)
	laptop := s.AsLaptop("church:1", auth.Venue{Names: true})
	var body map[string]any
	s.Want(200, "GET", "/church-1/"+id, "").Into(t, &body)
	rev, _ := body["_rev"].(string)
	child := func(doc string) string { // as a replicated revision after the first
		return `{"new_edits":false,"docs":[{"_rev":"2-` + strings.Repeat("a", 32) + `","_revisions":{"start":2,"ids":["` + strings.Repeat("a", 32) + `","` + rev[2:] + `"]},` + doc + `}]}`
	}
	person := `"_id":"` + id + `","full_name":"Ana","church_id":1,`
	page := strings.Replace(edit(s, "/church-1/"+id, map[string]any{"location": "here"}), `"here"`, `{"a":[{"b":`+long+`}]}`, 1)
	if a := s.Want(403, "PUT", "/church-1/"+id, page); !strings.Contains(a.Body, "location") {
		t.Errorf("a key = %.300s, want the field named", a.Body)
	}
	for _, c := range []struct {
		name string
		who  *peertest.Site
		doc  string
	}{
		{"a laptop", laptop, person + `"location":{"a":[{"b":-` + long + `}]}`},
		{"a laptop, in a field of a later version", laptop, person + `"aura":{"b":` + long + `}`},
	} {
		a := c.who.Want(201, "POST", "/church-1/_bulk_docs", child(c.doc))
		if !strings.Contains(a.Body, `"error":"forbidden"`) || strings.Contains(a.Body, long) || strings.Contains(a.Body, `"kept":true`) {
			t.Errorf("%s = %.300s, want it forbidden and not kept", c.name, a.Body)
		}
	}
	psalm := `{"new_edits":false,"docs":[{"_id":"psalm:0000000000000001","_rev":"1-` + strings.Repeat("b", 32) + `","verse":`
	if a := laptop.Want(201, "POST", "/church-1/_bulk_docs", psalm+long+`}]}`); !strings.Contains(a.Body, `"error":"forbidden"`) {
		t.Errorf("a kind of a later version = %.300s, want it forbidden", a.Body)
	}
	for _, doc := range []string{child(person + `"location":{"a":` + long[:64] + `,"b":"` + long + `"}`), psalm + long[:64] + `}]}`} {
		if a := laptop.Want(201, "POST", "/church-1/_bulk_docs", doc); strings.TrimSpace(a.Body) != "[]" {
			t.Errorf("a number of 64 characters = %.300s, want it taken", a.Body)
		}
	}
	refusals := 0
	if err := s.Store.Log.Export(auth.Operator(), record.Refusal, func(json []byte) error {
		if refusals++; strings.Contains(string(json), long) {
			t.Errorf("a refusal holds the number: %.300s", json)
		}
		return nil
	}); err != nil || refusals == 0 {
		t.Errorf("%d refusals, %v; want them named", refusals, err)
	}
}
