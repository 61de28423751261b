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

// TestAnErasedPersonsOwnRevisionsAreRefused: _revs_diff lacks none of them, and who pushes one all the same is told that it is not taken. An
// answer that says nothing would tell the client that the person is there again.
func TestAnErasedPersonsOwnRevisionsAreRefused(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Church, `{"name":"Central"}`)
	id := kvtest.Create(t, s.Store, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	kvtest.Create(t, s.Store, record.Group, `{"name":"Choir","church_id":1}`)
	member := kvtest.Create(t, s.Store, record.Membership, fmt.Sprintf(`{"group_id":1,"person":%d}`, id))
	had := map[string]string{} // the documents of before, by the path
	for _, path := range []string{"/church-1/" + record.Person.DocID(record.Int(id)), "/church-1/" + record.Membership.DocID(record.Int(member))} {
		had[path] = s.Want(200, "GET", path+"?revs=true", "").Body
	}
	if _, err := s.Store.Erasures.Erase(auth.Operator(), record.Person, record.Int(id)); err != nil {
		t.Fatal(err)
	}
	laptop := s.AsLaptop("church:1", auth.Venue{Names: true})
	for path, doc := range had {
		var read struct {
			ID  string `json:"_id"`
			Rev string `json:"_rev"`
		}
		peertest.Answer{Body: doc}.Into(t, &read)
		for name, who := range map[string]*peertest.Site{"a key": s, "a laptop": laptop} {
			if a := who.Want(200, "POST", "/church-1/_revs_diff", fmt.Sprintf(`{%q:[%q]}`, read.ID, read.Rev)); a.Body != "{}\n" {
				t.Errorf("%s: _revs_diff of %s = %s, want nothing missing", name, read.ID, a.Body)
			}
			a := who.Want(201, "POST", "/church-1/_bulk_docs", `{"new_edits":false,"docs":[`+doc+`]}`)
			if !strings.Contains(a.Body, read.ID) || !strings.Contains(a.Body, `"error":"forbidden"`) || strings.Contains(a.Body, "Ana") {
				t.Errorf("%s: _bulk_docs of %s = %s, want it forbidden", name, read.ID, a.Body)
			}
			who.Want(403, "PUT", path+"?new_edits=false", doc)
			who.Want(404, "GET", path, "")
		}
		tomb := s.Want(200, "GET", path+"?open_revs=all&revs=true", "", "Accept", "application/json").Body
		tomb = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(tomb), `[{"ok":`), "}]")
		if a := laptop.Want(201, "POST", "/church-1/_bulk_docs", `{"new_edits":false,"docs":[`+tomb+`]}`); strings.TrimSpace(a.Body) != "[]" {
			t.Errorf("_bulk_docs of the tombstone %s = %s, want it taken", tomb, a.Body)
		}
	}
	if ids, err := s.Store.Desk.IDs(auth.Operator(), record.Refusal); err != nil || len(ids) != 0 {
		t.Errorf("%d refusals are kept for staff, %v; want none: they would hold what was erased", len(ids), err)
	}
}

// TestACentreThatWasNotRestoredIsToldOfNoErasure: a laptop takes nobody's records away.
func TestACentreThatWasNotRestoredIsToldOfNoErasure(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	body := `{"erasures":[{"kind":"person","hash":"000102030405060708090a0b0c0d0e0f"}]}`
	s.As("denomination", "*:*").Want(403, "POST", "/_erased", body)
}
