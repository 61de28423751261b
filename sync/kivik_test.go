package sync_test

import (
	"fmt"
	"testing"

	"doorward/sync/peertest"

	"github.com/go-kivik/kivik/v4"
	"github.com/go-kivik/kivik/v4/couchdb"
	"github.com/google/go-cmp/cmp"
)

// kivikDB is a database of the site as the kivik library has it.
func kivikDB(s *peertest.Site, name string) *kivik.DB {
	s.Helper()
	c, err := kivik.New("couch", s.URL, couchdb.BasicAuth(s.Auth[0], s.Auth[1]))
	peertest.NoError(s, err)
	s.Cleanup(func() { _ = c.Close() })
	return c.DB(name)
}

// kivikCopy has kivik copy a database to another site, and answers how many documents it wrote.
func kivikCopy(s *peertest.Site, to *peertest.Site, name string) int {
	s.Helper()
	done, err := kivik.Replicate(s.Context(), kivikDB(to, name), kivikDB(s, name))
	if err != nil || done.DocWriteFailures > 0 {
		s.Fatalf("kivik.Replicate = %+v, %v", done, err)
	}
	return done.DocsWritten
}

// TestKivikReplicates: a Go replicator that is not ours, which asks for one document at a time, as multipart, and puts them one by one.
func TestKivikReplicates(t *testing.T) {
	t.Parallel()
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	for i := range 25 {
		a.Put(fmt.Sprintf("doc%02d", i), fmt.Sprintf(`{"n":%d}`, i))
	}
	first := a.Put("twice", `{"v":1}`)
	a.Put("twice", `{"v":2,"_rev":"`+first+`"}`)
	const other = "0123456789abcdef0123456789abcdef"
	a.Want(201, "POST", "/notes/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"twice","_rev":"2-`+other+`","_revisions":{"start":2,"ids":["`+other+`","`+first[2:]+`"]}}]}`)
	a.Want(200, "DELETE", "/notes/gone?rev="+a.Put("gone", `{}`), "")
	a.Put("small ä", `{"_attachments":{"small ä.txt":{"content_type":"text/plain","data":"aGVsbG8="}}}`)
	a.Put("_design/views", `{"language":"javascript"}`)
	kivikCopy(a, b, "notes")
	if diff := cmp.Diff(a.Content(), b.Content()); diff != "" {
		t.Errorf("what came (-source +target):\n%s", diff)
	}
	b.Put("answer", `{"of":"the other"}`)
	kivikCopy(b, a, "notes")
	if diff := cmp.Diff(b.Content(), a.Content()); diff != "" {
		t.Errorf("what went back (-source +target):\n%s", diff)
	}
	if again := kivikCopy(a, b, "notes"); again != 0 {
		t.Errorf("the third time %d documents are written, want none", again)
	}
}
