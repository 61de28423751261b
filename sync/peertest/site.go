package peertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/value"
	"doorward/sync"

	"github.com/oklog/ulid/v2"
)

// Site is a server over a real store on a real port, with a free database "notes" and a key that may do everything.
type Site struct {
	testing.TB
	Store *kv.Store
	URL   string
	Auth  [2]string
}

// NewSite starts a site.
func NewSite(t testing.TB) *Site {
	t.Helper()
	return NewSiteAs(t, sync.Config{Insecure: true}) // its peers are on this machine
}

// NewSiteAs starts a site with another configuration.
func NewSiteAs(t testing.TB, c sync.Config) *Site {
	t.Helper()
	s := &Site{TB: t, Store: kvtest.Open(t)}
	c.Store, c.Version = s.Store, "test"
	server, err := sync.New(c)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(server)
	t.Cleanup(srv.Close)
	t.Cleanup(server.Close) // first, so that feeds end
	s.URL = srv.URL + "/sync"
	s.Auth[0], s.Auth[1] = kvtest.Key(t, s.Store, "denomination", "*:*")
	if err := s.Store.Docs.CreateDatabase(auth.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	return s
}

// Leaf is a document of _bulk_docs with a path of hashes, the newest first.
func Leaf(id string, generation int, hashes ...string) string {
	return fmt.Sprintf(`{"_id":%q,"_rev":%q,"_revisions":{"start":%d,"ids":%s},"is":%q}`,
		id, fmt.Sprintf("%d-%s", generation, hashes[0]), generation, value.Texts(hashes...), hashes[0])
}

// Bring pushes revisions as they are.
func Bring(s *Site, docs ...string) {
	s.Helper()
	a := s.Want(201, "POST", "/notes/_bulk_docs", `{"new_edits":false,"docs":[`+strings.Join(docs, ",")+`]}`)
	if Shape(s, a.Body) != "[]" {
		s.Errorf("_bulk_docs = %s, want that all are taken", a.Body)
	}
}

// AsLaptop is the same site asked with the key of a laptop.
func (s *Site) AsLaptop(level string, v auth.Venue) *Site {
	s.Helper()
	l, err := auth.ParseLevel(level)
	if err != nil {
		s.Fatal(err)
	}
	v.Node = ulid.Make().String()
	spec := keys.KeySpec{Name: "laptop", Level: l, Permissions: []auth.Permission{{Resource: "sync", Method: "*"}}, Node: v}
	k, secret, err := s.Store.Keys.AddKey(auth.Operator(), spec)
	if err != nil {
		s.Fatal(err)
	}
	other := *s
	other.Auth = [2]string{k.Key, secret}
	return &other
}

// Anybody is the same site asked without a key.
func (s *Site) Anybody() *Site {
	other := *s
	other.Auth = [2]string{}
	return &other
}

var (
	hashes    = regexp.MustCompile(`[0-9a-f]{32}`)
	epochs    = regexp.MustCompile(`-[0-9A-HJKMNP-TV-Z]{26}`)
	instances = regexp.MustCompile(`"instance_start_time":"[0-9]+"`)
)

// Replaced replaces what differs from run to run.
func Replaced(text string) string {
	text = hashes.ReplaceAllString(text, "R")
	text = epochs.ReplaceAllString(text, "-E")
	return instances.ReplaceAllString(text, `"instance_start_time":"T"`)
}

// As is the same site asked with another key.
func (s *Site) As(level string, permissions ...string) *Site {
	s.Helper()
	other := *s
	other.Auth[0], other.Auth[1] = kvtest.Key(s, s.Store, level, permissions...)
	return &other
}

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Request makes a request with pairs of header names and values.
func (s *Site) Request(method, path, body string, headers ...string) *http.Request {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.Auth[0] != "" {
		r.SetBasicAuth(s.Auth[0], s.Auth[1])
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// Do asks and reads the whole answer.
func (s *Site) Do(method, path, body string, headers ...string) Answer {
	s.Helper()
	resp, err := http.DefaultClient.Do(s.Request(method, path, body, headers...))
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Errorf("%s %s: read: %v", method, path, err)
	}
	return Answer{resp.StatusCode, resp.Header, string(b)}
}

// Want asks and wants a status.
func (s *Site) Want(status int, method, path, body string, headers ...string) Answer {
	s.Helper()
	a := s.Do(method, path, body, headers...)
	if a.Status != status {
		s.Errorf("%s %s = %d %s, want %d", method, path, a.Status, a.Body, status)
	}
	return a
}

// Put writes a document and answers its revision.
func (s *Site) Put(id, body string) string {
	s.Helper()
	var w struct{ Rev string }
	a := s.Want(201, "PUT", "/notes/"+id, body)
	a.Into(s, &w)
	return w.Rev
}

// Into decodes the body.
func (a Answer) Into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), v); err != nil {
		t.Fatalf("body %.200s: %v", a.Body, err)
	}
}

// Shape is a JSON text without white space, with what differs from run to run replaced: revisions of 32 hex digits by R and a
// sequence's epoch by E.
func Shape(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	for line := range strings.Lines(text) {
		if err := json.Compact(&out, []byte(line)); err != nil {
			return Replaced(strings.ReplaceAll(text, "\n", ""))
		}
	}
	return Replaced(out.String())
}

// Broken is a reader that breaks off.
type Broken struct{}

// Read breaks off.
func (Broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Trip is a round trip of a client.
type Trip func(*http.Request) (*http.Response, error)

// RoundTrip makes an exchange.
func (f Trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Portal answers in the centre's place what is asked at some paths, as one does that says yes to everything; "" is all of them.
func Portal(paths, answer string, header http.Header) *http.Client {
	return &http.Client{Transport: Trip(func(r *http.Request) (*http.Response, error) {
		if !strings.Contains(r.URL.Path, paths) {
			return http.DefaultTransport.RoundTrip(r)
		}
		body := io.NopCloser(strings.NewReader(answer))
		return &http.Response{StatusCode: http.StatusOK, Header: header.Clone(), Body: body, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
	})}
}

// Strange is a server that answers {} to everything.
func Strange(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })) // the client may have left
	t.Cleanup(s.Close)
	return s.URL
}

// FieldsOf is which fields each revision of a record has changed, by its history: the first revision first.
func FieldsOf(t testing.TB, s *kv.Store, k *record.Kind, id int64) string {
	t.Helper()
	all, err := s.Desk.History(auth.Operator(), desk.Target{Surface: record.Admin, Kind: k, ID: record.Int(id)}, false)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, past := range slices.Backward(all) {
		slices.Sort(past.Fields)
		words = append(words, strings.Join(past.Fields, "+"))
	}
	return strings.Join(words, " | ")
}
