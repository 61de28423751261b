package sync_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"doorward/api"
	"doorward/kv/kvtest"
	"doorward/sync"

	"github.com/go-chi/chi/v5"
)

// gated is a server behind the API's gate, as serve puts it there.
type gated struct {
	testing.TB
	url    string
	auth   [2]string
	routes [][2]string // those that can change something: the method, and a path in the place of the pattern
}

// parameters are those of a route's path.
var parameters = regexp.MustCompile(`\{[a-z]+\}|\*$`)

func newGated(t *testing.T, origins ...string) *gated {
	t.Helper()
	store := kvtest.Open(t)
	site, err := api.New(api.Config{Store: store, CORSOrigins: origins})
	if err != nil {
		t.Fatal(err)
	}
	server, err := sync.New(sync.Config{Store: store, Gate: site})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(site.Wrap(server))
	t.Cleanup(srv.Close)
	t.Cleanup(server.Close)
	g := &gated{TB: t, url: srv.URL}
	g.auth[0], g.auth[1] = kvtest.Key(t, store, "denomination", "*:*")
	err = chi.Walk(server.Routes(), func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if method != http.MethodGet && method != http.MethodHead {
			g.routes = append(g.routes, [2]string{method, parameters.ReplaceAllString(pattern, "none")})
		}
		return nil
	})
	if err != nil || len(g.routes) < 30 {
		t.Fatalf("the router has %d routes that can change something, %v", len(g.routes), err)
	}
	return g
}

// do asks with pairs of header names and values, of which empty ones are left out, and returns the
// status and the body.
func (g *gated) do(method, path string, body io.Reader, headers ...string) (int, string) {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), method, g.url+path, body)
	if err != nil {
		g.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		g.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		g.Errorf("%s %s: read: %v", method, path, err)
	}
	return resp.StatusCode, string(text)
}

// basic is the header of the server's key.
func (g *gated) basic() string {
	r := &http.Request{Header: http.Header{}}
	r.SetBasicAuth(g.auth[0], g.auth[1])
	return r.Header.Get("Authorization")
}

// TestOriginsOnEveryRoute sends each route the requests of pages of this site and of others. The
// routes are those of the router.
func TestOriginsOnEveryRoute(t *testing.T) {
	t.Parallel()
	g := newGated(t, "https://page.example", "capacitor://localhost")
	for _, c := range []struct {
		name, site, origin string
		passes             bool
	}{
		{"another site", "cross-site", "", false},
		{"a sister site", "same-site", "http://127.0.0.1:1", false},
		{"another origin", "", "https://evil.example", false},
		{"another port", "", "http://127.0.0.1:1", false},
		{"no origin", "", "null", false},
		{"a listed origin", "cross-site", "https://page.example", true},
		{"a listed application", "", "capacitor://localhost", true},
		{"this site", "same-origin", g.url, true},
		{"this site, over plain http", "", g.url, true},
		{"a person", "none", "", true},
		{"no browser", "", "", true},
	} {
		for _, rt := range g.routes {
			for _, key := range []string{"", g.basic()} {
				if c.passes && key != "" {
					continue // it would be done
				}
				status, body := g.do(rt[0], rt[1], strings.NewReader("{}"), "Content-Type", "application/json", "Sec-Fetch-Site", c.site, "Origin", c.origin, "Authorization", key)
				if refused := status == http.StatusForbidden && strings.Contains(body, "cors_origins (--cors-origin)"); refused == c.passes {
					t.Errorf("%s %s from %s = %d %s", rt[0], rt[1], c.name, status, body)
				}
			}
		}
	}
}

// TestMediaTypesOnEveryRoute sends each route bodies of types that pages of other sites can send, and
// of those that it takes.
func TestMediaTypesOnEveryRoute(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	const form, related = "application/x-www-form-urlencoded", "multipart/related; boundary=x"
	for _, rt := range g.routes {
		method, path := rt[0], rt[1]
		lines := path == "/sync/none/_feed" || path == "/sync/_stick"
		for media, taken := range map[string]bool{
			"": false, "text/plain": false, "text/plain;charset=UTF-8": false, "multipart/form-data; boundary=x": false, "application/jsonx": false, "image/png": false,
			form:                            path == "/sync/_session",
			related:                         path == "/sync/none/none" || path == "/sync/none/_design/none",
			"application/x-ndjson":          lines,
			"application/json":              !lines,
			"Application/JSON; charset=utf": !lines,
		} {
			if strings.HasSuffix(path, "/none/none/none") || strings.HasSuffix(path, "/_design/none/none") {
				taken = true // an attachment
			}
			for length, body := range map[string]io.Reader{"known": strings.NewReader("[]"), "unknown": io.MultiReader(strings.NewReader("[]"))} {
				packing := ""
				if lines {
					packing = "zstd" // without it lines are refused by the same word
				}
				status, answer := g.do(method, path, body, "Content-Type", media, "Content-Encoding", packing, "Authorization", g.basic())
				if refused := status == http.StatusUnsupportedMediaType && strings.Contains(answer, "bad_content_type"); refused == taken {
					t.Errorf("%s %s with %q of %s length = %d %s, want it taken: %t", method, path, media, length, status, answer, taken)
				}
			}
		}
	}
	for _, body := range []io.Reader{nil, io.MultiReader()} { // of known and of unknown length
		if status, answer := g.do("POST", "/sync/none/_compact", body, "Content-Type", "text/plain", "Authorization", g.basic()); status != http.StatusNotFound {
			t.Errorf("_compact without a body = %d %s", status, answer)
		}
	}
}
