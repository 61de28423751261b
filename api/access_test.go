package api_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"doorward/api"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// The rows of contract.md §7.

func TestAccessCredentialsAreReadGenerously(t *testing.T) {
	s := newSite(t)
	pair := s.auth[0] + ":" + s.auth[1]
	padded := base64.StdEncoding.EncodeToString([]byte(pair))
	for _, value := range []string{"Basic " + padded, "basic " + padded, "BASIC  " + padded, "Basic " + base64.RawStdEncoding.EncodeToString([]byte(pair))} {
		s.status(s.do("GET", "/v1/people/", "", header("Authorization", value)), 200)
	}
	for _, plain := range []string{pair + " ", pair + ":x", s.auth[0], ":" + s.auth[1], ""} {
		value := "Basic " + base64.StdEncoding.EncodeToString([]byte(plain))
		s.status(s.do("GET", "/v1/people/", "", header("Authorization", value)), 401)
	}
}

func TestAccessExpiryIsJudgedOnEveryRequest(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	s := newSiteOver(t, kvtest.OpenConfig(t, table.Config{Clock: clock.Now}))
	a := s.status(s.do("POST", "/admin/v1/keys/", `{"name":"short","level":"denomination","permissions":[],"expires_at":"2026-01-01T01:00:00Z"}`), 201)
	short := *s
	short.auth = [2]string{a.text(t, "key"), a.text(t, "secret")}
	s.status(short.do("GET", "/v1/people/", ""), 200)
	clock.Move(time.Hour)
	if a := s.status(short.do("GET", "/v1/people/", ""), 401); strings.Contains(string(a.body), "expired") {
		t.Errorf("an answer of /v1 tells %s of an expired key", a.body)
	}
	for secret, told := range map[string]bool{short.auth[1]: true, "guess": false} { // the page /login says it to whoever has the secret
		a, _ := s.signIn(`{"key":"` + short.auth[0] + `","secret":"` + secret + `"}`)
		if s.status(a, 401); strings.Contains(string(a.body), `"expired":true`) != told {
			t.Errorf("a session with the secret %s is answered %s, want that the key has expired: %t", secret, a.body, told)
		}
	}
}

func TestAccessRevocationCountsFromTheNextRequest(t *testing.T) {
	s := newSite(t)
	a := s.status(s.do("POST", "/admin/v1/keys/", `{"name":"gone","level":"denomination","permissions":[]}`), 201)
	gone := *s
	gone.auth = [2]string{a.text(t, "key"), a.text(t, "secret")}
	s.status(gone.do("GET", "/v1/people/", ""), 200)
	s.status(s.do("DELETE", "/admin/v1/keys/"+a.text(t, "id")+"/", ""), 204)
	s.status(gone.do("GET", "/v1/people/", ""), 401)
}

func TestAccessByLevel(t *testing.T) {
	w := newWorld(t)
	w.create(record.Membership, fmt.Sprintf(`{"person":%d,"group_id":%d}`, w.person, w.group))
	w.create(record.Membership, fmt.Sprintf(`{"person":%d,"group_id":%d}`, w.farPerson, w.openGroup))
	all := []string{"people", "financial_entries", "event", "group"}
	for level, want := range map[string][][]int64{
		"denomination":                         {{w.person, w.farPerson, w.nomad}, {w.entry, w.farEntry}, {w.event, w.farEvent, w.openEvent}, {w.group, w.openGroup, w.farGroup}},
		fmt.Sprintf("regional:%d", w.regional): {{w.person}, {w.entry}, {w.event, w.openEvent}, {w.group, w.openGroup}},
		fmt.Sprintf("church:%d", w.far):        {{w.farPerson}, {w.farEntry}, {w.farEvent, w.openEvent}, {w.openGroup, w.farGroup}},
		fmt.Sprintf("church:%d,%d", w.church, w.far): {{w.person, w.farPerson}, {w.entry, w.farEntry}, {w.event, w.farEvent, w.openEvent},
			{w.group, w.openGroup, w.farGroup}},
		fmt.Sprintf("event:%d", w.event): {{}, {}, {w.event}, {}},
	} {
		s := w.as(level)
		for i, list := range all {
			a := s.status(s.do("GET", "/v1/"+list+"/", ""), 200)
			if got := a.ids(t); !slices.Equal(got, want[i]) || a.text(t, "count") != fmt.Sprint(len(want[i])) {
				t.Errorf("%s: %s = %v, want %v", level, list, got, want[i])
			}
		}
	}
	s := w.as(fmt.Sprintf("church:%d", w.church))
	if got := s.status(s.do("GET", membersPath(w.openGroup), ""), 200).ids(t); len(got) != 0 {
		t.Errorf("the membership of a far person is seen: %v", got)
	}
	if got := s.status(s.do("GET", membersPath(w.group), ""), 200).ids(t); len(got) != 1 {
		t.Errorf("memberships = %v, want one", got)
	}
}

