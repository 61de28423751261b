package sync_test

import (
	"encoding/json"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/sync/peertest"
)

// edit reads a document, changes some of its members, and answers it.
func edit(s *peertest.Site, path string, change map[string]any) string {
	s.Helper()
	doc := map[string]any{}
	s.Want(200, "GET", path, "").Into(s, &doc)
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
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Church, `{"name":"Central"}`)
	id := kvtest.Create(t, s.Store, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	path := "/church-1/" + record.Person.DocID(record.Int(id))
	s.Want(201, "PUT", path, edit(s, path, map[string]any{"full_name": "Ana Lima"}))
	page := s.As("church:1", "*:*")
	page.Want(201, "POST", "/church-1/_bulk_docs", `{"docs":[`+edit(page, path, map[string]any{"email": "ana@example.org", "full_name": "Ana Costa"})+`]}`)
	laptop := s.AsLaptop("church:1", auth.Venue{Names: true})
	laptop.Want(201, "PUT", path, edit(laptop, path, map[string]any{"phone": "11 99999-0000"}))
	if got, want := peertest.FieldsOf(t, s.Store, record.Person, id), " | full_name | email+full_name | phone"; got != want {
		t.Errorf("the history names %q, want %q", got, want)
	}

	b := s.InRealm() // has them by the protocol of all, which tells of no fields
	for _, name := range []string{"reference", "church-1"} {
		from := s.RemoteOf(name, peertest.Plainly)
		peertest.CopyAll(t, from, b.LocalOf(name))
	}
	was := edit(s, path, nil)
	s.Want(201, "PUT", path, edit(s, path, map[string]any{"full_name": "Ana Prado"}))
	s.Want(201, "PUT", path, edit(s, path, map[string]any{"phone": nil, "full_name": "Ana Reis"}))
	peertest.CopyAll(t, s.RemoteOf("church-1", peertest.Plainly), b.LocalOf("church-1"))
	got := peertest.FieldsOf(t, b.Store, record.Person, id)
	if !strings.HasSuffix(got, " | full_name+phone") {
		t.Errorf("the history of a copy of %s names %q, want last what two edits have changed", was, got)
	}
}
