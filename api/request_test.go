package api_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// The rows of contract.md §1.

func TestRequestChecksComeInTheOrderOfTheContract(t *testing.T) {
	w := newWorld(t)
	reader := w.as("church:"+fmt.Sprint(w.church), "people:GET")
	writer := w.as("church:"+fmt.Sprint(w.church), "people:PATCH")
	text, broken := header("Content-Type", "text/plain"), `{"email":`
	missing := personPath(999)
	for _, c := range []struct {
		name         string
		site         *site
		method, path string
		options      []option
		status       int
	}{
		{"no key comes before an unknown method", w.site, "PUT", missing, []option{anybody, text}, 401},
		{"no key comes before an unknown path", w.site, "GET", "/v1/nothing/", []option{anybody}, 401},
		{"an unknown method comes before a missing permission", reader, "PUT", missing, []option{text}, 405},
		{"a missing permission comes before a missing record", reader, "PATCH", missing, []option{text}, 403},
		{"a missing record comes before the media type", writer, "PATCH", missing, []option{text}, 404},
		{"a missing record comes before the body", writer, "PATCH", missing, nil, 404},
		{"the media type comes before the body", writer, "PATCH", personPath(w.person), []option{text}, 415},
		{"the body comes last", writer, "PATCH", personPath(w.person), nil, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.site.with(t)
			s.status(s.do(c.method, c.path, broken, append(c.options, invalid)...), c.status)
		})
	}
	t.Run("a missing group comes before the media type", func(t *testing.T) {
		s := w.with(t)
		s.status(s.do("POST", membersPath(999), "x", text, invalid), 404)
	})
	t.Run("a missing event comes before the body", func(t *testing.T) {
		s := w.with(t)
		s.status(s.do("POST", checkinPath(999), broken, invalid), 404)
		s.status(s.do("POST", "/door/v1/event/999/scan/", broken, invalid), 404)
		s.status(s.do("POST", "/door/v1/event/999/undo/", `{}`, invalid), 404)
	})
}

func TestRequestPathsAreTakenInBothSpellings(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/v1/people", "/v1/people/", strings.TrimSuffix(personPath(w.person), "/"), "/admin/v1/church", "/healthz/", "/readyz"} {
		w.status(w.do("GET", path, ""), 200)
	}
	w.status(w.do("POST", "/v1/people", `{"full_name":"Cai"}`), 201)
	w.status(w.do("PATCH", strings.TrimSuffix(personPath(w.person), "/"), `{"full_name":"Caio"}`), 200)
	w.status(w.do("DELETE", strings.TrimSuffix(entryPath(w.entry), "/"), ""), 204)
	if next := w.do("GET", "/v1/people?limit=1", "").text(t, "next"); !strings.HasPrefix(next, w.url+"/v1/people/?") {
		t.Errorf("next = %s, want the path with its slash", next)
	}
}

func TestRequestUnknownPathIs404InJSON(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{"/", "/v1/", "/v2/people/", "/v1/people/1/x/", "/admin/v1/holder/", "/admin/v1/holder_name/", "/v1/people/1/2/3/"} {
		a := s.status(s.do("GET", path, ""), 404)
		if a.body != `{"error":{"code":"NOT_FOUND","message":"Not found."}}` {
			t.Errorf("GET %s = %s", path, a.body)
		}
		s.status(s.do("GET", path, "", anybody), 401)
		s.status(s.do("OPTIONS", path, ""), 404)
	}
}

func TestRequestPathIDs(t *testing.T) {
	s := newSite(t)
	for _, id := range []string{"0", "-1", "1.0", "+1", "abc", "9007199254740992", "99999999999999999999", "1e3", "%20", "١"} {
		s.status(s.do("GET", "/v1/people/"+id+"/", "", invalid), 404)
		s.status(s.do("PATCH", "/v1/people/"+id+"/", "{}", invalid), 404)
		s.status(s.do("GET", "/v1/group/"+id+"/memberships/", "", invalid), 404)
		s.status(s.do("POST", "/v1/event/"+id+"/checkin/", `{"code":"x"}`, invalid), 404)
		s.status(s.do("GET", "/admin/v1/checkin/"+id+"/", "", invalid), 404)
	}
	s.status(s.do("GET", "/v1/people/9007199254740991/", ""), 404)
	id := s.create(record.Person, `{"full_name":"Ana"}`)
	s.status(s.do("GET", fmt.Sprintf("/v1/people/%%3%d/", id), "", invalid), 200)
	s.status(s.do("GET", fmt.Sprintf("/v1/people/00%d/", id), "", invalid), 200)
}

