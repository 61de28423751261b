package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/api"
	"doorward/api/web"
	"doorward/kv/auth"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"

	"golang.org/x/text/language"
)

const ticketPath = "/door/ticket"

// asBrowser asks for a page to show.
func asBrowser(c *call) {
	c.anybody = true
	c.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
}

// atConsole is a session of a key, from the page that asks for it.
func (s *site) atConsole(key [2]string) option {
	s.Helper()
	a, c := s.signIn(fmt.Sprintf(`{"key":%q,"secret":%q}`, key[0], key[1]))
	if a.status != 200 || c == nil {
		s.Fatalf("the login: %d %s", a.status, a.body)
	}
	return cookie(c)
}

// invited is what the console is given for one phone.
type invited struct {
	URLs    []string
	Alone   bool
	Expires time.Time `json:"expires_at"`
	QR      web.QR
}

// ticket is the secret of an address; the test ends where it lies elsewhere than behind the #.
func (i invited) ticket(t testing.TB) string {
	t.Helper()
	if len(i.URLs) == 0 {
		t.Fatal("there is no ticket")
	}
	page, secret, found := strings.Cut(i.URLs[0], "#")
	if !found || len(secret) < 20 || !strings.HasSuffix(page, "/door") {
		t.Fatalf("the address is %s", i.URLs[0])
	}
	return secret
}

// invite asks for a ticket as the console does.
func (s *site) invite(event int64, as string, by ...option) (answer, invited) {
	s.Helper()
	a := s.do("POST", ticketPath, fmt.Sprintf(`{"event":%d,"role":%q}`, event, as), by...)
	var i invited
	if a.status == 200 {
		if err := json.Unmarshal([]byte(a.body), &i); err != nil {
			s.Fatal(err)
		}
	}
	return a, i
}

func TestABrowserIsLedToTheLogin(t *testing.T) {
	for prefix, url := range map[string]string{"": "", "/doorward": "http://127.0.0.1/doorward"} {
		w := newWorld(t, func(c *api.Config) { c.PublicURL, c.AuthFailures = url, 10 })
		for range 15 { // no guess, and not counted as one
			a := w.status(w.do("GET", prefix+"/", "", asBrowser), 303)
			if got := a.header.Get("Location"); got != prefix+"/login" {
				t.Fatalf("%s/ leads to %q", prefix, got)
			}
		}
		for query, want := range map[string]string{"?language=pt-BR": "?language=pt-BR", "?language=a%0d%0aX-Evil:1&next=//evil.example": "?language=a%0D%0AX-Evil%3A1"} {
			if got := w.do("GET", prefix+"/"+query, "", asBrowser).header.Get("Location"); got != prefix+"/login"+want {
				t.Errorf("%s leads to %q", query, got)
			}
		}
		if prefix != "" {
			if a := w.do("GET", prefix, "", asBrowser); a.status != 303 || a.header.Get("Location") != prefix+"/" {
				t.Errorf("%s: %d, to %q", prefix, a.status, a.header.Get("Location"))
			}
		}
		none := `{"error":{"code":"NOT_FOUND","message":"Not found."}}`
		for _, accept := range []string{"*/*", "application/json", ""} {
			w.status(w.do("GET", prefix+"/", "", anybody, header("Accept", accept)), 401)
			if a := w.status(w.do("GET", prefix+"/", "", header("Accept", accept)), 404); a.body != none {
				t.Errorf("a client that is no browser gets %s", a.body)
			}
		}
		w.status(w.do("GET", prefix+"/", "", header("Accept", "text/html")), 404) // pages take no key in a header
		w.status(w.do("POST", prefix+"/", "{}"), 404)
		w.status(w.do("OPTIONS", prefix+"/", "", anybody), 401)
	}
}

func TestTheLoginIsAPageLikeTheOthers(t *testing.T) {
	titles := map[string]string{"en": "Sign in", "pt-BR": "Entrar"}
	for prefix, url := range map[string]string{"": "", "/doorward": "http://127.0.0.1/doorward"} {
		w := newWorld(t, func(c *api.Config) { c.PublicURL = url })
		for language, title := range titles {
			page := w.status(w.do("GET", prefix+"/login?language="+language, "", asBrowser), 200)
			for _, want := range []string{`<html lang="` + language + `">`, "<h1>" + title + "</h1>", `src="` + prefix + `/login/assets/login.js"`} {
				if !strings.Contains(page.body, want) {
					t.Errorf("%s/login has no %q", prefix, want)
				}
			}
			w.guarded(page)
		}
		for name := range web.ConsoleAssets() {
			a := w.status(w.do("GET", prefix+"/login/assets/"+name, "", anybody), 200)
			if a.header.Get("Content-Security-Policy") != web.Policy {
				t.Errorf("%s: %v", name, a.header)
			}
		}
		w.status(w.do("GET", prefix+"/login/assets/..%2fconsole.html", "", anybody), 404)
		w.status(w.do("POST", prefix+"/login", "{}", anybody), 401)
	}
}

