package api_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"doorward/api"

	"github.com/go-chi/chi/v5"
)

// parameters are those of a route's path.
var parameters = regexp.MustCompile(`\{[a-z_]+\}|\*$`)

// unsafeRoutes are the routes that can change something, each with a path in the place of its pattern.
func unsafeRoutes(t *testing.T, s *api.Server) (all [][2]string) {
	t.Helper()
	err := chi.Walk(s.Routes(), func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if method != http.MethodGet && method != http.MethodHead {
			all = append(all, [2]string{method, parameters.ReplaceAllString(pattern, "999")})
		}
		return nil
	})
	if err != nil || len(all) < 100 {
		t.Fatalf("the router has %d routes that can change something, %v", len(all), err)
	}
	return all
}

// TestOriginsOnEveryRoute sends each route the requests of pages of this site and of others, by
// whatever carries the key. The routes are those of the router.
func TestOriginsOnEveryRoute(t *testing.T) {
	s := newSite(t, func(c *api.Config) { c.CORSOrigins = []string{"https://page.example", "capacitor://localhost"} })
	carriers := map[string]option{"Basic": func(*call) {}, "a cookie": func(c *call) {
		c.anybody = true
		c.AddCookie(&http.Cookie{Name: "doorward_session", Value: s.auth[0] + ":" + s.auth[1]})
	}, "nothing": anybody}
	routes := unsafeRoutes(t, s.server)
	routes = append(routes, [2]string{"PUT", "/v1/people/"}, [2]string{"DELETE", "/healthz"}, [2]string{"POST", "/none"}, [2]string{"PROPFIND", "/"})
	for _, c := range []struct {
		name, site, origin string
		passes             bool
	}{
		{"another site", "cross-site", "", false},
		{"a sister site", "same-site", "http://127.0.0.1:1", false},
		{"another origin", "", "https://evil.example", false},
		{"another port", "", "http://127.0.0.1:1", false},
		{"no origin", "", "null", false},
		{"no origin of another site", "cross-site", "null", false},
		{"a listed origin", "cross-site", "https://page.example", true},
		{"a listed application", "", "capacitor://localhost", true},
		{"this site", "same-origin", s.url, true},
		{"this site, over plain http", "", s.url, true},
		{"a person", "none", "", true},
		{"no browser", "", "", true},
	} {
		from := func(c *call, name, value string) {
			if value != "" {
				c.Header.Set(name, value)
			}
		}
		page := option(func(r *call) { from(r, "Sec-Fetch-Site", c.site); from(r, "Origin", c.origin) })
		for by, carrier := range carriers {
			if c.passes && by != "nothing" {
				continue // it would be done
			}
			for _, rt := range routes {
				a := s.do(rt[0], rt[1], "{}", page, carrier, invalid)
				refused := a.status == http.StatusForbidden && strings.Contains(a.body, "cors_origins (--cors-origin)")
				if refused == c.passes || !c.passes && a.header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s %s from %s with %s = %d %s", rt[0], rt[1], c.name, by, a.status, a.body)
				}
			}
		}
	}
}

// TestOriginsListedGetNoSession: the cookie counts for pages of this server only, and a page of a
// listed origin begins no session.
func TestOriginsListedGetNoSession(t *testing.T) {
	s := newSite(t, func(c *api.Config) { c.CORSOrigins = []string{"https://page.example"} })
	cookie := header("Cookie", "doorward_session="+s.auth[0]+":"+s.auth[1])
	page, ours := header("Origin", "https://page.example"), header("Origin", s.url)
	s.status(s.do("POST", "/admin/v1/church/", `{"name":"A"}`, anybody, cookie, ours), 201)
	s.status(s.do("POST", "/admin/v1/church/", `{"name":"B"}`, page), 201)
	for _, a := range []answer{
		s.do("POST", "/admin/v1/church/", `{"name":"C"}`, anybody, cookie, page),
		s.do("POST", "/door/v1/session/", `{"key":"`+s.auth[0]+`","secret":"`+s.auth[1]+`"}`, anybody, page),
	} {
		if s.status(a, 403); strings.Contains(a.body, "cors_origins") || slices.Contains(a.header.Values("Access-Control-Allow-Credentials"), "true") {
			t.Errorf("the answer to a listed page with a session = %s %v", a.body, a.header)
		}
	}
}
