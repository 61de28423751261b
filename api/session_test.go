package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doorward/api"
	"doorward/api/web"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/table"
)

const sessionPath = "/door/v1/session/"

// ticketFor has the operator show a ticket for the door of an event.
func (s *site) ticketFor(event int64) (ticket string, status int) {
	s.Helper()
	w := httptest.NewRecorder()
	s.server.Control().ServeHTTP(w, httptest.NewRequest("POST", fmt.Sprintf("/control/door?event=%d", event), nil))
	var out struct{ Ticket string }
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		s.Fatalf("%s: %v", w.Body, err)
	}
	return out.Ticket, w.Code
}

// signIn begins a session and returns the cookie; nil where it was refused.
func (s *site) signIn(body string, options ...option) (answer, *http.Cookie) {
	s.Helper()
	a := s.do("POST", sessionPath, body, append(options, anybody)...)
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		return a, c
	}
	return a, nil
}

func cookie(c *http.Cookie) option {
	return func(r *call) {
		r.anybody = true
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
}

// atDoor is a site that listens somewhere, and its clock.
func atDoor(t *testing.T) (*world, *kvtest.Clock) {
	t.Helper()
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC))
	store := kvtest.OpenConfig(t, table.Config{Clock: clock.Now})
	return settle(newSiteOver(t, store, func(c *api.Config) { c.Address = "127.0.0.1:8080" })), clock
}

func TestATicketGivesOnePhoneOneKey(t *testing.T) {
	w, clock := atDoor(t)
	w.ticket(w.event, "K1", "")
	shown, _ := w.ticketFor(w.event)
	w.status(w.do("POST", sessionPath, `{"ticket":"`+shown+`"}`, anybody, invalid), 400) // whose phone it is must be said
	long := w.status(w.do("POST", sessionPath, `{"ticket":"`+shown+`","name":"`+strings.Repeat("x", 65)+`"}`, anybody, invalid), 400)
	if long.text(t, "error.details.name.0") == "" || long.text(t, "error.details.name.1") != "" {
		t.Errorf("a name that is too long: %s, want one fault", long.body)
	}
	a, phone := w.signIn(`{"ticket":"` + shown + `","name":"Bia"}`)
	w.status(a, 200)
	if a.text(t, "name") != "Bia" || a.text(t, "events.0.id") != fmt.Sprint(w.event) {
		t.Errorf("the session: %s", a.body)
	}
	if phone == nil || !phone.HttpOnly || phone.SameSite != http.SameSiteStrictMode || phone.Path != "/" {
		t.Fatalf("the cookie: %+v", phone)
	}
	if strings.Contains(a.body, phone.Value) {
		t.Errorf("the answer shows the secret: %s", a.body)
	}
	if a, again := w.signIn(`{"ticket":"`+shown+`","name":"Caio"}`, header("X-Requested-With", "page")); a.status != 401 || again != nil || a.header.Get("WWW-Authenticate") != "" {
		t.Errorf("the ticket again: %d %v %v", a.status, again, a.header)
	}
	scan := w.status(w.do("POST", doorPath(w.event, "scan"), `{"code":"K1"}`, cookie(phone)), 200)
	if scan.text(t, "outcome") != "admitted" || scan.text(t, "door") != "Bia" {
		t.Errorf("a scan: %s", scan.body)
	}
	w.status(w.do("GET", "/v1/people/", "", cookie(phone)), 403) // it serves a door and nothing else
	w.status(w.do("GET", doorPath(w.farEvent, "status"), "", cookie(phone)), 404)
	keys, err := w.store.Keys.Keys(auth.Operator())
	if err != nil {
		t.Fatal(err)
	}
	made := keys[len(keys)-1]
	if made.Name != "Bia" || made.Level.String() != fmt.Sprintf("event:%d", w.event) || fmt.Sprint(made.Permissions) != "[checkin:GET checkin:POST]" || made.Expires.IsZero() {
		t.Errorf("the key: %+v", made)
	}
	if err := w.store.Keys.RevokeKey(auth.Operator(), made.ID); err != nil {
		t.Fatal(err)
	}
	w.status(w.do("POST", doorPath(w.event, "scan"), `{"code":"K1"}`, cookie(phone)), 401)

	late, _ := w.ticketFor(w.event)
	clock.Move(13 * time.Hour)
	if a, _ := w.signIn(`{"ticket":"` + late + `","name":"Davi"}`); a.status != 401 {
		t.Errorf("a ticket of yesterday: %d", a.status)
	}
	if _, status := w.ticketFor(987654); status != 404 {
		t.Errorf("a ticket for an event that is not there: %d", status)
	}
	silent := newWorld(t) // no server listens: the command has opened the store itself
	if _, status := silent.ticketFor(silent.event); status != 409 {
		t.Errorf("a ticket that no server would take: %d", status)
	}
}

