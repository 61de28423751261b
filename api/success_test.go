package api_test

import (
	"fmt"
	"strings"
	"testing"

	"doorward/kv/record"
)

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
	changes, err := w.store.Log.Changes(operator, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
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
