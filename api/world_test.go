package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"doorward/api"
	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// The helpers of this package's tests:
//
//	newSite     a server over an empty store, with a key that may do everything; do asks it, and status and value look at the answer
//	as, with    the same site with another key, or for another test
//	newWorld    a site with a small congregation; personPath, eventPath … are the paths of its records
//	wire        a client for many requests from any goroutine
//	validated   holds each request of a site and its answer against the OpenAPI document

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

// world is a small congregation: two regionals, three churches, and something of everything in the first.
type world struct {
	*site
	regional, otherRegional    int64
	church, sister, far        int64 // sister is of the same regional, far of the other one
	account, supplier          int64
	category, subcategory      int64
	group, openGroup, farGroup int64 // openGroup has no church
	person, farPerson, nomad   int64 // nomad has no church
	event, farEvent, openEvent int64
	entry, farEntry            int64
}

func newWorld(t testing.TB, configure ...func(*api.Config)) *world {
	t.Helper()
	return settle(newSite(t, configure...))
}

// settle fills an empty site.
func settle(s *site) *world {
	s.Helper()
	w := &world{site: s}
	w.regional, w.otherRegional = s.create(record.Regional, `{"name":"North"}`), s.create(record.Regional, `{"name":"South"}`)
	church := func(name string, regional int64) int64 {
		return s.create(record.Church, fmt.Sprintf(`{"name":%q,"regional_id":%d}`, name, regional))
	}
	w.church, w.sister, w.far = church("Centre", w.regional), church("Hill", w.regional), church("Coast", w.otherRegional)
	w.account = s.create(record.FinancialAccount, `{"name":"Bank","currency":"BRL"}`)
	w.supplier = s.create(record.Supplier, `{"name":"Paper Ltd","document":"123"}`)
	w.category = s.create(record.Category, `{"name":"Office"}`)
	w.subcategory = s.create(record.Subcategory, fmt.Sprintf(`{"name":"Paper","category_id":%d}`, w.category))
	in := func(k *record.Kind, name, value string, church int64) int64 {
		if church == 0 {
			return s.create(k, fmt.Sprintf(`{%q:%q}`, name, value))
		}
		return s.create(k, fmt.Sprintf(`{%q:%q,"church_id":%d}`, name, value, church))
	}
	w.group, w.openGroup, w.farGroup = in(record.Group, "name", "Choir", w.church), in(record.Group, "name", "All", 0), in(record.Group, "name", "Surf", w.far)
	w.person, w.farPerson, w.nomad = in(record.Person, "full_name", "Ana Souza", w.church), in(record.Person, "full_name", "Bia Lima", w.far), in(record.Person, "full_name", "Noa", 0)
	event := func(church int64) int64 { return in(record.Event, "start_datetime", "2030-05-01T12:00:00Z", church) }
	w.event, w.farEvent, w.openEvent = event(w.church), event(w.far), event(0)
	w.entry, w.farEntry = s.create(record.FinancialEntry, w.entryOf(w.church)), s.create(record.FinancialEntry, w.entryOf(w.far))
	return w
}

// entryOf is the smallest financial entry of a church.
func (w *world) entryOf(church int64) string {
	return fmt.Sprintf(`{"transaction_type":"income","financial_account_id":%d,"base_amount":"10.00","church_id":%d,"supplier_id":%d}`,
		w.account, church, w.supplier)
}