func TestRequestOutOfScopeIsAsMissing(t *testing.T) {
	w := newWorld(t)
	s := w.as(fmt.Sprintf("church:%d", w.church))
	for _, pair := range [][2]string{
		{personPath(w.farPerson), personPath(99)}, {eventPath(w.farEvent), eventPath(99)}, {groupPath(w.farGroup), groupPath(99)},
		{entryPath(w.farEntry), entryPath(99)}, {personPath(w.nomad), personPath(99)}, {membersPath(w.farGroup), membersPath(99)},
	} {
		far, none := s.do("GET", pair[0], ""), s.do("GET", pair[1], "")
		if far.status != 404 || far.body != none.body {
			t.Errorf("GET %s = %d %s, want the bytes of a missing one: %s", pair[0], far.status, far.body, none.body)
		}
	}
	for _, by := range []*site{s, w.as(fmt.Sprintf("event:%d", w.event))} { // whose level sees no group at all: its 404 comes before any 403
		for _, body := range []string{fmt.Sprintf(`{"person":%d}`, w.person), `{"person":99}`} {
			far, none := by.do("POST", membersPath(w.farGroup), body), by.do("POST", membersPath(99), body)
			if far.status != 404 || far.body != none.body {
				t.Errorf("POST to a far group = %d %s, want the bytes of a missing one: %s", far.status, far.body, none.body)
			}
		}
	}
	s.status(s.do("PATCH", personPath(w.farPerson), `{"full_name":"X"}`), 404)
	s.status(s.do("DELETE", entryPath(w.farEntry), ""), 404)
	s.status(s.do("POST", checkinPath(w.farEvent), `{"code":"x"}`), 404)
	far := s.status(s.do("POST", membersPath(w.group), fmt.Sprintf(`{"person":%d}`, w.farPerson)), 400)
	none := s.status(s.do("POST", membersPath(w.group), `{"person":99}`), 400)
	if strings.ReplaceAll(far.body, fmt.Sprint(w.farPerson), "99") != none.body {
		t.Errorf("a far person is told from a missing one: %s, %s", far.body, none.body)
	}
}

func TestRequestWrongMethodIs405WithAllow(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ method, path, allow string }{
		{"PUT", "/v1/people/", "GET, HEAD, POST, OPTIONS"},
		{"DELETE", personPath(w.person), "GET, HEAD, PATCH, OPTIONS"},
		{"PUT", personPath(w.person), "GET, HEAD, PATCH, OPTIONS"},
		{"POST", "/v1/event/", "GET, HEAD, OPTIONS"},
		{"GET", checkinPath(w.event), "POST, OPTIONS"},
		{"HEAD", checkinPath(w.event), "POST, OPTIONS"},
		{"DELETE", entryPath(w.entry)[:len(entryPath(w.entry))-1], "DELETE, GET, HEAD, PATCH, OPTIONS"},
		{"POST", "/admin/v1/checkin/", "GET, HEAD, OPTIONS"},
		{"POST", "/admin/v1/api_key/", "GET, HEAD, OPTIONS"},
		{"BREW", "/v1/people/", "GET, HEAD, POST, OPTIONS"},
	} {
		if strings.Contains(c.allow, c.method+",") {
			if a := w.do("OPTIONS", c.path, ""); a.header.Get("Allow") != c.allow {
				t.Errorf("Allow of %s = %q, want %q", c.path, a.header.Get("Allow"), c.allow)
			}
			continue
		}
		a := w.status(w.do(c.method, c.path, ""), 405)
		if a.header.Get("Allow") != c.allow {
			t.Errorf("%s %s: Allow = %q, want %q", c.method, c.path, a.header.Get("Allow"), c.allow)
		}
	}
}

