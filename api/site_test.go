package api_test

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"doorward/api"
	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// site is a server over a real store on a real port, and a key that may do everything.
type site struct {
	testing.TB
	store  *kv.Store
	server *api.Server
	url    string
	auth   [2]string
}

// newSite starts a server over an empty store.
func newSite(t testing.TB, configure ...func(*api.Config)) *site {
	t.Helper()
	return newSiteOver(t, kvtest.Open(t), configure...)
}

func newSiteOver(t testing.TB, store *kv.Store, configure ...func(*api.Config)) *site {
	t.Helper()
	c := api.Config{Store: store, Version: "test"}
	for _, f := range configure {
		f(&c)
	}
	s, err := api.New(c)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = api.HTTPServer(s.Handler())
	srv.Start()
	t.Cleanup(srv.Close)
	key, secret := kvtest.Key(t, store, "denomination", "*:*")
	return &site{TB: t, store: store, server: s, url: srv.URL, auth: [2]string{key, secret}}
}

// as is the same site asked with another key.
func (s *site) as(level string, permissions ...string) *site {
	s.Helper()
	other := *s
	other.auth[0], other.auth[1] = kvtest.Key(s, s.store, level, permissions...)
	return &other
}

// with is the same site in a subtest.
func (s *site) with(t testing.TB) *site {
	other := *s
	other.TB = t
	return &other
}

// create makes a record on the admin surface and answers its id.
func (s *site) create(k *record.Kind, body string) int64 {
	s.Helper()
	return kvtest.Create(s, s.store, k, body)
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// option changes a request before it is sent.
type option func(*call)

type call struct {
	*http.Request
	invalid bool // breaks the document on purpose
	anybody bool // is sent without a key
}

func invalid(c *call) { c.invalid = true }
func anybody(c *call) { c.anybody = true }

func header(name, value string) option {
	return func(c *call) { c.Header[http.CanonicalHeaderKey(name)] = []string{value} }
}

func host(name string) option { return func(c *call) { c.Host = name } }

// do sends a request and holds it and its answer against the OpenAPI document. A body is JSON unless an option says otherwise.
func (s *site) do(method, path, body string, options ...option) answer {
	s.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequest(method, s.url+path, reader)
	if err != nil {
		s.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	c := &call{Request: r}
	for _, o := range options {
		o(c)
	}
	if !c.anybody && r.Header.Get("Authorization") == "" {
		r.SetBasicAuth(s.auth[0], s.auth[1])
	}
	return s.send(c, body)
}

func (s *site) send(c *call, body string) answer {
	s.Helper()
	input := s.validated(c, body)
	resp, err := http.DefaultTransport.RoundTrip(c.Request)
	if err != nil {
		s.Fatalf("%s %s: %v", c.Method, c.URL.Path, err)
	}
	defer resp.Body.Close()
	b, err := bodyOf(resp)
	if err != nil {
		s.Fatalf("%s %s: read: %v", c.Method, c.URL.Path, err)
	}
	a := answer{resp.StatusCode, resp.Header, string(b)}
	s.conforms(c, input, a)
	return a
}

// bodyOf reads an answer; of a stream, its first event.
func bodyOf(resp *http.Response) (b []byte, err error) {
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		return io.ReadAll(resp.Body)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && lines.Text() != "" {
		b = append(append(b, lines.Bytes()...), '\n')
	}
	return b, lines.Err()
}

// The accessors of an answer fail the test where the body is something else.

func (s *site) status(a answer, want int) answer {
	s.Helper()
	if a.status != want {
		s.Fatalf("status = %d, want %d: %s", a.status, want, a.body)
	}
	return a
}

// value is a member of the body, by its path: "error.details.email.0".
func (a answer) value(t testing.TB, path string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(a.body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("body %q: %v", a.body, err)
	}
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			var i int
			if err := json.Unmarshal([]byte(name), &i); err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// text is a member of the body as text; "" where it is null or absent.
func (a answer) text(t testing.TB, path string) string {
	t.Helper()
	switch v := a.value(t, path).(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	default:
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

// logTo lets a site log into a builder.
func logTo(b *strings.Builder) func(*api.Config) {
	return func(c *api.Config) { c.Logger = slog.New(slog.NewTextHandler(b, nil)) }
}

// serve starts a handler on a port of its own.
func serve(t testing.TB, h http.Handler) string {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// at is the same site behind another address.
func (s *site) at(url string) *site {
	other := *s
	other.url = url
	return &other
}

// same tells whether two JSON texts mean the same.
func same(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}
