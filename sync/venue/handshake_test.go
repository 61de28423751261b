package venue_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/sync/venue"
)

// code is one that a laptop joins the event with.
func (w *town) code(name string) string {
	w.Helper()
	_, code, _, err := w.centre.Venues.Enrol(auth.Operator(), office.Enrolment{Name: name, Level: auth.Level{Name: auth.EventOf, IDs: []int64{w.event}}})
	if err != nil {
		w.Fatal(err)
	}
	return code
}

// enrolled is what a laptop is told that has exchanged its code; its secret is "secret".
func (w *town) enrolled(node string) office.Credential {
	w.Helper()
	c, err := w.centre.Venues.Exchange(w.code(node), office.Joiner{Node: node, Secret: keys.HashSecret("secret")})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// TestHandshakeIsForTheLaptopItself: nobody shakes hands in another's name.
func TestHandshakeIsForTheLaptopItself(t *testing.T) {
	w := newTown(t)
	const node, other = "01J00000000000000000000000", "01J00000000000000000000001"
	c := w.enrolled(node)
	page, pageSecret := kvtest.Key(t, w.centre, "denomination", "*:*")
	hello := func(realm, node, session string) string {
		return `{"realm":"` + realm + `","node":"` + node + `","session":"` + session + `","predecessor":"` + other + `","wants":["ticket","person","nothing"]}`
	}
	for name, ask := range map[string]struct {
		key, secret, body string
		status            int
	}{
		"the laptop":         {c.Key, "secret", hello(w.centre.Tables.Identity.Realm(), node, node), 200},
		"another laptop":     {c.Key, "secret", hello(w.centre.Tables.Identity.Realm(), other, node), 403},
		"another realm":      {c.Key, "secret", hello(other, node, node), 403},
		"no session":         {c.Key, "secret", hello(w.centre.Tables.Identity.Realm(), node, "x"), 400},
		"no JSON":            {c.Key, "secret", `{"realm":`, 400},
		"a wrong secret":     {c.Key, "guess", hello(w.centre.Tables.Identity.Realm(), node, node), 401},
		"a key of a page":    {page, pageSecret, hello(w.centre.Tables.Identity.Realm(), node, node), 403},
		"a body of no sense": {c.Key, "secret", `[]`, 400},
	} {
		status, body := w.post("/sync/_hello", ask.key, ask.secret, ask.body)
		if status != ask.status {
			t.Errorf("a handshake of %s = %d %s, want %d", name, status, body, ask.status)
		}
		if status == 200 && (!strings.Contains(body, `{"kind":"ticket","from":1,"to":100000}`) || strings.Contains(body, "person")) {
			t.Errorf("a handshake of %s = %s, want ids of tickets alone", name, body)
		}
	}
}

// TestASleepDuringAHandshakeIsNoOffset: the laptop sleeps for three hours while its question is on the way. The two clocks are right.
func TestASleepDuringAHandshakeIsNoOffset(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	sleeps := sync.OnceFunc(func() { w.later.Store(int64(3 * time.Hour)) })
	link := transport(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/_hello") {
			sleeps()
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	if _, err := venue.VisitOnce(t.Context(), venue.Config{Store: w.laptop}, &http.Client{Transport: link}, func() {}); err != nil {
		t.Fatal(err)
	}
	if c := w.laptop.Tables.Clock.Reading(); c.Measured.IsZero() || c.Offset.Abs() > time.Minute {
		t.Errorf("the clocks differ by %v, measured at %v; want a measurement, and no difference", c.Offset, c.Measured)
	}
}

// TestADatabaseOfALaterVersionIsLeftOut: a centre of a later version gives a database of a sort that this one does not know. All others are
// exchanged.
func TestADatabaseOfALaterVersionIsLeftOut(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.enrol(w.laptop)
	id := w.sell(w.centre, "first")
	link := transport(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || !strings.HasSuffix(r.URL.Path, "/_hello") {
			return resp, err
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		later := fmt.Sprintf(`"databases":[{"name":"event-%d-seats","push":true,"pull":true},`, w.event)
		resp.Body = io.NopCloser(strings.NewReader(strings.Replace(string(b), `"databases":[`, later, 1)))
		return resp, err
	})
	for range 2 { // the second also tells how far the first has come
		if _, err := venue.VisitOnce(t.Context(), venue.Config{Store: w.laptop}, &http.Client{Transport: link}, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	w.arrives(w.laptop, id)
}

// transport is a link that a function carries.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAStoppedStoreIsNoFaultOfTheLaptop: it is told to come again, not that it asks for nonsense.
func TestAStoppedStoreIsNoFaultOfTheLaptop(t *testing.T) {
	w := newTown(t)
	const node = "01J00000000000000000000000"
	c := w.enrolled(node)
	body := `{"realm":"` + w.centre.Tables.Identity.Realm() + `","node":"` + node + `","session":"01J00000000000000000000002","predecessor":"01J00000000000000000000001"}`
	if err := w.centre.Close(); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/sync/_hello", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(c.Key, "secret")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a handshake with a stopped store = %d, Retry-After %q, want 503 and when to come again", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
}

// TestWhatIsWrongWithABodyIsTold: four things, each by its own words.
func TestWhatIsWrongWithABodyIsTold(t *testing.T) {
	w := newTown(t)
	const node = "01J00000000000000000000000"
	c := w.enrolled(node)
	for body, want := range map[string]struct {
		status int
		reason string
	}{
		`{"realm":`:   {400, "invalid UTF-8 JSON"},
		`{"realm":7}`: {400, "of the shape that is wanted"},
		`{"realm":"` + strings.Repeat("x", 1<<20) + `"}`:                                                            {413, "too large"},
		`{"realm":"` + w.centre.Tables.Identity.Realm() + `","node":"` + node + `","session":"x","predecessor":""}`: {400, "The session is none"},
	} {
		if status, answer := w.post("/sync/_hello", c.Key, "secret", body); status != want.status || !strings.Contains(answer, want.reason) {
			t.Errorf("_hello %.60s = %d %s, want %d %s", body, status, answer, want.status, want.reason)
		}
	}
}

func (w *town) post(path, key, secret, body string) (int, string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.url+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	req.SetBasicAuth(key, secret)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	return resp.StatusCode, string(b)
}