func TestRequestHeadIsGetWithoutBody(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/v1/people/", personPath(w.person), "/v1/people/999/", "/healthz", "/openapi.json"} {
		get, head := w.do("GET", path, ""), w.do("HEAD", path, "")
		if head.status != get.status || head.body != "" {
			t.Errorf("HEAD %s = %d %q, want %d without a body", path, head.status, head.body, get.status)
		}
		for _, name := range []string{"Content-Type", "Content-Length", "Etag"} {
			if head.header.Get(name) != get.header.Get(name) {
				t.Errorf("HEAD %s: %s = %q, want %q", path, name, head.header.Get(name), get.header.Get(name))
			}
		}
	}
}

func TestRequestOptionsNeedsNoKey(t *testing.T) {
	w := newWorld(t)
	a := w.status(w.do("OPTIONS", personPath(w.person), "", anybody), 204)
	if got := a.header.Get("Allow"); got != "GET, HEAD, PATCH, OPTIONS" {
		t.Errorf("Allow = %q", got)
	}
}

func TestRequestMediaTypes(t *testing.T) {
	w := newWorld(t)
	for media, status := range map[string]int{
		"application/json": 200, "APPLICATION/Json": 200, "application/json; charset=latin1": 200, " application/json ;x": 200,
		"text/plain": 415, "application/x-www-form-urlencoded": 415, "application/jsonx": 415, "application/merge-patch+json": 415, "": 415,
	} {
		a := w.do("PATCH", personPath(w.person), `{"full_name":"Ana"}`, header("Content-Type", media), invalid)
		if a.status != status {
			t.Errorf("Content-Type %q = %d, want %d", media, a.status, status)
		}
	}
	a := w.status(w.do("PATCH", personPath(w.person), "{}", header("Content-Encoding", "gzip"), invalid), 415)
	if got := a.text(t, "error.message"); !strings.Contains(got, "not compressed") {
		t.Errorf("the message to a body that is compressed = %q", got)
	}
}

// TestRequestQueryStrings: a semicolon is a character on every face, and a bad escape is refused.
func TestRequestQueryStrings(t *testing.T) {
	w := newWorld(t)
	for path, status := range map[string]int{
		"/v1/people/?limit=1;":                  200, // no number: the default
		"/v1/people/?search=a;b":                200,
		"/v1/people/?search=100%":               400,
		"/v1/people/?%zz=1":                     400,
		personPath(w.person) + "?x=%zz":         400,
		"/admin/v1/church/?limit=%4":            400,
		doorPath(w.event, "search") + "?q=50%":  400,
		doorPath(w.event, "search") + "?q=a;b;": 200,
		"/login?language=%":                     400,
		"/login?language=en;":                   200,
	} {
		a := w.do("GET", path, "", invalid)
		if a.status != status || status == 400 && a.text(t, "error.code") != "INVALID_REQUEST" {
			t.Errorf("GET %s = %d %s, want %d", path, a.status, a.body, status)
		}
	}
	if a := w.do("GET", "/v1/people/?limit=1;&search=a;b", ""); !strings.Contains(a.body, `"count":0`) {
		t.Errorf("a search with a semicolon = %s", a.body)
	}
}

func TestRequestEmptyBodyIsAnEmptyObject(t *testing.T) {
	w := newWorld(t)
	w.status(w.do("POST", "/v1/people/", "", invalid), 201)
	w.status(w.do("PATCH", personPath(w.person), "", invalid), 200)
	w.status(w.do("POST", "/v1/people/", " \n", invalid), 201)
	a := w.status(w.do("POST", "/v1/financial_entries/", "", invalid), 400)
	if got := a.text(t, "error.details.base_amount.0"); got != "This field is required." {
		t.Errorf("an empty body's fault = %q", got)
	}
}