// TestAFullDiskUsesUpNoTicket: the phone gets its key with the same ticket once there is room, and once only.
func TestAFullDiskUsesUpNoTicket(t *testing.T) {
	var left atomic.Int64
	left.Store(1 << 40)
	store := kvtest.OpenConfig(t, table.Config{Free: func() (int64, error) { return left.Load(), nil }})
	w := settle(newSiteOver(t, store, func(c *api.Config) { c.Address = "127.0.0.1:8080" }))
	shown, _ := w.ticketFor(w.event)
	for _, step := range []struct {
		free   int64
		status int
	}{{200 << 20, 507}, {200 << 20, 507}, {1 << 40, 200}, {1 << 40, 401}} {
		left.Store(step.free)
		a, phone := w.signIn(`{"ticket":"` + shown + `","name":"Bia"}`)
		w.status(a, step.status)
		if (phone != nil) != (step.status == 200) {
			t.Errorf("%d with the cookie %v", step.status, phone)
		}
	}
}

func TestASessionIsNoUseToOtherPages(t *testing.T) {
	w, _ := atDoor(t)
	w.ticket(w.event, "K1", "")
	door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
	login := fmt.Sprintf(`{"key":%q,"secret":%q}`, door.auth[0], door.auth[1])
	foreign := map[string]option{
		"another host's page": header("Origin", "https://evil.example"), "a form of another site": header("Sec-Fetch-Site", "cross-site"), "another port": header("Sec-Fetch-Site", "same-site"),
	}
	for name, from := range foreign {
		if a, c := w.signIn(login, from); a.status != 403 || c != nil {
			t.Errorf("a login by %s: %d %v", name, a.status, c)
		}
	}
	a, mine := w.signIn(login)
	w.status(a, 200)
	for name, from := range foreign {
		for _, path := range []string{doorPath(w.event, "scan"), checkinPath(w.event), "/admin/v1/keys/"} {
			if a := w.do("POST", path, `{"code":"K1"}`, cookie(mine), from, invalid); a.status != 403 {
				t.Errorf("%s at %s: %d %s", name, path, a.status, a.body)
			}
		}
		if a := w.do("DELETE", sessionPath, "", cookie(mine), from); a.status != 403 {
			t.Errorf("%s signs out: %d", name, a.status)
		}
	}
	for _, wrong := range []string{`{"key":"dw_x","secret":"y"}`, `{"key":"` + door.auth[0] + `","secret":"y"}`, `{"ticket":"X","name":"Bia"}`} {
		if a, c := w.signIn(wrong); a.status != 401 || c != nil {
			t.Errorf("%s: %d %v", wrong, a.status, c)
		}
	}
	reader := w.as("denomination", "people:GET")
	if a, c := w.signIn(fmt.Sprintf(`{"key":%q,"secret":%q}`, reader.auth[0], reader.auth[1])); a.status != 403 || c != nil {
		t.Errorf("a key that serves no door: %d %v", a.status, c)
	}
	w.status(w.do("GET", sessionPath, "", cookie(mine)), 200)
	out := w.status(w.do("DELETE", sessionPath, "", cookie(mine)), 204)
	if c := out.header.Get("Set-Cookie"); !strings.Contains(c, "Max-Age=0") {
		t.Errorf("signing out: %q", c)
	}
}

func TestGuessedTicketsAreThrottled(t *testing.T) {
	w := newWorld(t, func(c *api.Config) { c.AuthFailures = 5 })
	last := 0
	for range 7 {
		a, _ := w.signIn(`{"ticket":"GUESS","name":"Eva"}`)
		last = a.status
	}
	if last != 429 {
		t.Errorf("the seventh guess within a minute: %d", last)
	}
}