// guarded wants a page to have nothing inline, to lie in no frame, to be kept nowhere, and to ask no other host.
func (s *site) guarded(page answer) {
	s.Helper()
	h := page.header
	if h.Get("Content-Security-Policy") != web.Policy || h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("X-Content-Type-Options") != "nosniff" {
		s.Errorf("the headers: %v", h)
	}
	if inline := regexp.MustCompile(`<script>|<[^>]* (?:style|on[a-z]+)=|(?:href|src)="(?:https?:)?//`).FindString(page.body); inline != "" {
		s.Errorf("the page has %q", inline)
	}
}

// evening is a site on the day of its event, with a clock. A second event has passed the night before, and a third comes later.
func evening(t *testing.T) (w *world, clock *kvtest.Clock, tonight, before, later int64) {
	t.Helper()
	w, clock = atDoor(t) // ten in the morning
	event := func(name, start, end string) int64 {
		return w.create(record.Event, fmt.Sprintf(`{"name":%q,"start_datetime":%q,"end_datetime":%q,"church_id":%d}`, name, start, end, w.church))
	}
	tonight = event(`<img src=x onerror=alert(1)> & "Festa"`, "2026-05-01T19:00:00Z", "2026-05-01T22:00:00Z")
	before = event("Yesterday", "2026-04-30T19:00:00Z", "2026-04-30T22:00:00Z")
	later = event("Retreat", "2026-05-08T19:00:00Z", "2026-05-10T22:00:00Z")
	return w, clock, tonight, before, later
}

// TestTheConsoleShowsWhatItsKeyMaySee: the events of the key, tonight's first, with their counts. Names are text, whatever they hold.
func TestTheConsoleShowsWhatItsKeyMaySee(t *testing.T) {
	w, _, tonight, before, later := evening(t)
	for _, code := range []string{"K1", "K2", "K3"} {
		w.ticket(tonight, code, "")
	}
	w.status(w.do("POST", doorPath(tonight, "scan"), `{"code":"K1"}`), 200)
	shown := regexp.MustCompile(`data-event="(\d+)"`)
	for _, try := range []struct {
		level string
		cards []int64
		later []string
	}{
		{"denomination", []int64{tonight, before}, []string{"Retreat"}},
		{fmt.Sprintf("church:%d", w.church), []int64{tonight, before}, []string{"Retreat"}},
		{fmt.Sprintf("event:%d", tonight), []int64{tonight}, nil},
		{fmt.Sprintf("event:%d", later), []int64{later}, nil}, // none is near: the picker shows it too
		{fmt.Sprintf("church:%d", w.far), []int64{w.farEvent, w.openEvent}, nil},
	} {
		key := w.as(try.level, "checkin:*")
		page := w.status(w.do("GET", "/", "", asBrowser, w.atConsole(key.auth)), 200)
		w.guarded(page)
		var cards []int64
		for _, m := range shown.FindAllStringSubmatch(page.body, -1) {
			var id int64
			fmt.Sscan(m[1], &id)
			cards = append(cards, id)
		}
		if !slices.Equal(cards, try.cards) {
			t.Errorf("%s is shown the events %v, want %v", try.level, cards, try.cards)
		}
		for _, name := range []string{"Retreat"} {
			if want := slices.Contains(try.later, name); want != strings.Contains(page.body, "<strong>"+name) {
				t.Errorf("%s: the later event is shown: %t", try.level, !want)
			}
		}
		if slices.Contains(try.cards, tonight) {
			if !strings.Contains(page.body, `&lt;img src=x onerror=alert(1)&gt; &amp; &#34;Festa&#34;`) || strings.Contains(page.body, "<img src=x") {
				t.Errorf("the name of the event is not as it should be:\n%s", page.body)
			}
			if !strings.Contains(page.body, `data-of="in">1<`) || !strings.Contains(page.body, `data-of="expected">3<`) {
				t.Errorf("the counts are not 1 of 3:\n%s", page.body)
			}
		}
		if slices.Contains(try.cards, w.farEvent) && !strings.Contains(page.body, fmt.Sprintf(">#%d</h2>", w.farEvent)) {
			t.Errorf("an event without a name has no number:\n%s", page.body)
		}
		if strings.Contains(page.body, key.auth[1]) {
			t.Error("the page has the secret")
		}
	}
}