func TestRequestBodyLimitIs1MiB(t *testing.T) {
	w := newWorld(t)
	fill := func(size int) string { return `{"x":"` + strings.Repeat("a", size-len(`{"x":""}`)) + `"}` }
	w.status(w.do("PATCH", personPath(w.person), fill(1<<20), invalid), 200)
	a := w.status(w.do("PATCH", personPath(w.person), fill(1<<20+1), invalid), 413)
	if got := a.text(t, "error.code"); got != "PAYLOAD_TOO_LARGE" {
		t.Errorf("code = %s", got)
	}
	r, err := http.NewRequest("PATCH", w.url+personPath(w.person), io.MultiReader(strings.NewReader(fill(1<<20+1))))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(w.auth[0], w.auth[1])
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != 413 {
		t.Errorf("a body of unknown length = %d, want 413", resp.StatusCode)
	}
}

func TestRequestHeaderLimitIs16KiB(t *testing.T) {
	s := newSite(t)
	s.status(s.do("GET", "/v1/people/", "", header("X-Padding", strings.Repeat("a", 15<<10))), 200)
	for _, size := range []int{17 << 10, 60 << 10} {
		a := s.status(s.do("GET", "/v1/people/", "", header("X-Padding", strings.Repeat("a", size)), anybody), 431)
		if got := a.text(t, "error.code"); got != "HEADERS_TOO_LARGE" {
			t.Errorf("code = %s", got)
		}
	}
	s.status(s.do("GET", "/v1/people/?x="+strings.Repeat("a", 17<<10), ""), 431)
}

func TestRequestJSONIsStrict(t *testing.T) {
	w := newWorld(t)
	deep := func(n int) string { return `{"x":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}` }
	for _, body := range []string{
		`{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{} {}`, `{}x`, "\ufeff{}", `{"a":NaN}`, `{"a":"` + "\xff" + `"}`, `{"a":"\ud800"}`,
		`[]`, `"x"`, `null`, `1`, `{`, `{"a":1,}`, `{'a':1}`, deep(1001),
	} {
		a := w.status(w.do("PATCH", personPath(w.person), body, invalid), 400)
		if code := a.text(t, "error.code"); code != "INVALID_REQUEST" {
			t.Errorf("%.20q: code = %s", body, code)
		}
		if text := a.text(t, "error.message"); !strings.Contains(text, "line 1, column ") {
			t.Errorf("%.20q: message = %q, want line and column", body, text)
		}
	}
	w.status(w.do("PATCH", personPath(w.person), deep(1000), invalid), 200)
	a := w.do("PATCH", personPath(w.person), "{\n  \"full_name\": \"x\",\n  oops\n}", invalid)
	if text := a.text(t, "error.message"); !strings.Contains(text, "line 3, column 3") {
		t.Errorf("message = %q, want line 3, column 3", text)
	}
	a = w.status(w.do("PATCH", personPath(w.person), `{"Full_Name":"Other","unknown":[1],"id":77,"created_at":"x"}`, invalid), 200)
	if a.text(t, "full_name") != "Ana Souza" || a.text(t, "id") != fmt.Sprint(w.person) {
		t.Errorf("unknown and read-only fields were not ignored: %s", a.body)
	}
}

func TestRequestNumbersNeverPassThroughFloats(t *testing.T) {
	w := newWorld(t)
	body := strings.Replace(w.entryOf(w.church), `"10.00"`, `12345678.91`, 1)
	a := w.status(w.do("POST", "/v1/financial_entries/", strings.TrimSuffix(body, "}")+`,"payment_transaction_id":9007199254740991}`), 201)
	if got := a.text(t, "base_amount_cents") + " " + a.text(t, "payment_transaction_id"); got != "1234567891 9007199254740991" {
		t.Errorf("cents and id = %s", got)
	}
}

func TestRequestAnswersAreCompactUnescapedJSON(t *testing.T) {
	w := newWorld(t)
	a := w.status(w.do("PATCH", personPath(w.person), `{"full_name":"A & B <c> \u00e9\u2028"}`), 200)
	if !strings.Contains(a.body, `"full_name":"A & B <c> é`) || strings.ContainsAny(a.body, "\n\t") || strings.Contains(a.body, `": `) {
		t.Errorf("body = %s", a.body)
	}
	if ct, cc := a.header.Get("Content-Type"), a.header.Get("Cache-Control"); ct != "application/json" || cc != "no-store" {
		t.Errorf("Content-Type, Cache-Control = %q, %q", ct, cc)
	}
	e := w.do("PATCH", personPath(w.person), `{"gender":"<&>"}`, invalid)
	if want := `"<&>\" is not a valid choice.`; !strings.Contains(e.body, want) {
		t.Errorf("body = %s, want %s in it", e.body, want)
	}
}