func TestAccessReferenceKinds(t *testing.T) {
	w := newWorld(t)
	event := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	church := w.as(fmt.Sprintf("church:%d", w.church), "*:*")
	for _, kind := range []string{"church", "regional", "role"} {
		event.status(event.do("GET", "/admin/v1/"+kind+"/", ""), 200)
		event.status(event.do("POST", "/admin/v1/"+kind+"/", `{"name":"x"}`), 403)
		church.status(church.do("POST", "/admin/v1/"+kind+"/", `{"name":"x"}`), 403)
		w.status(w.do("POST", "/admin/v1/"+kind+"/", `{"name":"x"}`), 201)
	}
	event.status(event.do("GET", adminPath("church", w.church), ""), 200)
	event.status(event.do("GET", "/admin/v1/supplier/", ""), 403)
	if a := church.status(church.do("GET", "/admin/v1/supplier/", ""), 200); len(a.ids(t)) != 1 {
		t.Errorf("suppliers at church level = %s", a.body)
	}
	church.status(church.do("PATCH", adminPath("supplier", w.supplier), `{"name":"x"}`), 403)
	whole := w.as(fmt.Sprintf("event:%d", w.event), "*:*")
	if a := whole.status(whole.do("GET", "/admin/v1/supplier/", ""), 200); len(a.ids(t)) != 0 {
		t.Errorf("suppliers at event level = %s", a.body)
	}
}

func TestAccessCreatingAPersonWithoutAChurch(t *testing.T) {
	w := newWorld(t)
	one := w.as(fmt.Sprintf("church:%d", w.church))
	a := one.status(one.do("POST", "/v1/people/", `{"full_name":"Cai"}`), 201)
	if got := a.text(t, "church.id"); got != fmt.Sprint(w.church) {
		t.Errorf("church = %s, want the key's only one", got)
	}
	several := w.as(fmt.Sprintf("church:%d,%d", w.church, w.far))
	a = several.status(several.do("POST", "/v1/people/", `{"full_name":"Cai"}`), 400)
	if got := a.text(t, "error.details.church_id.0"); got != "This field is required." {
		t.Errorf("church_id = %q", got)
	}
	if a = w.status(w.do("POST", "/v1/people/", `{"full_name":"Cai"}`), 201); a.value(t, "church") != nil {
		t.Errorf("church = %v, want null", a.value(t, "church"))
	}
	one.status(one.do("POST", "/v1/people/", fmt.Sprintf(`{"church_id":%d}`, w.far)), 400)
	one.status(one.do("PATCH", personPath(w.person), fmt.Sprintf(`{"church_id":%d}`, w.far)), 400)
	one.status(one.do("PATCH", personPath(w.person), `{"church_id":null}`), 400) // out of one's own sight
	body := w.entryOf(w.church)
	one.status(one.do("POST", "/v1/financial_entries/", body), 201)
	one.status(one.do("POST", "/v1/financial_entries/", w.entryOf(w.far)), 400)
}

