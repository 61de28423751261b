package sync_test

import (
	"fmt"
	"testing"

	"github.com/go-kivik/kivik/v4"
	"github.com/go-kivik/kivik/v4/couchdb"
	"github.com/google/go-cmp/cmp"
)

// kivik is a database of the site as the kivik library has it.
func (s *site) kivik(name string) *kivik.DB {
	s.Helper()
	c, err := kivik.New("couch", s.url, couchdb.BasicAuth(s.auth[0], s.auth[1]))
	s.no(err)
	s.Cleanup(func() { _ = c.Close() })
	return c.DB(name)
}

// copied has kivik copy a database to another site, and answers how many documents it wrote.
func (s *site) copied(to *site, name string) int {
	s.Helper()
	done, err := kivik.Replicate(s.Context(), to.kivik(name), s.kivik(name))
	if err != nil || done.DocWriteFailures > 0 {
		s.Fatalf("kivik.Replicate = %+v, %v", done, err)
	}
	return done.DocsWritten
}

// TestKivikReplicates: a Go replicator that is not ours, which asks for one document at a time, as multipart, and puts them one by one.
func TestKivikReplicates(t *testing.T) {
	t.Parallel()
	a, b := newSite(t), newSite(t)
	for i := range 25 {
		a.put(fmt.Sprintf("doc%02d", i), fmt.Sprintf(`{"n":%d}`, i))
	}
	first := a.put("twice", `{"v":1}`)
	a.put("twice", `{"v":2,"_rev":"`+first+`"}`)
	const other = "0123456789abcdef0123456789abcdef"
	a.want(201, "POST", "/notes/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"twice","_rev":"2-`+other+`","_revisions":{"start":2,"ids":["`+other+`","`+first[2:]+`"]}}]}`)
	a.want(200, "DELETE", "/notes/gone?rev="+a.put("gone", `{}`), "")
	a.put("small ä", `{"_attachments":{"small ä.txt":{"content_type":"text/plain","data":"aGVsbG8="}}}`)
	a.put("_design/views", `{"language":"javascript"}`)
	a.copied(b, "notes")
	if diff := cmp.Diff(a.content(), b.content()); diff != "" {
		t.Errorf("what came (-source +target):\n%s", diff)
	}
	b.put("answer", `{"of":"the other"}`)
	b.copied(a, "notes")
	if diff := cmp.Diff(b.content(), a.content()); diff != "" {
		t.Errorf("what went back (-source +target):\n%s", diff)
	}
	if again := a.copied(b, "notes"); again != 0 {
		t.Errorf("the third time %d documents are written, want none", again)
	}
}
