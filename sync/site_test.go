package sync_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/sync"
)

// site is a server over a real store on a real port, with a free database "notes" and a key that may do everything.
type site struct {
	testing.TB
	store *kv.Store
	url   string
	auth  [2]string
}

func newSite(t testing.TB) *site {
	t.Helper()
	return newSiteAs(t, sync.Config{Insecure: true}) // its peers are on this machine
}

func newSiteAs(t testing.TB, c sync.Config) *site {
	t.Helper()
	s := &site{TB: t, store: kvtest.Open(t)}
	c.Store, c.Version = s.store, "test"
	server, err := sync.New(c)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(server)
	t.Cleanup(srv.Close)
	t.Cleanup(server.Close) // first, so that feeds end
	s.url = srv.URL + "/sync"
	s.auth[0], s.auth[1] = kvtest.Key(t, s.store, "denomination", "*:*")
	if err := s.store.CreateDatabase(kv.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	return s
}

// as is the same site asked with another key.
func (s *site) as(level string, permissions ...string) *site {
	s.Helper()
	other := *s
	other.auth[0], other.auth[1] = kvtest.Key(s, s.store, level, permissions...)
	return &other
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// request makes a request with pairs of header names and values.
func (s *site) request(method, path, body string, headers ...string) *http.Request {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.auth[0] != "" {
		r.SetBasicAuth(s.auth[0], s.auth[1])
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// do asks and reads the whole answer.
func (s *site) do(method, path, body string, headers ...string) answer {
	s.Helper()
	resp, err := http.DefaultClient.Do(s.request(method, path, body, headers...))
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Errorf("%s %s: read: %v", method, path, err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// want asks and wants a status.
func (s *site) want(status int, method, path, body string, headers ...string) answer {
	s.Helper()
	a := s.do(method, path, body, headers...)
	if a.status != status {
		s.Errorf("%s %s = %d %s, want %d", method, path, a.status, a.body, status)
	}
	return a
}

// put writes a document and answers its revision.
func (s *site) put(id, body string) string {
	s.Helper()
	var w struct{ Rev string }
	a := s.want(201, "PUT", "/notes/"+id, body)
	a.into(s, &w)
	return w.Rev
}

// into decodes the body.
func (a answer) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		t.Fatalf("body %.200s: %v", a.body, err)
	}
}

// shape is a JSON text without white space, with what differs from run to run replaced: revisions of 32 hex digits by R and a
// sequence's epoch by E.
func shape(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	for line := range strings.Lines(text) {
		if err := json.Compact(&out, []byte(line)); err != nil {
			return replaced(strings.ReplaceAll(text, "\n", ""))
		}
	}
	return replaced(out.String())
}