func TestAccessWritesOfAKindThatTheLevelDoesNotSee(t *testing.T) {
	w := newWorld(t)
	s := w.as(fmt.Sprintf("event:%d", w.event), "*:*")
	s.status(s.do("POST", "/v1/people/", `{}`), 403)
	s.status(s.do("POST", "/v1/financial_entries/", w.entryOf(w.church)), 403)
	s.status(s.do("PATCH", personPath(w.person), `{}`), 404)
	s.status(s.do("DELETE", entryPath(w.entry), ""), 404)
}

func TestAccessChurchlessEventsAndGroupsChangeAtDenominationOnly(t *testing.T) {
	w := newWorld(t)
	s := w.as(fmt.Sprintf("church:%d", w.church), "*:*")
	for path, body := range map[string]string{adminPath("event", w.openEvent): `{"name":"x"}`, adminPath("group", w.openGroup): `{"name":"x"}`} {
		a := s.status(s.do("PATCH", path, body), 403)
		if got := a.text(t, "error.details.required_level"); got != "denomination" {
			t.Errorf("PATCH %s: required_level = %q", path, got)
		}
		w.status(w.do("PATCH", path, body), 200)
	}
	s.status(s.do("POST", membersPath(w.openGroup), fmt.Sprintf(`{"person":%d}`, w.person)), 201)
	w.ticket(w.openEvent, "OPEN", "")
	s.status(s.do("POST", checkinPath(w.openEvent), `{"code":"OPEN"}`), 204)
}

func TestAccessByPermission(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "A1", "")
	for permission, want := range map[string][]int{ // people GET, people POST, entry DELETE of none, checkin, scan, admin GET
		"*:*": {200, 201, 404, 409, 200, 200}, "": {200, 201, 404, 409, 200, 403}, "people:GET": {200, 403, 403, 403, 403, 403},
		"*:GET": {200, 403, 403, 403, 403, 200}, "people:*": {200, 201, 403, 403, 403, 403}, "*:POST": {403, 201, 403, 409, 200, 403},
		"financial_entries:DELETE": {403, 403, 404, 403, 403, 403}, "checkin:*": {403, 403, 403, 409, 200, 403}, "event:*": {403, 403, 403, 403, 403, 403},
		"admin:GET": {403, 403, 403, 403, 403, 200}, "admin:*": {403, 403, 403, 403, 403, 200},
	} {
		w.do("POST", checkinPath(w.event), `{"code":"A1"}`)
		var s *site
		if s = w.as("denomination"); permission != "" {
			s = w.as("denomination", permission)
		}
		for i, c := range [][3]string{
			{"GET", "/v1/people/", ""}, {"POST", "/v1/people/", `{}`}, {"DELETE", entryPath(999), ""}, {"POST", checkinPath(w.event), `{"code":"A1"}`},
			{"POST", fmt.Sprintf("/door/v1/event/%d/scan/", w.event), `{"code":"A1"}`}, {"GET", "/admin/v1/supplier/", ""},
		} {
			if a := s.do(c[0], c[1], c[2]); a.status != want[i] {
				t.Errorf("%q: %s %s = %d, want %d", permission, c[0], c[1], a.status, want[i])
			}
		}
	}
}

func TestAccessOpenPagesNeedNoKey(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json", "/docs", "/docs/", "/docs/swagger-ui.css", "/metrics"} {
		s.status(s.do("GET", path, "", anybody), 200)
	}
}

func TestAccessMetricsFromElsewhereNeedADenominationKey(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"X-Forwarded-For", "Forwarded", "Via", "X-Real-Ip"} {
		via := header(name, "for=192.0.2.1")
		w.status(w.do("GET", "/metrics", "", via, anybody), 401)
		w.status(w.do("GET", "/metrics", "", via), 200)
		s := w.as(fmt.Sprintf("church:%d", w.church))
		s.status(s.do("GET", "/metrics", "", via), 403)
	}
}

