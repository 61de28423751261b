package sync_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/merge"
	"doorward/kv/table"
	"doorward/sync/peertest"
)

// filled is a site whose notes are n documents of about 250 bytes.
func filled(b *testing.B, n int) *peertest.Site {
	b.Helper()
	s := peertest.NewSite(b)
	db, err := s.Store.Docs.Database(auth.Operator(), "notes")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("a note ", 25)
	for from := 0; from < n; from += table.MaxRows {
		writes := make([]merge.DocWrite, table.MaxRows)
		for i := range writes {
			writes[i] = merge.DocWrite{ID: fmt.Sprintf("doc%06d", from+i), Body: fmt.Appendf(nil, `{"full_name":"Ana Souza %d","n":%d,"text":%q}`, i, from+i, text)}
		}
		if _, err := db.Write(writes); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// drained reads an answer to its end.
func drained(s *peertest.Site, method, path, body string) {
	r := s.Request(method, path, body)
	r.Header.Set("Accept-Encoding", "identity")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode >= 400 {
		s.Fatalf("%s = %d, %v", path, resp.StatusCode, err)
	}
}

const benchDocs = 20_000

// BenchmarkChanges reads a feed of all documents, without and with their bodies.
func BenchmarkChanges(b *testing.B) {
	s := filled(b, benchDocs)
	for name, path := range map[string]string{"bare": "/notes/_changes", "docs": "/notes/_changes?include_docs=true", "all_docs": "/notes/_all_docs?include_docs=true"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				drained(s, "GET", path, "")
			}
			b.ReportMetric(float64(b.N*benchDocs)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}

// BenchmarkPull asks as PouchDB does, 100 documents at a time.
func BenchmarkPull(b *testing.B) {
	s := filled(b, benchDocs)
	docs := make([]string, 100)
	for i := range docs {
		docs[i] = fmt.Sprintf(`{"id":"doc%06d"}`, i)
	}
	body := `{"docs":[` + strings.Join(docs, ",") + `]}`
	for b.Loop() {
		drained(s, "GET", "/notes/_changes?style=all_docs&limit=100&since=0", "")
		drained(s, "POST", "/notes/_bulk_get?revs=true&latest=true", body)
	}
	b.ReportMetric(float64(b.N*100)/b.Elapsed().Seconds(), "docs/s")
}

// BenchmarkPush sends as PouchDB does, 100 documents at a time.
func BenchmarkPush(b *testing.B) {
	s := peertest.NewSite(b)
	for n := 0; b.Loop(); n++ {
		docs, diff := make([]string, 100), make([]string, 100)
		for i := range docs {
			hash := fmt.Sprintf("%032x", n*100+i+1)
			docs[i] = fmt.Sprintf(`{"_id":"doc%d-%d","_rev":"1-%s","_revisions":{"start":1,"ids":[%q]},"text":"a note"}`, n, i, hash, hash)
			diff[i] = fmt.Sprintf(`"doc%d-%d":["1-%s"]`, n, i, hash)
		}
		drained(s, "POST", "/notes/_revs_diff", "{"+strings.Join(diff, ",")+"}")
		drained(s, "POST", "/notes/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`],"new_edits":false}`)
	}
	b.ReportMetric(float64(b.N*100)/b.Elapsed().Seconds(), "docs/s")
}
