package api_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"doorward/api"
	"doorward/kv/record"
	"doorward/kv/table"
)

// What is judged before a route is known, and what a sister room gets of it.

func TestRequestHostMustBeOurs(t *testing.T) {
	s := newSite(t, func(c *api.Config) { c.PublicURL, c.AllowedHosts = "https://centre.example", []string{"other.example"} })
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ = strings.Cut(name, ".")
	for _, h := range []string{"localhost", "LOCALHOST:99", "127.0.0.1:1", "127.9.9.9", "[::1]:80", "centre.example", "Centre.Example:8443", "other.example.", name + ".local"} {
		s.status(s.do("GET", "/v1/people/", "", host(h)), 200)
	}
	for _, addr := range machineAddrs(t) {
		s.status(s.do("GET", "/v1/people/", "", host(net.JoinHostPort(addr, "80"))), 200)
	}
	for _, h := range []string{"evil.example", "localhost.evil.example", "192.0.2.1", "centre.example.evil", "[2001:db8::1]"} {
		a := s.status(s.do("GET", "/v1/people/", "", host(h), anybody), 421)
		if got := a.text(t, "error.message"); !strings.Contains(got, "allowed_hosts") {
			t.Errorf("message = %q, want the setting's name", got)
		}
		for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
			s.status(s.do("GET", path, "", host(h), anybody), 200)
		}
	}
}

// What a link repeats of the Host has been judged to its last character.
func TestRequestHostMustBeWellFormed(t *testing.T) {
	s := newSite(t)
	s.create(record.Role, `{"name":"A"}`)
	s.create(record.Role, `{"name":"B"}`)
	for _, h := range []string{
		"127.0.0.1:evil%22", "localhost:evil", "localhost:+80", "localhost:-1", "localhost:0", "localhost:65536", "localhost:8_0", "localhost:80:80", "localhost:80/x",
		"[::1", "[::1]x", "[::1]x:80", "[::1]:x", "::1", "::1]", "localhost]", "[localhost]", "[127.0.0.1]", "[::1%evil%22]:80", "[::1]]",
	} {
		if a := s.do("GET", "/admin/v1/role/?limit=1", "", host(h)); a.status != 421 {
			t.Errorf("Host %s = %d %s, want 421", h, a.status, a.body)
		}
	}
	for _, h := range []string{"localhost", "localhost:1", "localhost:65535", "localhost:", "127.0.0.1:080", "[::1]", "[::1]:8080", "[0:0::1]", "LocalHost.:80"} {
		a := s.status(s.do("GET", "/admin/v1/role/?limit=1", "", host(h)), 200)
		if want := "http://" + h + "/admin/v1/role/?limit=1&offset=1"; a.text(t, "next") != want {
			t.Errorf("Host %s: next = %s, want %s", h, a.text(t, "next"), want)
		}
	}
}

func machineAddrs(t *testing.T) []string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok {
			list = append(list, ip.IP.String())
		}
	}
	return list
}

func TestRequestIDIsEchoedOrMade(t *testing.T) {
	s := newSite(t)
	if got := s.do("GET", "/healthz", "", header("X-Request-Id", "abc-123")).header.Get("X-Request-Id"); got != "abc-123" {
		t.Errorf("X-Request-Id = %q, want the one sent", got)
	}
	seen := map[string]bool{}
	for _, sent := range []string{"", "with space", strings.Repeat("x", 129), "é"} {
		got := s.do("GET", "/v1/none/", "", header("X-Request-Id", sent)).header.Get("X-Request-Id")
		if got == "" || got == sent || seen[got] {
			t.Errorf("X-Request-Id of %.10q = %q, want a new one", sent, got)
		}
		seen[got] = true
	}
}

// A store that panics would be a bug; the server outlives it. Nothing here can make the store panic, so the recovery is shown on
// a handler of a sister room.
func TestRequestPanicIsAnInternalErrorLoggedOnce(t *testing.T) {
	var log strings.Builder
	s := newSite(t, logTo(&log))
	srv := serve(t, s.server.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })))
	a := s.at(srv).do("GET", "/sync/", "", header("X-Request-Id", "trace-me"))
	s.status(a, 500)
	if a.text(t, "error.code") != "INTERNAL_ERROR" || a.text(t, "error.details.request_id") != "trace-me" || strings.Contains(a.body, "boom") {
		t.Errorf("body = %s", a.body)
	}
	if n := strings.Count(log.String(), "request_id=trace-me"); n != 1 || !strings.Contains(log.String(), "boom") {
		t.Errorf("the log has it %d times: %s", n, log.String())
	}
}

// TestAnAnswerThatIsCutIsCounted: a sister room cuts the connection where an answer breaks off.
func TestAnAnswerThatIsCutIsCounted(t *testing.T) {
	s := newSite(t)
	srv := serve(t, s.server.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })))
	if resp, err := http.Get(srv + "/sync/"); err == nil { //nolint:noctx // it ends at once
		_ = resp.Body.Close()
		t.Error("the connection is not cut")
	}
	page := s.do("GET", "/metrics", "").body
	for _, line := range []string{"http_requests_in_flight 1\n", `http_requests_total{method="GET",route="unmatched"`} {
		if !strings.Contains(page, line) {
			t.Errorf("/metrics lacks %s", line)
		}
	}
}

// TestRequestWrapLeavesTheCallerToTheSister tells a handler behind Wrap who asks, and slows whoever guesses.
func TestRequestWrapLeavesTheCallerToTheSister(t *testing.T) {
	s := newSite(t, func(c *api.Config) { c.AuthFailures, c.CORSOrigins = 3, []string{"https://page.example"} })
	srv := serve(t, s.server.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, secret, _ := r.BasicAuth()
		p, err := s.server.Login(r, key, secret)
		if err == nil {
			err = s.server.Admit(w, p)
		}
		var slow interface{ RetryAfter() time.Duration }
		fmt.Fprint(w, err == nil, p.Key() > 0, errors.Is(err, table.ErrBadLogin), errors.As(err, &slow), r.URL.EscapedPath())
	})))
	at := s.at(srv)
	if a := at.do("GET", "/sync/a%2Fb", "", header("Origin", "https://page.example")); a.body != "true true false false/sync/a%2Fb" ||
		a.header.Get("Access-Control-Allow-Origin") != "https://page.example" || a.header.Get("Access-Control-Allow-Credentials") != "true" {
		t.Errorf("answer = %d %s %v", a.status, a.body, a.header)
	}
	if a := at.do("GET", "/sync/", "", header("Origin", "https://other.example")); a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another origin is told %v", a.header)
	}
	s.status(at.do("GET", "/sync/x", "", host("evil.example")), 421)
	for _, want := range []string{"false false true false", "false false true false", "false false true false", "false false false true"} {
		if a := at.do("GET", "/sync/", "", anybody); !strings.HasPrefix(a.body, want) {
			t.Errorf("answer to a guess = %s, want %s", a.body, want)
		}
	}
}
