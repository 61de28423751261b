package sync_test

import (
	"strings"
	"testing"

	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/sync/peertest"
)

// TestABadItemOfBulkGetKeepsNoOtherBack: whatever names no document, in a database of records as in a free one.
func TestABadItemOfBulkGetKeepsNoOtherBack(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	kvtest.Create(t, s.Store, record.Church, `{"name":"Central"}`)
	person := record.Person.DocID(record.Int(kvtest.Create(t, s.Store, record.Person, `{"full_name":"Ana Souza","church_id":1}`)))
	s.Put("a", `{}`)
	for db, good := range map[string]string{"/church-1": person, "/notes": "a"} {
		for _, bad := range []string{
			`{"id":""}`, `{"id":"_local/x"}`, `{"id":"_design/x"}`, `{"id":"_x"}`, `{"id":"\u0000"}`, `{"id":"person:zz"}`, `{"id":7}`, `{}`, `7`,
			`{"id":"` + strings.Repeat("x", 9000) + `"}`, `{"id":"` + good + `","rev":"9-x"}`, `{"id":"` + good + `","rev":""}`,
			`{"id":"` + good + `","rev":"1-` + strings.Repeat("0", 32) + `"}`, `{"id":"` + good + `","atts_since":["x"]}`,
		} {
			a := s.Want(200, "POST", db+"/_bulk_get", `{"docs":[`+bad+`,{"id":"`+good+`"}]}`)
			var got struct{ Results []struct{ Docs []any } }
			if a.Into(t, &got); len(got.Results) != 2 || len(got.Results[1].Docs) != 1 {
				t.Errorf("%s with %.60s = %.300s, want the other item answered", db, bad, a.Body)
			}
		}
	}
}
