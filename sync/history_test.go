package sync_test

import (
	"encoding/json"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/sync/peertest"
)

// edited reads a document, changes some of its members, and answers it.
func (s *site) edited(path string, change map[string]any) string {
	s.Helper()
	doc := map[string]any{}
	s.want(200, "GET", path, "").into(s, &doc)
	for name, v := range change {
		doc[name] = v
	}
	b, err := json.Marshal(doc)
	if err != nil {
		s.Fatal(err)
	}
	return string(b)
}

// TestHistoryNamesTheFieldsOfEditsThatCame: as it does those of edits on /v1, whoever made them and however they came.
func TestHistoryNamesTheFieldsOfEditsThatCame(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kvtest.Create(t, s.store, record.Church, `{"name":"Central"}`)
	id := kvtest.Create(t, s.store, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	path := "/church-1/" + record.Person.DocID(record.Int(id))
	s.want(201, "PUT", path, s.edited(path, map[string]any{"full_name": "Ana Lima"}))
	page := s.as("church:1", "*:*")
	page.want(201, "POST", "/church-1/_bulk_docs", `{"docs":[`+page.edited(path, map[string]any{"email": "ana@example.org", "full_name": "Ana Costa"})+`]}`)
	laptop := s.asLaptop("church:1", kv.Venue{Names: true})
	laptop.want(201, "PUT", path, laptop.edited(path, map[string]any{"phone": "11 99999-0000"}))
	if got, want := peertest.FieldsOf(t, s.store, record.Person, id), " | full_name | email+full_name | phone"; got != want {
		t.Errorf("the history names %q, want %q", got, want)
	}

	b := s.inRealm() // has them by the protocol of all, which tells of no fields
	for _, name := range []string{"reference", "church-1"} {
		from := s.thereIs(name, plainly)
		copyAll(t, from, b.hereIs(name))
	}
	was := s.edited(path, nil)
	s.want(201, "PUT", path, s.edited(path, map[string]any{"full_name": "Ana Prado"}))
	s.want(201, "PUT", path, s.edited(path, map[string]any{"phone": nil, "full_name": "Ana Reis"}))
	copyAll(t, s.thereIs("church-1", plainly), b.hereIs("church-1"))
	got := peertest.FieldsOf(t, b.store, record.Person, id)
	if !strings.HasSuffix(got, " | full_name+phone") {
		t.Errorf("the history of a copy of %s names %q, want last what two edits have changed", was, got)
	}
}