// TestGuessedSessionsAreThrottled: secrets guessed at the login, and in the cookie, count alike. A right one passes.
func TestGuessedSessionsAreThrottled(t *testing.T) {
	for how, guess := range map[string]func(w *world, key string, n int) int{
		"login": func(w *world, key string, n int) int {
			a, _ := w.signIn(fmt.Sprintf(`{"key":%q,"secret":"guess%d"}`, key, n))
			return a.status
		},
		"cookie": func(w *world, key string, n int) int {
			return w.do("GET", sessionPath, "", cookie(&http.Cookie{Name: "doorward_session", Value: fmt.Sprintf("%s:guess%d", key, n)})).status
		},
	} {
		w := newWorld(t, func(c *api.Config) { c.AuthFailures = 5 })
		door := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*")
		last := 0
		for n := range 7 {
			last = guess(w, door.auth[0], n)
		}
		if last != 429 {
			t.Errorf("the seventh guess by %s within a minute: %d", how, last)
		}
		if a, c := w.signIn(fmt.Sprintf(`{"key":%q,"secret":%q}`, door.auth[0], door.auth[1])); a.status != 200 || c == nil {
			t.Errorf("the right secret after guesses by %s: %d", how, a.status)
		}
	}
}

// TestALoginMakesTheSession: a cookie that was there before is replaced, whatever it holds, and what it held opens nothing.
func TestALoginMakesTheSession(t *testing.T) {
	w, _ := atDoor(t)
	shown, _ := w.ticketFor(w.event)
	planted := &http.Cookie{Name: "doorward_session", Value: "dw_planted:secret"}
	a, mine := w.signIn(`{"ticket":"`+shown+`","name":"Bia"}`, header("Cookie", planted.Name+"="+planted.Value))
	w.status(a, 200)
	if mine == nil || mine.Value == planted.Value || strings.HasPrefix(mine.Value, "dw_planted") {
		t.Errorf("the session is %v, which was planted", mine)
	}
	w.status(w.do("GET", sessionPath, "", cookie(planted)), 401)
	w.status(w.do("GET", sessionPath, "", cookie(mine)), 200)
}

func TestTheDoorPageIsServedWithAPolicy(t *testing.T) {
	for prefix, configure := range map[string]func(*api.Config){"": func(*api.Config) {}, "/doorward": func(c *api.Config) { c.PublicURL = "http://127.0.0.1/doorward" }} {
		w := newWorld(t, configure)
		page := w.status(w.do("GET", prefix+"/door", "", anybody), 200)
		if !strings.Contains(page.header.Get("Content-Security-Policy"), "frame-ancestors 'none'") || strings.Contains(page.body, "<script>") || strings.Contains(page.body, " style=") {
			t.Errorf("the page: %v", page.header)
		}
		asset := w.status(w.do("GET", prefix+"/door/assets/door.js", "", anybody), 200)
		if !strings.HasPrefix(asset.header.Get("Content-Type"), "text/javascript") || !strings.Contains(page.body, `src="`+prefix+`/door/assets/door.js"`) {
			t.Errorf("its script: %v", asset.header)
		}
		w.status(w.do("GET", prefix+"/door/assets/door.js", "", anybody, header("If-None-Match", asset.header.Get("ETag"))), 304)
		w.status(w.do("GET", prefix+"/door/assets/..%2fweb.go", "", anybody), 404)
		size, paths := 0, []string{"/door"}
		for name := range web.Assets() {
			paths = append(paths, "/door/assets/"+name)
		}
		for _, path := range paths {
			a := w.status(w.do("GET", prefix+path, "", anybody, header("Accept-Encoding", "gzip")), 200)
			if size += len(a.body); a.header.Get("Content-Encoding") != "gzip" {
				t.Errorf("%s: %v", path, a.header)
			}
		}
		for _, path := range append(paths, "/docs/swagger-ui.css", "/metrics") {
			if a := w.status(w.do("GET", prefix+path, "", anybody, header("Accept-Encoding", "gzip;q=0.0")), 200); a.header.Get("Content-Encoding") != "" {
				t.Errorf("%s for a browser that takes no gzip: %v", path, a.header)
			}
		}
		if size > 60_000 {
			t.Errorf("the page takes %d bytes on the way, at most 60,000 are wanted", size)
		}
	}
}

// TestAPhoneKeepsTheWholePage: what keeps the page in a phone names every file beside it, or the page does not open while the laptop is away.
func TestAPhoneKeepsTheWholePage(t *testing.T) {
	worker := string(web.Assets()["sw.js"].Body)
	for name := range web.Assets() {
		if name != "sw.js" && !strings.Contains(worker, "'"+name+"'") {
			t.Errorf("sw.js does not keep %s", name)
		}
	}
}