// TestTheConsoleOffersWhatItsKeyMayDo: a button is there exactly where the ticket is made, and the other keys are told so.
func TestTheConsoleOffersWhatItsKeyMayDo(t *testing.T) {
	w, _, tonight, _, _ := evening(t)
	own := fmt.Sprintf("event:%d", tonight)
	for _, try := range []struct {
		level       string
		permissions []string
		want        []string
	}{
		{"denomination", []string{"*:*"}, []string{"steward", "supervisor"}},
		{fmt.Sprintf("church:%d", w.church), []string{"checkin:*", "admin:*"}, []string{"steward", "supervisor"}},
		{own, []string{"checkin:*", "admin:POST"}, []string{"steward", "supervisor"}},
		{own, []string{"checkin:GET", "checkin:POST", "admin:POST"}, []string{"steward"}},
		{own, []string{"checkin:GET", "admin:POST"}, nil},
		{own, []string{"checkin:*", "admin:GET"}, nil},
		{own, []string{"checkin:*"}, nil},
		{own, nil, nil}, // everything but admin and sync
	} {
		key := w.as(try.level, try.permissions...)
		by := w.atConsole(key.auth)
		page := w.status(w.do("GET", "/", "", asBrowser, by), 200)
		card := page.body[strings.Index(page.body, fmt.Sprintf(`data-event="%d"`, tonight)):]
		card = card[:strings.Index(card, "</section>")]
		for _, as := range []string{"steward", "supervisor"} {
			want := slices.Contains(try.want, as)
			if offered := strings.Contains(card, `data-role="`+as+`"`); offered != want {
				t.Errorf("%s %v: a code for a %s is offered: %t", try.level, try.permissions, as, offered)
			}
			a, made := w.invite(tonight, as, by)
			if want != (a.status == 200) || !want && a.status != 403 {
				t.Errorf("%s %v: a code for a %s: %d", try.level, try.permissions, as, a.status)
			}
			if want {
				w.status(w.firstSession(made.ticket(t)), 200)
			}
		}
		if told := strings.Contains(card, "may not let phones in"); told == (len(try.want) > 0) {
			t.Errorf("%s %v: the page says that it may not: %t", try.level, try.permissions, told)
		}
	}
}

// firstSession is what a phone is answered that opens an address with a ticket.
func (s *site) firstSession(ticket string) answer {
	s.Helper()
	a, _ := s.signIn(fmt.Sprintf(`{"ticket":%q,"name":"Bia"}`, ticket))
	return a
}

