package sync_test

import (
	"net/url"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/sync/peertest"
)

func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	s.Put("a", `{}`)
	wrong := *s
	wrong.Auth[1] += "x"
	for _, c := range []struct {
		name         string
		site         *peertest.Site
		method, path string
		status       int
	}{
		{"nobody is up", s.Anybody(), "GET", "/_up", 200},
		{"nobody has a session", s.Anybody(), "GET", "/_session", 200},
		{"nobody reads", s.Anybody(), "GET", "/notes/a", 401},
		{"anybody is welcome", s.Anybody(), "GET", "/", 200},
		{"nobody finds a path", s.Anybody(), "GET", "/notes/_none/x/y", 401},
		{"a wrong secret", &wrong, "GET", "/notes/a", 401},
		{"a key without permissions", s.As("denomination"), "GET", "/notes/a", 403},
		{"a key that reads", s.As("denomination", "sync:GET"), "GET", "/notes/a", 200},
		{"a key that reads, of all", s.As("denomination", "sync:GET"), "GET", "/_all_dbs", 200},
		{"a key that reads, deleting", s.As("denomination", "sync:GET"), "DELETE", "/notes/a", 403},
		{"a key of an event", s.As("event:1", "sync:*"), "GET", "/notes/a", 403},
		{"a key of an event, writing", s.As("event:1", "sync:*"), "PUT", "/notes/b", 403},
		{"a key of an event, keeping a place", s.As("event:1", "sync:*"), "PUT", "/notes/_local/b", 403},
		{"a key of an event, of all", s.As("event:1", "sync:GET"), "GET", "/_all_dbs", 200},
		{"a key of an event, where there is no database", s.As("event:1", "sync:*"), "GET", "/none/a", 403},
		{"a key of all, where there is no database", s.As("denomination", "sync:*"), "GET", "/none/a", 404},
		{"a key that writes, deleting a database", s.As("denomination", "sync:*"), "DELETE", "/notes", 403},
		{"a key that writes, making one", s.As("denomination", "sync:*"), "PUT", "/more", 403},
		{"a key of a church that administers, making one", s.As("church:1", "admin:*", "sync:*"), "PUT", "/more", 403},
		{"a key that administers, making one", s.As("denomination", "admin:*", "sync:*"), "PUT", "/more", 201},
	} {
		a := c.site.Do(c.method, c.path, "")
		if a.Status != c.status || a.Status >= 400 && !strings.Contains(a.Body, `"error":"`) {
			t.Errorf("%s: %s %s = %d %s, want %d", c.name, c.method, c.path, a.Status, a.Body, c.status)
		}
		if c.status == 401 && a.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", c.name)
		}
	}
}

func TestASession(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	s.Put("a", `{}`)
	reader := s.As("denomination", "sync:GET")
	page := s.Anybody()
	form := url.Values{"name": {reader.Auth[0]}, "password": {reader.Auth[1]}}.Encode()
	page.Want(401, "POST", "/_session", `{"name":"x","password":"y"}`)
	page.Want(400, "POST", "/_session", `{`)
	page.Want(403, "POST", "/_session", form, "Content-Type", "application/x-www-form-urlencoded", "Origin", "https://evil.example")
	page.Want(200, "POST", "/_session", `{"name":"`+reader.Auth[0]+`","password":"`+reader.Auth[1]+`"}`)
	page.Want(200, "POST", "/_session", `{"username":"`+reader.Auth[0]+`","password":"`+reader.Auth[1]+`"}`)
	page.Want(200, "POST", "/_session", strings.Replace(form, "name=", "username=", 1), "Content-Type", "application/x-www-form-urlencoded")
	a := page.Want(200, "POST", "/_session", form, "Content-Type", "application/x-www-form-urlencoded")
	set := a.Header.Get("Set-Cookie")
	for _, want := range []string{"AuthSession=", "; Path=/sync", "; HttpOnly", "; SameSite=Strict", "; Max-Age="} {
		if !strings.Contains(set, want) {
			t.Errorf("Set-Cookie = %s, want %s", set, want)
		}
	}
	cookie, _, _ := strings.Cut(set, ";")
	page.Want(200, "GET", "/notes/a", "", "Cookie", cookie)
	page.Want(403, "PUT", "/notes/b", `{}`, "Cookie", cookie)
	page.Want(403, "GET", "/notes/a", "", "Cookie", cookie, "Origin", "https://evil.example")
	page.Want(403, "GET", "/notes/a", "", "Cookie", cookie, "Sec-Fetch-Site", "cross-site")
	page.Want(200, "GET", "/notes/a", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin", "Origin", strings.TrimSuffix(s.URL, "/sync"))
	forged := []byte(cookie)
	if at := len(forged) - 20; forged[at] == 'A' { // in the middle of the signature
		forged[at] = 'B'
	} else {
		forged[at] = 'A'
	}
	page.Want(401, "GET", "/notes/a", "", "Cookie", string(forged))
	page.Want(401, "GET", "/notes/a", "", "Cookie", "AuthSession=x")
	if a := page.Want(200, "GET", "/_session", "", "Cookie", cookie); !strings.Contains(a.Body, `"name":"`+reader.Auth[0]+`"`) || a.Header.Get("Set-Cookie") == "" {
		t.Errorf("_session = %s %v", a.Body, a.Header)
	}
	if a := page.Want(200, "GET", "/_session", ""); !strings.Contains(a.Body, `"name":null`) {
		t.Errorf("_session of nobody = %s", a.Body)
	}
	if a := page.Want(200, "DELETE", "/_session", "", "Cookie", cookie); !strings.Contains(a.Header.Get("Set-Cookie"), "AuthSession=;") {
		t.Errorf("ending a session = %v", a.Header)
	}
	p, err := s.Store.Keys.Login(reader.Auth[0], reader.Auth[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Store.Keys.RevokeKey(auth.Operator(), p.Key()); err != nil {
		t.Fatal(err)
	}
	page.Want(403, "GET", "/notes/a", "", "Cookie", cookie)
	reader.Want(403, "GET", "/notes/a", "")
	page.Want(403, "POST", "/_session", form, "Content-Type", "application/x-www-form-urlencoded")
}

// TestALoginThatCannotBeReadIsNobody: on a page for anybody; elsewhere it is refused, a session beside it or not.
func TestALoginThatCannotBeReadIsNobody(t *testing.T) {
	t.Parallel()
	s := peertest.NewSite(t)
	s.Auth = [2]string{}
	for _, header := range []string{"nonsense", "Bearer x", "Basic !", "Basic bm9jb2xvbg=="} {
		if a := s.Want(200, "GET", "/_session", "", "Authorization", header); !strings.Contains(a.Body, `"name":null`) {
			t.Errorf("with %s the session is %s", header, a.Body)
		}
		s.Want(401, "GET", "/notes", "", "Authorization", header)
	}
}