// The rows of contract.md §2 and the conditional requests of §11.

func TestSuccessCodes(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "A1", "")
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/v1/people/", "", 200}, {"GET", personPath(w.person), "", 200}, {"PATCH", personPath(w.person), `{"email":"a@b.example"}`, 200},
		{"GET", "/v1/event/", "", 200}, {"GET", eventPath(w.event), "", 200}, {"POST", checkinPath(w.event), `{"code":"A1"}`, 204},
		{"GET", "/v1/group/", "", 200}, {"GET", groupPath(w.group), "", 200}, {"GET", membersPath(w.group), "", 200},
		{"POST", membersPath(w.group), fmt.Sprintf(`{"person":%d}`, w.person), 201},
		{"GET", "/v1/financial_entries/", "", 200}, {"GET", entryPath(w.entry), "", 200}, {"PATCH", entryPath(w.entry), `{"is_paid":true}`, 200},
		{"DELETE", entryPath(w.entry), "", 204}, {"DELETE", entryPath(w.entry), "", 404}, {"GET", entryPath(w.entry), "", 404},
		{"PATCH", entryPath(w.entry), `{}`, 404}, {"PUT", personPath(w.person), `{}`, 405},
	} {
		a := w.do(c.method, c.path, c.body)
		if a.status != c.status {
			t.Errorf("%s %s = %d, want %d: %s", c.method, c.path, a.status, c.status, a.body)
		}
		if c.status == 204 && a.body != "" {
			t.Errorf("%s %s: body = %q, want none", c.method, c.path, a.body)
		}
	}
}

func TestSuccessCreateTellsLocationAndETag(t *testing.T) {
	w := newWorld(t)
	for path, body := range map[string]string{
		"/v1/people/": `{"full_name":"Cai"}`, "/v1/financial_entries/": w.entryOf(w.church), "/admin/v1/supplier/": `{"name":"S"}`,
		"/admin/v1/ticket/": fmt.Sprintf(`{"event_id":%d}`, w.event),
	} {
		a := w.status(w.do("POST", path, body), 201)
		want := w.url + path + a.text(t, "id") + "/"
		if got := a.header.Get("Location"); got != want {
			t.Errorf("POST %s: Location = %q, want %q", path, got, want)
		}
		read := w.do("GET", path+a.text(t, "id")+"/", "")
		if a.header.Get("ETag") == "" || read.header.Get("ETag") != a.header.Get("ETag") || read.body != a.body {
			t.Errorf("POST %s = %s %s, and GET %s %s", path, a.header.Get("ETag"), a.body, read.header.Get("ETag"), read.body)
		}
	}
	a := w.status(w.do("POST", membersPath(w.group), fmt.Sprintf(`{"person":%d}`, w.person)), 201)
	if a.header.Get("Location") != "" || a.header.Get("ETag") == "" {
		t.Errorf("a membership has no route, yet Location = %q, ETag = %q", a.header.Get("Location"), a.header.Get("ETag"))
	}
}

func TestSuccessPatchThatChangesNothingMakesNoRevision(t *testing.T) {
	w := newWorld(t)
	before := w.do("GET", personPath(w.person), "")
	for _, body := range []string{`{}`, `{"full_name":" Ana Souza "}`, `{"gender":null,"is_pastor":"no"}`, `{"unknown":1}`} {
		a := w.status(w.do("PATCH", personPath(w.person), body), 200)
		if a.header.Get("ETag") != before.header.Get("ETag") || a.body != before.body {
			t.Errorf("PATCH %s made another revision: %s, was %s", body, a.header.Get("ETag"), before.header.Get("ETag"))
		}
	}
	for _, c := range kvtest.Changes(t, w.store, 0) {
		if c.Kind == record.Person && c.ID.Int() == w.person && c.Revision.Generation != 1 {
			t.Errorf("the log has generation %d of the person", c.Revision.Generation)
		}
	}
}