func TestATicketOfTheConsoleIsThatOfTheCommand(t *testing.T) {
	var log strings.Builder
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC))
	store := kvtest.OpenConfig(t, table.Config{Clock: clock.Now})
	w := settle(newSiteOver(t, store, func(c *api.Config) {
		logTo(&log)(c)
		c.Local.Reached = func(path string) ([]string, bool) {
			return []string{"http://192.0.2.7:8080" + path, "http://porta.local:8080" + path}, true
		}
	}))
	laptop := w.as(fmt.Sprintf("event:%d", w.event), "checkin:*", "admin:POST")
	by := w.atConsole(laptop.auth)
	a, made := w.invite(w.event, "supervisor", by)
	w.status(a, 200)
	secret := made.ticket(t)
	if len(made.URLs) != 2 || made.URLs[1] != "http://porta.local:8080/door#"+secret || !made.Alone || !made.Expires.Equal(clock.Now().Add(12*time.Hour)) || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the ticket: %+v %v", made, a.header)
	}
	if made.QR.Size < 29 || !strings.HasPrefix(made.QR.Path, "M") {
		t.Errorf("its code: %+v", made.QR)
	}
	w.status(w.firstSession(secret), 200)
	w.status(w.firstSession(secret), 401) // used
	all, err := w.store.Keys.Keys(auth.Operator())
	if err != nil {
		t.Fatal(err)
	}
	phone, mine := all[len(all)-1], all[len(all)-2]
	if phone.Level.String() != fmt.Sprintf("event:%d", w.event) || fmt.Sprint(phone.PermissionTexts()) != "[checkin:*]" || phone.Name != "Bia" || mine.Key != laptop.auth[0] {
		t.Errorf("the phone's key: %+v", phone)
	}

	for event, status := range map[int64]int{w.farEvent: 404, w.openEvent: 404, 987654: 404} {
		if a, _ := w.invite(event, "steward", by); a.status != status {
			t.Errorf("a ticket for event %d: %d", event, a.status)
		}
	}
	for _, body := range []string{`{}`, `{"event":0,"role":"steward"}`, `{"event":"x","role":"steward"}`, fmt.Sprintf(`{"event":%d}`, w.event), fmt.Sprintf(`{"event":%d,"role":"admin"}`, w.event)} {
		w.status(w.do("POST", ticketPath, body, by), 400)
	}
	w.status(w.do("POST", ticketPath, "{}", anybody), 401)
	w.status(w.do("GET", ticketPath, "", by), 405)
	for name, from := range map[string]option{"another host's page": header("Origin", "https://evil.example"), "a form of another site": header("Sec-Fetch-Site", "cross-site")} {
		if a, _ := w.invite(w.event, "steward", by, from); a.status != 403 || strings.Contains(a.body, "#") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if strings.Contains(log.String(), secret) || strings.Contains(log.String(), laptop.auth[1]) {
		t.Errorf("the log has a secret:\n%s", &log)
	}
}

// TestATicketEndsWithTheKeyThatHasShownIt: after the key is revoked neither its session nor its tickets open anything.
func TestATicketEndsWithTheKeyThatHasShownIt(t *testing.T) {
	w, clock, tonight, _, _ := evening(t)
	k, secret, err := w.store.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: "Laptop", Level: auth.NewLevel(auth.EventOf, []int64{tonight}), Rate: 50,
		Permissions: []auth.Permission{{Resource: "checkin", Method: "*"}, {Resource: "admin", Method: "POST"}}, Expires: clock.Now().Add(3 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	by := w.atConsole([2]string{k.Key, secret})
	_, first := w.invite(tonight, "steward", by)
	w.status(w.firstSession(first.ticket(t)), 200)
	all, err := w.store.Keys.Keys(auth.Operator())
	if err != nil {
		t.Fatal(err)
	}
	if phone := all[len(all)-1]; !phone.Expires.Equal(k.Expires) || phone.Rate != k.Rate {
		t.Errorf("the phone's key is good until %v and for %d a minute, and the laptop's until %v and for %d", phone.Expires, phone.Rate, k.Expires, k.Rate)
	}
	_, second := w.invite(tonight, "steward", by)
	w.status(w.do("GET", "/", "", asBrowser, by), 200)
	if err := w.store.Keys.RevokeKey(auth.Operator(), k.ID); err != nil {
		t.Fatal(err)
	}
	if a := w.do("GET", "/", "", asBrowser, by); a.status != 303 || a.header.Get("Location") != "/login" {
		t.Errorf("the console of a revoked key: %d", a.status)
	}
	if a, _ := w.invite(tonight, "steward", by); a.status != 401 {
		t.Errorf("a ticket by a revoked key: %d", a.status)
	}
	w.status(w.firstSession(second.ticket(t)), 401)
}

// TestTheConsoleTakesNoOtherSession: neither a planted cookie nor one that was ended opens it, and guesses are throttled.
func TestTheConsoleTakesNoOtherSession(t *testing.T) {
	w := newWorld(t, func(c *api.Config) { c.AuthFailures = 5 })
	planted := func(value string) option { return cookie(&http.Cookie{Name: "doorward_session", Value: value}) }
	key := w.as("denomination", "checkin:*")
	for _, value := range []string{"dw_planted:secret", key.auth[0] + ":", "x", ""} {
		a := w.do("GET", "/", "", asBrowser, planted(value))
		if a.status != 303 || a.header.Get("Location") != "/login" {
			t.Errorf("the session %q: %d", value, a.status)
		}
	}
	last := 0
	for n := range 7 {
		last = w.do("GET", "/", "", asBrowser, planted(fmt.Sprintf("%s:guess%d", key.auth[0], n))).status
	}
	if last != 429 {
		t.Errorf("the seventh guess: %d", last)
	}
	w.status(w.do("GET", "/", "", asBrowser, w.atConsole(key.auth)), 200)
	reader := w.as("denomination", "people:GET")
	w.status(w.do("GET", "/", "", asBrowser, planted(reader.auth[0]+":"+reader.auth[1])), 403) // no login gives it this session
}

// TestTheConsoleCountsForItsKeysRate: its page is a request like the others.
func TestTheConsoleCountsForItsKeysRate(t *testing.T) {
	w := newWorld(t)
	k, secret, err := w.store.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: "Laptop", Level: auth.NewLevel(auth.EventOf, []int64{w.event}), Rate: 2})
	if err != nil {
		t.Fatal(err)
	}
	by := w.atConsole([2]string{k.Key, secret})
	for _, status := range []int{200, 200, 429} {
		w.status(w.do("GET", "/", "", asBrowser, by), status)
	}
}

