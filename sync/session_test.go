package sync_test

import (
	"net/url"
	"strings"
	"testing"

	"doorward/kv"
)

// anybody is the same site asked without a key.
func (s *site) anybody() *site {
	other := *s
	other.auth = [2]string{}
	return &other
}

func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put("a", `{}`)
	wrong := *s
	wrong.auth[1] += "x"
	for _, c := range []struct {
		name         string
		site         *site
		method, path string
		status       int
	}{
		{"nobody is up", s.anybody(), "GET", "/_up", 200},
		{"nobody has a session", s.anybody(), "GET", "/_session", 200},
		{"nobody reads", s.anybody(), "GET", "/notes/a", 401},
		{"anybody is welcome", s.anybody(), "GET", "/", 200},
		{"nobody finds a path", s.anybody(), "GET", "/notes/_none/x/y", 401},
		{"a wrong secret", &wrong, "GET", "/notes/a", 401},
		{"a key without permissions", s.as("denomination"), "GET", "/notes/a", 403},
		{"a key that reads", s.as("event:1", "sync:GET"), "GET", "/notes/a", 200},
		{"a key that reads, of all", s.as("event:1", "sync:GET"), "GET", "/_all_dbs", 200},
		{"a key that reads, deleting", s.as("event:1", "sync:GET"), "DELETE", "/notes/a", 403},
		{"a key that writes, deleting a database", s.as("denomination", "sync:*"), "DELETE", "/notes", 403},
		{"a key that writes, making one", s.as("denomination", "sync:*"), "PUT", "/more", 403},
		{"a key of a church that administers, making one", s.as("church:1", "admin:*", "sync:*"), "PUT", "/more", 403},
		{"a key that administers, making one", s.as("denomination", "admin:*", "sync:*"), "PUT", "/more", 201},
	} {
		a := c.site.do(c.method, c.path, "")
		if a.status != c.status || a.status >= 400 && !strings.Contains(a.body, `"error":"`) {
			t.Errorf("%s: %s %s = %d %s, want %d", c.name, c.method, c.path, a.status, a.body, c.status)
		}
		if c.status == 401 && a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", c.name)
		}
	}
}

func TestASession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put("a", `{}`)
	reader := s.as("event:1", "sync:GET")
	page := s.anybody()
	form := url.Values{"name": {reader.auth[0]}, "password": {reader.auth[1]}}.Encode()
	page.want(401, "POST", "/_session", `{"name":"x","password":"y"}`)
	page.want(400, "POST", "/_session", `{`)
	page.want(403, "POST", "/_session", form, "Content-Type", "application/x-www-form-urlencoded", "Origin", "https://evil.example")
	page.want(200, "POST", "/_session", `{"name":"`+reader.auth[0]+`","password":"`+reader.auth[1]+`"}`)
	a := page.want(200, "POST", "/_session", form, "Content-Type", "application/x-www-form-urlencoded")
	set := a.header.Get("Set-Cookie")
	for _, want := range []string{"AuthSession=", "; Path=/sync", "; HttpOnly", "; SameSite=Strict", "; Max-Age="} {
		if !strings.Contains(set, want) {
			t.Errorf("Set-Cookie = %s, want %s", set, want)
		}
	}
	cookie, _, _ := strings.Cut(set, ";")
	page.want(200, "GET", "/notes/a", "", "Cookie", cookie)
	page.want(403, "PUT", "/notes/b", `{}`, "Cookie", cookie)
	page.want(403, "GET", "/notes/a", "", "Cookie", cookie, "Origin", "https://evil.example")
	page.want(403, "GET", "/notes/a", "", "Cookie", cookie, "Sec-Fetch-Site", "cross-site")
	page.want(200, "GET", "/notes/a", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin", "Origin", strings.TrimSuffix(s.url, "/sync"))
	page.want(401, "GET", "/notes/a", "", "Cookie", cookie[:len(cookie)-2]+"AA")
	page.want(401, "GET", "/notes/a", "", "Cookie", "AuthSession=x")
	if a := page.want(200, "GET", "/_session", "", "Cookie", cookie); !strings.Contains(a.body, `"name":"`+reader.auth[0]+`"`) || a.header.Get("Set-Cookie") == "" {
		t.Errorf("_session = %s %v", a.body, a.header)
	}
	if a := page.want(200, "GET", "/_session", ""); !strings.Contains(a.body, `"name":null`) {
		t.Errorf("_session of nobody = %s", a.body)
	}
	if a := page.want(200, "DELETE", "/_session", "", "Cookie", cookie); !strings.Contains(a.header.Get("Set-Cookie"), "AuthSession=;") {
		t.Errorf("ending a session = %v", a.header)
	}
	p, err := s.store.Login(reader.auth[0], reader.auth[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.RevokeKey(kv.Operator(), p.Key()); err != nil {
		t.Fatal(err)
	}
	page.want(403, "GET", "/notes/a", "", "Cookie", cookie)
	reader.want(403, "GET", "/notes/a", "")
	page.want(403, "POST", "/_session", form, "Content-Type", "application/x-www-form-urlencoded")
}

// TestALoginThatCannotBeReadIsNobody: on a page for anybody; elsewhere it is refused, a session beside it or not.
func TestALoginThatCannotBeReadIsNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.auth = [2]string{}
	for _, header := range []string{"nonsense", "Bearer x", "Basic !", "Basic bm9jb2xvbg=="} {
		if a := s.want(200, "GET", "/_session", "", "Authorization", header); !strings.Contains(a.body, `"name":null`) {
			t.Errorf("with %s the session is %s", header, a.body)
		}
		s.want(401, "GET", "/notes", "", "Authorization", header)
	}
}
