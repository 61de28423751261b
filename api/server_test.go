package api_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"doorward/api"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// raw sends a request as it is written, and answers what came back.
func (s *site) raw(format string, values ...any) answer {
	s.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, strings.ReplaceAll(format, "\n", "\r\n"), values...)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func TestServerLeavesTooManyHeadersToNetHTTP(t *testing.T) {
	s := newSite(t)
	s.status(s.raw("GET /healthz HTTP/1.1\nHost: localhost\nX: %s\n\n", strings.Repeat("a", 80<<10)), 431)
}

// OPTIONS of * is about the server, which has no methods of its own: an unknown path, answered in JSON as any other.
func TestServerAnswersOptionsOfAnAsteriskInJSON(t *testing.T) {
	s := newSite(t)
	r, err := http.NewRequest("OPTIONS", s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(s.auth[0], s.auth[1])
	a := s.status(s.raw("OPTIONS * HTTP/1.1\nHost: localhost\nAuthorization: %s\n\n", r.Header.Get("Authorization")), 404)
	if a.body != `{"error":{"code":"NOT_FOUND","message":"Not found."}}` {
		t.Errorf("OPTIONS * = %s", a.body)
	}
	s.status(s.raw("OPTIONS * HTTP/1.1\nHost: localhost\n\n"), 401)
}

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
		for _, path := range []string{"/healthz", "/readyz"} {
			s.status(s.do("GET", path, "", host(h), anybody), 200)
		}
		s.status(s.do("GET", "/metrics", "", host(h), anybody), 421)
		s.status(s.do("GET", "/metrics/", "", host(h), header("Authorization", "Basic eDp5")), 401) // a page that rebinds its name can send this
		s.status(s.do("GET", "/metrics", "", host(h)), 200)
		s.status(s.do("GET", "/v1/people/", "", host(h)), 421)
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

// TestOnlyTrustedProxiesAreBelieved: Host and scheme of the links, and the address that failed logins are counted by.
func TestOnlyTrustedProxiesAreBelieved(t *testing.T) {
	store := kvtest.Open(t)
	for range 2 {
		kvtest.Create(t, store, record.Church, `{"name":"North"}`)
	}
	key, secret := kvtest.Key(t, store, "denomination", "*:*")
	s, err := api.New(api.Config{Store: store, TrustedProxies: []string{"10.0.0.0/8", "2001:db8::1"}, AllowedHosts: []string{"porta.example", "door.example"}, AuthFailures: 2})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(peer string, headers map[string]string, secret string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/admin/v1/church/?limit=1", nil)
		r.RemoteAddr, r.Host = peer, "door.example"
		r.SetBasicAuth(key, secret)
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w
	}
	sent := map[string]string{"X-Forwarded-Host": "evil.example, door.example, porta.example", "X-Forwarded-Proto": "http, http, https", "X-Forwarded-For": "192.0.2.9"}
	for _, c := range []struct{ name, peer, want string }{
		{"a trusted network", "10.1.2.3:999", "https://porta.example/"},
		{"a trusted address", "[2001:db8::1]:999", "https://porta.example/"},
		{"a mapped one", "[::ffff:10.1.2.3]:999", "https://porta.example/"},
		{"another machine", "192.0.2.1:999", "http://door.example/"},
		{"this machine, which was not named", "127.0.0.1:999", "http://door.example/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var page struct{ Next string }
			if w := ask(c.peer, sent, secret); w.Code != http.StatusOK || json.Unmarshal(w.Body.Bytes(), &page) != nil || !strings.HasPrefix(page.Next, c.want) {
				t.Errorf("answered %d %s, want links to %s", w.Code, w.Body, c.want)
			}
		})
	}
	if w := ask("10.1.2.3:1", map[string]string{"X-Forwarded-Host": "evil.example"}, secret); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("the Host that a proxy tells of is answered %d, want 421", w.Code)
	}
	if w := ask("192.0.2.1:1", map[string]string{"X-Forwarded-Host": "evil.example"}, secret); w.Code != http.StatusOK {
		t.Errorf("the Host that anybody tells of is answered %d, want 200", w.Code)
	}
	// One failure of a key and address: the second has to wait.
	for _, c := range []struct {
		name, peer, from string
		want             int
	}{
		{"a client behind a proxy", "10.1.2.3:1", "203.0.113.1", 401},
		{"the same behind two, with an address made up", "10.9.9.9:1", "198.51.100.1, 203.0.113.1, 10.0.0.7", 429},
		{"the same with its port", "10.1.2.3:1", "203.0.113.1:4711", 429},
		{"another client of that proxy", "10.1.2.3:1", "203.0.113.2", 401},
		{"a list that cannot be read is the proxy's own", "10.1.2.3:1", "203.0.113.2, unknown", 401},
		{"who is no proxy counts by its own address", "192.0.2.7:1", "203.0.113.3", 401},
		{"whatever it says", "192.0.2.7:1", "203.0.113.4", 429},
	} {
		if w := ask(c.peer, map[string]string{"X-Forwarded-For": c.from}, "wrong"); w.Code != c.want {
			t.Errorf("%s: answered %d, want %d", c.name, w.Code, c.want)
		}
	}
	for _, wrong := range []string{"proxy.example", "10.0.0.0/99", ""} {
		if _, err := api.New(api.Config{Store: store, TrustedProxies: []string{wrong}}); err == nil {
			t.Errorf("a trusted proxy %q is taken", wrong)
		}
	}
}