// TestTheConsoleSaysWhatNeedsAPerson to keys that rule the whole store, and to no other.
func TestTheConsoleSaysWhatNeedsAPerson(t *testing.T) {
	w, _, tonight, _, _ := evening(t)
	for _, try := range []struct {
		level       string
		permissions []string
		want        bool
	}{
		{"denomination", []string{"*:*"}, true}, {"denomination", []string{"checkin:*", "admin:GET"}, false}, {"denomination", nil, false},
		{fmt.Sprintf("church:%d", w.church), []string{"*:*"}, false}, {fmt.Sprintf("event:%d", tonight), []string{"*:*"}, false},
	} {
		page := w.status(w.do("GET", "/", "", asBrowser, w.atConsole(w.as(try.level, try.permissions...).auth)), 200)
		if got := strings.Contains(page.body, `id="needs-title"`); got != try.want {
			t.Errorf("%s %v is told: %t\n%s", try.level, try.permissions, got, page.body)
		}
	}
}

// TestTheConsoleSaysInItsReadersLanguageWhatNeedsAPerson, in each that the pages speak.
func TestTheConsoleSaysInItsReadersLanguageWhatNeedsAPerson(t *testing.T) {
	w, _, _, _, _ := evening(t)
	const english = "No backup was ever made of this store."
	sentence := map[language.Tag]string{language.English: english, language.BrazilianPortuguese: "Nunca se fez um backup deste banco de dados."}
	for _, tag := range web.Languages {
		page := w.status(w.do("GET", "/?language="+tag.String(), "", asBrowser, w.atConsole(w.as("denomination", "*:*").auth)), 200)
		want, known := sentence[tag]
		if !known || !strings.Contains(page.body, want) || want != english && strings.Contains(page.body, english) {
			t.Errorf("in %s the console does not say %q\n%s", tag, want, page.body)
		}
	}
}

// TestTheGuideIsServedInItsReadersLanguage: the language that the address asks for, else the browser's, below the mount, with the policy of all pages.
func TestTheGuideIsServedInItsReadersLanguage(t *testing.T) {
	titles := map[string]string{"en": "At the door", "pt-BR": "Na porta"}
	for prefix, url := range map[string]string{"": "", "/doorward": "http://127.0.0.1/doorward"} {
		w := newWorld(t, func(c *api.Config) { c.PublicURL = url })
		for _, try := range []struct{ query, accept, language string }{
			{"", "", "en"}, {"?language=pt-BR", "en", "pt-BR"}, {"?language=en", "pt-BR", "en"}, {"?language=%3Cscript%3E", "de", "en"}, {"?language=fr", "pt", "pt-BR"},
			{"", "pt-PT,en", "pt-BR"}, {"", "fr, pt;q=0.8, en;q=0.5", "pt-BR"}, {"", "%%", "en"},
		} {
			page := w.status(w.do("GET", prefix+"/door/help"+try.query, "", anybody, header("Accept-Language", try.accept)), 200)
			for _, want := range []string{`<html lang="` + try.language + `">`, titles[try.language], `src="` + prefix + `/door/assets/look.js"`, `href="` + prefix + `/door/assets/guide.css"`} {
				if !strings.Contains(page.body, want) {
					t.Errorf("%+v: %s/door/help does not have %q", try, prefix, want)
				}
			}
			if got := page.header.Get("Content-Language"); got != try.language {
				t.Errorf("%+v: the guide says that it is in %q", try, got)
			}
			if page.header.Get("Content-Security-Policy") != web.Policy || strings.Contains(page.body, "<script>") || strings.Contains(page.body, " style=") || strings.ContainsAny(page.body, "{}") {
				t.Errorf("%+v: the guide has something inline, or no policy: %v", try, page.header)
			}
		}
		if head := w.status(w.do("HEAD", prefix+"/door/help", "", anybody), 200); head.body != "" || head.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("the head of the guide: %q %v", head.body, head.header)
		}
		w.status(w.do("GET", prefix+"/door/help/more", ""), 404)
		w.status(w.do("POST", prefix+"/door/help", "{}", invalid), 405)
	}
}