// ticket makes a ticket of an event, with further members of its form.
func (w *world) ticket(event int64, code, members string) int64 {
	w.Helper()
	if members != "" {
		members = "," + members
	}
	return w.create(record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":%q,"holder_name":"Ana Souza"%s}`, event, code, members))
}

// Paths of single records.
func personPath(id int64) string  { return fmt.Sprintf("/v1/people/%d/", id) }
func entryPath(id int64) string   { return fmt.Sprintf("/v1/financial_entries/%d/", id) }
func eventPath(id int64) string   { return fmt.Sprintf("/v1/event/%d/", id) }
func groupPath(id int64) string   { return fmt.Sprintf("/v1/group/%d/", id) }
func membersPath(id int64) string { return fmt.Sprintf("/v1/group/%d/memberships/", id) }
func checkinPath(id int64) string { return fmt.Sprintf("/v1/event/%d/checkin/", id) }

func adminPath(kind string, id int64) string { return fmt.Sprintf("/admin/v1/%s/%d/", kind, id) }

// wire is a client with connections of its own. Unlike a site it holds nothing against the OpenAPI document, and it may be used
// from any goroutine: for tests of many requests.
type wire struct {
	testing.TB
	url    string
	auth   [2]string
	client *http.Client
}

func (s *site) wire() *wire {
	s.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	s.Cleanup(transport.CloseIdleConnections)
	return &wire{TB: s.TB, url: s.url, auth: s.auth, client: &http.Client{Transport: transport}}
}

// ask sends a request with pairs of header names and values. An answer that does not come fails the test and has status 0.
func (w *wire) ask(method, path, body string, headers ...string) answer {
	r, err := http.NewRequest(method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.Errorf("%s %s: %v", method, path, err)
		return answer{}
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r.SetBasicAuth(w.auth[0], w.auth[1])
	resp, err := w.client.Do(r)
	if err != nil {
		w.Errorf("%s %s: %v", method, path, err)
		return answer{}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Errorf("%s %s: read: %v", method, path, err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// validated holds a request against the document and answers what its answer must be held against; nil for a path or a method
// that the document does not know.
func (s *site) validated(c *call, body string) *openapi3filter.RequestValidationInput {
	s.Helper()
	route, parameters := operationOf(s.document(), c.Method, c.URL.Path)
	if route == nil {
		return nil
	}
	input := &openapi3filter.RequestValidationInput{
		Request: c.Request, PathParams: parameters, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if c.invalid || c.Method == http.MethodHead {
		return input
	}
	sent := c.Request
	probe := c.Request.Clone(c.Context())
	if body != "" {
		probe.Body = io.NopCloser(strings.NewReader(body))
	}
	input.Request = probe
	if err := openapi3filter.ValidateRequest(c.Context(), input); err != nil {
		s.Errorf("%s %s: the request breaks the document: %v", c.Method, c.URL.Path, err)
	}
	input.Request = sent
	return input
}

// conforms holds an answer against the document: the operation's own where there is one, otherwise the error envelope.
func (s *site) conforms(c *call, input *openapi3filter.RequestValidationInput, a answer) {
	s.Helper()
	if input == nil {
		s.isEnvelope(c, a)
		return
	}
	response := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: a.status, Header: a.header, Options: input.Options,
		Body: io.NopCloser(strings.NewReader(a.body)),
	}
	if err := openapi3filter.ValidateResponse(c.Context(), response); err != nil {
		s.Errorf("%s %s: the answer %d %s breaks the document: %v", c.Method, c.URL, a.status, a.body, err)
	}
}

// isEnvelope checks an error that belongs to no operation.
func (s *site) isEnvelope(c *call, a answer) {
	s.Helper()
	if a.status < 400 || c.Method == http.MethodHead {
		return
	}
	var body struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || body.Error.Code == "" || body.Error.Message == "" {
		s.Errorf("%s %s: %d %q is no error envelope", c.Method, c.URL.Path, a.status, a.body)
	}
}

// documents are read once a process: every site has the same one.
var documents struct {
	once sync.Once
	doc  *openapi3.T
	err  error
}

func (s *site) document() *openapi3.T {
	s.Helper()
	documents.once.Do(func() {
		openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.PlainBodyDecoder)
		w := httptest.NewRecorder() // a site may be asked at the address of another server
		s.server.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+s.server.Prefix()+"/openapi.json", nil))
		if documents.err = fmt.Errorf("%d %s", w.Code, w.Body); w.Code == http.StatusOK {
			documents.doc, documents.err = openapi3.NewLoader().LoadFromData(w.Body.Bytes())
		}
	})
	if documents.err != nil {
		s.Fatalf("read /openapi.json: %v", documents.err)
	}
	return documents.doc
}

// operationOf finds a request's operation in the document; both spellings of a path are the same.
func operationOf(doc *openapi3.T, method, path string) (*routers.Route, map[string]string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for pattern, item := range doc.Paths.Map() {
		parameters, ok := matches(strings.Split(strings.TrimSuffix(pattern, "/"), "/"), segments)
		if op := item.GetOperation(method); ok && op != nil {
			return &routers.Route{Spec: doc, Path: pattern, PathItem: item, Method: method, Operation: op}, parameters
		}
	}
	return nil, nil
}

func matches(pattern, segments []string) (map[string]string, bool) {
	if len(pattern) != len(segments) {
		return nil, false
	}
	parameters := map[string]string{}
	for i, p := range pattern {
		if name, ok := strings.CutPrefix(p, "{"); ok {
			parameters[strings.TrimSuffix(name, "}")] = segments[i]
		} else if p != segments[i] {
			return nil, false
		}
	}
	return parameters, true
}
