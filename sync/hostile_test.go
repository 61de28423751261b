package sync_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// TestHalfARequestChangesNothing cuts requests off in the middle.
func TestHalfARequestChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct{ method, path, media, body string }{
		{"PUT", "/notes/doc", "application/json", `{"a":1`},
		{"PUT", "/notes/doc/a", "text/plain", "half an attachm"},
		{"POST", "/notes/_bulk_docs", "application/json", `{"docs":[{"_id":"doc"},`},
		{"POST", "/notes/_bulk_docs", "application/json", `{"docs":[{"_id":"doc"}]`},
		{"PUT", "/notes/doc", `multipart/related; boundary="x"`, "--x\r\nContent-Type: application/json\r\n\r\n{\"_attachments\":{\"a\":{\"follows\":true}}}\r\n--x\r\n\r\nhalf"},
	} {
		for _, chunked := range []bool{false, true} {
			head := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(c.body)+10, c.body)
			if chunked {
				head = fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(c.body), c.body)
			}
			r := s.request(c.method, c.path, "")
			address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/sync")
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "%s /sync%s HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\nContent-Type: %s\r\n%s",
				c.method, c.path, address, r.Header.Get("Authorization"), c.media, head)
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if answer, err := io.ReadAll(conn); err != nil || len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/1.1 4") {
				t.Errorf("%s %s (chunked %v) = %.300s, %v", c.method, c.path, chunked, answer, err)
			}
			_ = conn.Close()
		}
	}
	if a := s.want(200, "GET", "/notes", ""); !strings.Contains(a.body, `"doc_count":0`) {
		t.Errorf("the database is %s", a.body)
	}
}

func TestHostileBodies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"PUT", "/notes/x", deep(9_000), 400},
		{"PUT", "/notes/x", deep(100_000), 400},
		{"POST", "/notes/_changes?filter=_selector", `{"selector":` + deep(9_000) + `}`, 200},
		{"POST", "/notes/_changes?filter=_selector", `{"selector":` + deep(100_000) + `}`, 400},
		{"POST", "/notes/_revs_diff", `{"a":["` + strings.Repeat("9", 100_000) + `-x"]}`, 200},
		{"POST", "/notes/_bulk_get", `{"docs":[7]}`, 400},
		{"POST", "/notes/_bulk_docs", `{"docs":{}}`, 400},
		{"PUT", "/notes/x?rev=18446744073709551616-" + strings.Repeat("0", 32), `{}`, 400},
		{"PUT", "/notes/x", "{\"a\":\"\xff\"}", 400},
		{"PUT", "/notes/x%00y", `{}`, 400},
		{"PUT", "/notes/x%ff", `{}`, 400},
		{"PUT", "/notes/" + strings.Repeat("x", 1025), `{}`, 400},
		{"GET", "/notes/_changes?limit=99999999999999999999", "", 400},
		{"GET", "/notes/_changes?since=99999999999999999999-" + s.store.Epoch(), "", 200},
	} {
		if a := s.do(c.method, c.path, c.body); a.status != c.status {
			t.Errorf("%s %.60s %.40s = %d %.200s, want %d", c.method, c.path, c.body, a.status, a.body, c.status)
		}
	}
	if a := s.want(200, "GET", "/notes", ""); !strings.Contains(a.body, `"doc_count":0`) {
		t.Errorf("the database is %s", a.body)
	}
}

// TestADocumentBranchesNotForEver: one leaf too many is refused, alone, in the words that clients of the protocol go on after.
func TestADocumentBranchesNotForEver(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	leaf := func(n int) string { return fmt.Sprintf(`{"_id":"a","_rev":"1-%032x"}`, n) }
	var docs []string
	for n := range 501 {
		docs = append(docs, leaf(n))
	}
	docs = append(docs, `{"_id":"b","_rev":"1-`+strings.Repeat("0", 32)+`"}`)
	refused := fmt.Sprintf(`[{"id":"a","rev":"1-%032x","error":"forbidden",`, 500)
	if a := s.want(201, "POST", "/notes/_bulk_docs", `{"new_edits":false,"docs":[`+strings.Join(docs, ",")+`]}`); !strings.HasPrefix(a.body, refused) || strings.Count(a.body, `"id"`) != 1 {
		t.Errorf("_bulk_docs = %.300s, want %s and nothing else", a.body, refused)
	}
	if a := s.want(403, "PUT", "/notes/a?new_edits=false", leaf(501)); !strings.Contains(a.body, `"error":"forbidden"`) {
		t.Errorf("PUT = %s", a.body)
	}
	s.want(200, "GET", "/notes/b", "")
}