func TestAccessCORSIsAnAllowList(t *testing.T) {
	const ours = "https://app.example"
	closed := newSite(t)
	if a := closed.do("GET", "/v1/people/", "", header("Origin", ours)); a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("CORS without a list: %v", a.header)
	}
	s := newSite(t, func(c *api.Config) { c.CORSOrigins = []string{ours} })
	a := s.status(s.do("GET", "/v1/people/", "", header("Origin", ours)), 200)
	if a.header.Get("Access-Control-Allow-Origin") != ours || a.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("headers = %v", a.header)
	}
	if a = s.do("GET", "/v1/people/", "", header("Origin", "https://evil.example")); a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another origin is let in: %v", a.header)
	}
	for _, method := range []string{"HEAD", "PATCH"} {
		a = s.status(s.do("OPTIONS", "/v1/people/1/", "", anybody, header("Origin", ours), header("Access-Control-Request-Method", method),
			header("Access-Control-Request-Headers", "authorization,content-encoding,content-type,if-match,last-event-id,x-couch-full-commit")), 204)
		if a.header.Get("Access-Control-Allow-Origin") != ours || a.header.Get("Access-Control-Allow-Methods") != method || a.header.Get("Allow") == "" {
			t.Errorf("preflight of %s = %v", method, a.header)
		}
	}
	s.status(s.do("GET", "/v1/people/", "", header("Origin", ours), anybody), 401)
}

// lockedLog is a log that is written and read by several goroutines.
type lockedLog struct {
	mu  sync.Mutex
	log bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

// take returns what was logged since the last call.
func (l *lockedLog) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.log.Reset()
	return l.log.String()
}

// TestFailedLoginsAreLoggedOnceAMinuteAndAddress: with their count, and without key or secret.
func TestFailedLoginsAreLoggedOnceAMinuteAndAddress(t *testing.T) {
	store := kvtest.Open(t)
	key, secret := kvtest.Key(t, store, "denomination", "*:*")
	synctest.Test(t, func(t *testing.T) {
		var log lockedLog
		s, err := api.New(api.Config{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil)), AuthFailures: 20})
		if err != nil {
			t.Fatal(err)
		}
		fail := func(from, key, secret string) {
			r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
			r.URL.Path, r.RemoteAddr, r.Host = "/v1/people/", from+":999", "localhost"
			if key != "" {
				r.SetBasicAuth(key, secret)
			}
			s.Handler().ServeHTTP(httptest.NewRecorder(), r)
		}
		lines := func() (all []string) {
			synctest.Wait()
			for line := range strings.Lines(log.take()) {
				_, said, _ := strings.Cut(strings.TrimSpace(line), "level=")
				all = append(all, said)
			}
			return all
		}
		for range 30 {
			fail("192.0.2.1", key, "SECRETLY")
		}
		fail("192.0.2.2", "UNKNOWNKEY", secret)
		for range 3 {
			fail("192.0.2.3", "", "") // who shows no key has not tried
			fail("192.0.2.4", key, secret)
		}
		if got := lines(); len(got) != 0 {
			t.Errorf("within the minute the log says %q", got)
		}
		time.Sleep(time.Minute) // of the test's own clock
		want := []string{`WARN msg="logins failed" address=192.0.2.1 count=30`, `WARN msg="logins failed" address=192.0.2.2 count=1`}
		if got := lines(); !slices.Equal(got, want) {
			t.Errorf("after a minute the log says %q, want %q", got, want)
		}
		time.Sleep(time.Hour)
		if got := lines(); len(got) != 0 {
			t.Errorf("an hour later the log says %q", got)
		}
		for i := range 130 {
			fail(fmt.Sprintf("198.51.100.%d", i), key, "wrong")
		}
		s.Close() // the server ends within the minute
		if got := lines(); len(got) != 101 || got[100] != `WARN msg="logins failed" address=others count=30` {
			t.Errorf("at the end the log says %d lines, the last %q", len(got), got[len(got)-1])
		}
	})
}