// TestALoopbackProxyOpensNoMetrics: what came through a proxy is no request from this machine, though the proxy is on it.
func TestALoopbackProxyOpensNoMetrics(t *testing.T) {
	s, err := api.New(api.Config{Store: kvtest.Open(t), TrustedProxies: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]int{"": 200, "127.0.0.1": 401, "203.0.113.1": 401} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.RemoteAddr, r.Host = "127.0.0.1:999", "localhost"
		if from != "" {
			r.Header.Set("X-Forwarded-For", from)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("metrics for %q = %d, want %d", from, w.Code, want)
		}
	}
}

// TestNothingFollowsABodyInChunks: a request that tells a length beside its chunks is the last of its connection.
func TestNothingFollowsABodyInChunks(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	paths := make(chan string, 2)
	server := api.HTTPServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { paths <- r.URL.Path }))
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	const within = "0\r\n\r\nGET /within HTTP/1.1\r\nHost: localhost\r\n\r\n"
	fmt.Fprintf(conn, "POST /outer HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n%s", len(within), within)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Error(err)
	}
	from := bufio.NewReader(conn)
	if _, err := http.ReadResponse(from, nil); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(from); len(rest) > 0 {
		t.Errorf("a second answer: %q, %v", rest, err)
	}
	_ = conn.Close() // it is closed at the other end
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-done
	close(paths)
	for p := range paths {
		if p != "/outer" {
			t.Errorf("%s was asked for", p)
		}
	}
}

func TestNewTakesOnlyHostsAndOriginsThatARequestCanName(t *testing.T) {
	store := kvtest.Open(t)
	for host, want := range map[string]bool{
		"porta.example": true, "PORTA.example.": true, "porta_2": true, "porta.example:8080": true, "10.0.0.7": true, "[fd00::7]": true, "[fd00::7]:80": true,
		"fd00::7": true, "xn--so-hia.example": true,
		"": false, "http://foo/": false, "foo/": false, "*.example": false, "a b": false, "me@porta.example": false, "são.example": false,
	} {
		if _, err := api.New(api.Config{Store: store, AllowedHosts: []string{"centro.example", host}}); (err == nil) != want {
			t.Errorf("New with the host %q = %v, want it taken: %t", host, err, want)
		}
	}
	for origin, want := range map[string]bool{
		"https://page.example": true, "HTTPS://Page.example": true, "http://localhost:3000": true, "http://[::1]:3000": true, "capacitor://localhost": true,
		"https://*.page.example": true, "https://page.example:443": true,
		"": false, "foo": false, "*": false, "page.example": false, "page.example:443": false, "http://x/path": false, "https://page.example/": false,
		"https://me@page.example": false, "https://page.example?q": false, "https://": false, "https://:443": false,
		"null": false, "https://*": false, "https://a.*.example": false, "https://*page.example": false,
	} {
		if _, err := api.New(api.Config{Store: store, CORSOrigins: []string{"https://a.example", origin}}); (err == nil) != want {
			t.Errorf("New with the origin %q = %v, want it taken: %t", origin, err, want)
		}
	}
}

func TestMetricsListenerAnswersNothingElse(t *testing.T) {
	server, err := api.New(api.Config{Store: kvtest.Open(t)})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]int{
		"GET /metrics": 200, "HEAD /metrics": 200, "POST /metrics": 405, "DELETE /metrics": 405, "GET /": 404, "GET /v1/people/": 404, "POST /v1/people/": 404,
	} {
		method, path, _ := strings.Cut(target, " ")
		w := httptest.NewRecorder()
		server.Metrics().ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != want || strings.Contains(w.Body.String(), "doorward_") != (want == 200) { // net/http keeps the body of a HEAD to itself
			t.Errorf("%s = %d %.60q, want %d", target, w.Code, w.Body, want)
		}
	}
}
