package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"doorward/api"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

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
		r.RemoteAddr = "127.0.0.1:999"
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