// TestAPhoneLearnsToTrustTheServer: the page and the file are there where the server has an authority, below its mount, and nowhere else.
func TestAPhoneLearnsToTrustTheServer(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "<b>Porta</b>"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	without := newWorld(t)
	without.status(without.do("GET", "/door/trust", "", anybody), 404)
	without.status(without.do("GET", "/door/trust/doorward.crt", "", anybody), 404)
	without.status(without.do("GET", "/door/trust/doorward.mobileconfig", "", anybody), 404)
	if page := without.status(without.do("GET", "/door", "", anybody), 200); strings.Contains(page.body, "data-trust") {
		t.Error("without an authority the door's page offers it")
	}
	for prefix, url := range map[string]string{"": "", "/doorward": "http://127.0.0.1/doorward"} {
		w := newWorld(t, func(c *api.Config) { c.PublicURL, c.Local = url, api.Local{Name: "porta.local", Authority: der} })
		if page := w.status(w.do("GET", prefix+"/door", "", anybody), 200); !strings.Contains(page.body, `data-trust="yes"`) {
			t.Error("the door's page does not offer the authority")
		}
		for query, language := range map[string]string{"": "en", "?language=pt-BR": "pt-BR", "?language=%3Cscript%3E": "en"} {
			page := w.status(w.do("GET", prefix+"/door/trust"+query, "", anybody), 200)
			for _, want := range []string{`<html lang="` + language + `">`, "&lt;b&gt;Porta&lt;/b&gt;", `href="` + prefix + `/door/trust/doorward.crt"`,
				`href="` + prefix + `/door/trust/doorward.mobileconfig"`, `href="https://`} {
				if !strings.Contains(page.body, want) {
					t.Errorf("%s%s does not have %q:\n%s", prefix, query, want, page.body)
				}
			}
		}
		for accept, language := range map[string]string{"pt": "pt-BR", "pt-PT,en": "pt-BR", "fr, pt;q=0.8, en;q=0.5": "pt-BR", "de": "en", "%%": "en"} {
			for _, path := range []string{"/door", "/door/trust", "/door/trust?language=fr"} {
				page := w.status(w.do("GET", prefix+path, "", anybody, header("Accept-Language", accept)), 200)
				if !strings.Contains(page.body, `<html lang="`+language+`"`) || page.header.Get("Content-Language") != language {
					t.Errorf("%s is not in %s for a browser that prefers %q", path, language, accept)
				}
			}
		}
		file := w.status(w.do("GET", prefix+"/door/trust/doorward.crt", "", anybody), 200)
		if file.body != string(der) || file.header.Get("Content-Type") != "application/x-x509-ca-cert" {
			t.Errorf("the certificate: %d bytes, %v", len(file.body), file.header)
		}
		profile := w.status(w.do("GET", prefix+"/door/trust/doorward.mobileconfig", "", anybody), 200)
		var plist struct {
			Root struct {
				Text []string `xml:"string"`
				Data string   `xml:"data"`
			} `xml:"dict>array>dict"`
		}
		if err := xml.Unmarshal([]byte(profile.body), &plist); err != nil {
			t.Fatalf("%v in %s", err, profile.body)
		}
		if plist.Root.Text[0] != "com.apple.security.root" || plist.Root.Text[1] != "<b>Porta</b>" || plist.Root.Data != base64.StdEncoding.EncodeToString(der) {
			t.Errorf("the profile has %+v", plist.Root)
		}
		if profile.header.Get("Content-Type") != "application/x-apple-aspen-config" || profile.header.Get("Content-Disposition") != "" {
			t.Errorf("the profile is sent with %v: an iPhone saves it, and installs nothing", profile.header)
		}
	}
}