func TestConditionalIfNoneMatch(t *testing.T) {
	w := newWorld(t)
	a := w.do("GET", personPath(w.person), "")
	tag := a.header.Get("ETag")
	for _, given := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		got := w.status(w.do("GET", personPath(w.person), "", header("If-None-Match", given)), 304)
		if got.body != "" || got.header.Get("ETag") != tag {
			t.Errorf("304 has body %q and ETag %q", got.body, got.header.Get("ETag"))
		}
	}
	for _, given := range []string{`"x"`, `"` + revision(tag) + `"`, ""} {
		w.status(w.do("GET", personPath(w.person), "", header("If-None-Match", given)), 200)
	}
	w.status(w.do("PATCH", adminPath("church", w.church), `{"name":"Renamed"}`), 200)
	if got := w.status(w.do("GET", personPath(w.person), "", header("If-None-Match", tag)), 200); revision(got.header.Get("ETag")) != revision(tag) {
		t.Errorf("a nested name made a revision: %s, was %s", got.header.Get("ETag"), tag)
	}
}

// revision is the first part of an entity tag.
func revision(tag string) string {
	var rev string
	if _, err := fmt.Sscanf(tag, `"%34s`, &rev); err != nil {
		return ""
	}
	return rev
}

func TestConditionalIfMatch(t *testing.T) {
	w := newWorld(t)
	tag := w.do("GET", personPath(w.person), "").header.Get("ETag")
	w.status(w.do("PATCH", adminPath("church", w.church), `{"name":"Renamed"}`), 200) // another checksum, the same revision
	a := w.status(w.do("PATCH", personPath(w.person), `{"email":"a@b.example"}`, header("If-Match", tag)), 200)
	stale := w.status(w.do("PATCH", personPath(w.person), `{"email":"c@b.example"}`, header("If-Match", tag)), 412)
	if got := stale.text(t, "error.code"); got != "PRECONDITION_FAILED" {
		t.Errorf("code = %s", got)
	}
	now := a.header.Get("ETag")
	blind := w.as("denomination", "people:PATCH") // what it may not read it may change on a condition
	for given, status := range map[string]int{
		"": 200, " ": 200, "*": 200, now: 200, `"x", ` + now: 200, now + `,,"x"`: 200, tag + ", " + now: 200, `W/"x", ` + now: 200, `"` + revision(now) + `"`: 200,
		tag + `, "x"`: 412, "W/" + now: 412, "W/" + now + ", " + tag: 412, ",": 412, `""`: 412, `"`: 412, `"*"`: 412, strings.Trim(now, `"`): 412, now[1:]: 412, "w/" + now: 412,
	} {
		for _, s := range []*site{w.site, blind} {
			if a := s.do("PATCH", personPath(w.person), `{}`, header("If-Match", given)); a.status != status {
				t.Errorf("If-Match %s = %d, want %d", given, a.status, status)
			}
		}
	}
	w.status(w.do("PATCH", personPath(999), `{}`, header("If-Match", tag)), 404)
	entry := w.do("GET", entryPath(w.entry), "").header.Get("ETag")
	w.status(w.do("PATCH", entryPath(w.entry), `{"is_paid":true}`), 200)
	w.status(w.do("DELETE", entryPath(w.entry), "", header("If-Match", entry)), 412)
	w.status(w.do("DELETE", entryPath(w.entry), ""), 204)
}

// The rows of contract.md §11 about Idempotency-Key.

func TestIdempotencyKeyMakesACreateHappenOnce(t *testing.T) {
	w := newWorld(t)
	for path, body := range map[string]string{
		"/v1/people/": `{"full_name":"Cai"}`, "/v1/financial_entries/": w.entryOf(w.church), membersPath(w.group): fmt.Sprintf(`{"person":%d}`, w.person),
		"/admin/v1/role/": `{"name":"R"}`, "/admin/v1/ticket/": fmt.Sprintf(`{"event_id":%d}`, w.event),
	} {
		first := w.status(w.do("POST", path, body, header("Idempotency-Key", "same")), 201)
		if first.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("POST %s: the first is marked", path)
		}
		for _, spelling := range []string{path, strings.TrimSuffix(path, "/")} {
			again := w.status(w.do("POST", spelling, body, header("X-Idempotency-Key", " same ")), 201)
			if again.body != first.body || again.header.Get("Idempotency-Replayed") != "true" ||
				again.header.Get("ETag") != first.header.Get("ETag") || again.header.Get("Location") != first.header.Get("Location") {
				t.Errorf("POST %s again = %s %v\nfirst %s %v", spelling, again.body, again.header, first.body, first.header)
			}
		}
		other := w.do("POST", path, strings.Replace(body, "{", `{"x":1,`, 1), header("Idempotency-Key", "same"))
		if other.status != 422 || other.text(t, "error.code") != "UNPROCESSABLE_ENTITY" {
			t.Errorf("POST %s with another body = %d %s", path, other.status, other.body)
		}
	}
}

func TestIdempotencyKeyBelongsToKeyMethodAndPath(t *testing.T) {
	w := newWorld(t)
	key := header("Idempotency-Key", "k")
	first := w.status(w.do("POST", "/v1/people/", `{}`, key), 201)
	other := w.as("denomination")
	if a := other.status(other.do("POST", "/v1/people/", `{}`, key), 201); a.text(t, "id") == first.text(t, "id") {
		t.Error("another api key got the same answer")
	}
	w.status(w.do("POST", "/admin/v1/person/", `{}`, key), 201)
}

func TestIdempotencyKeepsOnlySuccesses(t *testing.T) {
	w := newWorld(t)
	key := header("Idempotency-Key", "k")
	w.status(w.do("POST", "/v1/people/", `{"gender":"x"}`, key, invalid), 400)
	a := w.status(w.do("POST", "/v1/people/", `{"gender":"male"}`, key), 201)
	if a.header.Get("Idempotency-Replayed") != "" {
		t.Error("a refusal was kept")
	}
}

func TestIdempotencyIsKeptFor72Hours(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC))
	s := newSiteOver(t, kvtest.OpenConfig(t, table.Config{Clock: clock.Now}))
	key := header("Idempotency-Key", "k")
	first := s.status(s.do("POST", "/v1/people/", `{}`, key), 201)
	clock.Move(72*time.Hour - time.Second)
	if a := s.status(s.do("POST", "/v1/people/", `{}`, key), 201); a.text(t, "id") != first.text(t, "id") {
		t.Error("forgotten too early")
	}
	clock.Move(2 * time.Second)
	if a := s.status(s.do("POST", "/v1/people/", `{}`, key), 201); a.text(t, "id") == first.text(t, "id") {
		t.Error("kept too long")
	}
}

func TestIdempotencyOfManyAtOnceCreatesOne(t *testing.T) {
	s := newSite(t)
	ids := make(chan string, 16)
	var group sync.WaitGroup
	for range cap(ids) {
		group.Go(func() {
			ids <- s.do("POST", "/v1/people/", `{"full_name":"Cai"}`, header("Idempotency-Key", "k")).text(t, "id")
		})
	}
	group.Wait()
	close(ids)
	for id := range ids {
		if id != "1" {
			t.Errorf("id = %s, want 1 for all", id)
		}
	}
}

func TestIdempotencyKeyTooLong(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		s.status(s.do("POST", "/v1/people/", `{}`, header(name, strings.Repeat("é", 256))), 400)
		s.status(s.do("POST", "/v1/people/", `{}`, header(name, strings.Repeat("é", 255))), 201)
	}
}

func TestIdempotencyNeverKeepsASecret(t *testing.T) {
	s := newSite(t)
	key := header("Idempotency-Key", "k")
	const body = `{"name":"n","level":"denomination","permissions":["people:GET"]}`
	first, again := s.status(s.do("POST", "/admin/v1/keys/", body, key), 201), s.status(s.do("POST", "/admin/v1/keys/", body, key), 201)
	if first.text(t, "secret") == again.text(t, "secret") || again.header.Get("Idempotency-Replayed") != "" {
		t.Error("a secret was answered twice")
	}
}

func TestAPIVersionHeaderIsIgnored(t *testing.T) {
	s := newSite(t)
	s.status(s.do("GET", "/v1/people/", "", header("X-API-Version", "9")), 200)
}
