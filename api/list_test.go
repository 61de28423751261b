package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"doorward/api"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// The rows of contract.md §5.

// ids are the ids in a list's results.
func (a answer) ids(t testing.TB) []int64 {
	t.Helper()
	var body struct{ Results []struct{ ID int64 } }
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Fatalf("body %q: %v", a.body, err)
	}
	list := make([]int64, len(body.Results))
	for i, r := range body.Results {
		list[i] = r.ID
	}
	return list
}

// crowd makes n people, with ids from 1.
func crowd(s *site, n int) {
	s.Helper()
	for range n {
		s.create(record.Person, `{"full_name":"Ana"}`)
	}
}

func TestListLimitAndOffset(t *testing.T) {
	s := newSite(t)
	crowd(s, 105)
	for _, c := range []struct {
		query       string
		first, size int64
	}{
		{"", 1, 10}, {"?limit=3", 1, 3}, {"?limit=100", 1, 100}, {"?limit=101", 1, 100}, {"?limit=0", 1, 10}, {"?limit=-1", 1, 10}, {"?limit=x", 1, 10},
		{"?limit=", 1, 10}, {"?limit=2.5", 1, 10}, {"?limit=99999999999999999999", 1, 100}, {"?offset=4&limit=2", 5, 2}, {"?offset=-4&limit=2", 1, 2},
		{"?offset=x&limit=2", 1, 2}, {"?offset=104", 105, 1}, {"?offset=105", 0, 0}, {"?offset=99999999999999999999", 0, 0},
		{"?limit=7&limit=3", 1, 3}, {"?offset=7&offset=3&limit=1", 4, 1}, {"?limit=3&limit=x", 1, 10}, {"?limit=%203%20", 1, 3},
	} {
		a := s.status(s.do("GET", "/v1/people/"+c.query, "", invalid), 200)
		ids := a.ids(t)
		if int64(len(ids)) != c.size || c.size > 0 && (ids[0] != c.first || !slices.IsSorted(ids)) {
			t.Errorf("%s: ids = %v, want %d from %d", c.query, ids, c.size, c.first)
		}
		if got := a.text(t, "count"); got != "105" {
			t.Errorf("%s: count = %s, want 105", c.query, got)
		}
	}
}

func TestListLinks(t *testing.T) {
	s := newSite(t)
	crowd(s, 25)
	const people = "/v1/people/"
	for _, c := range []struct{ query, next, previous string }{
		{"", "?limit=10&offset=10", ""},
		{"?offset=10", "?limit=10&offset=20", "?limit=10"},
		{"?offset=20", "", "?limit=10&offset=10"},
		{"?offset=5", "?limit=10&offset=15", "?limit=10"},
		{"?limit=500", "", ""},
		{"?offset=15", "", "?limit=10&offset=5"},
		{"?offset=40", "", "?limit=10&offset=30"},
		{"?z=1&limit=2&a=x%26y&a=b&offset=2", "?a=x%26y&a=b&limit=2&offset=4&z=1", "?a=x%26y&a=b&limit=2&z=1"},
		{"?offset=2&limit=7&limit=2&offset=4", "?limit=2&offset=6", "?limit=2&offset=2"},
		{"?search=ana+so%22%3B%3C&x", "", ""},
		{"?is_leader=no&q=%F0%9F%98%80;b", "?is_leader=no&limit=10&offset=10&q=%F0%9F%98%80%3Bb", ""},
	} {
		a := s.status(s.do("GET", people+c.query, "", invalid), 200)
		for name, want := range map[string]string{"next": c.next, "previous": c.previous} {
			if want != "" {
				want = s.url + people + want
			}
			if got := a.text(t, name); got != want {
				t.Errorf("%s: %s = %q, want %q", c.query, name, got, want)
			}
		}
	}
	a := s.do("GET", people+"?limit=1000&offset=0&x=y", "", invalid)
	if !strings.HasPrefix(a.body, `{"count":25,"next":null,"previous":null,"results":[{"id":1,`) || !strings.HasSuffix(a.body, "}]}") {
		t.Errorf("envelope = %.80s", a.body)
	}
	if a = s.do("GET", people+"?limit=1", ""); !strings.Contains(a.text(t, "next"), "limit=1&offset=1") {
		t.Errorf("next = %s", a.text(t, "next"))
	}
	crowd(s, 80)
	if a = s.do("GET", people+"?limit=1000", ""); a.text(t, "next") != s.url+people+"?limit=100&offset=100" {
		t.Errorf("next of a cut limit = %s", a.text(t, "next"))
	}
}

func TestListLinksCanBeFollowedToTheEndAndBack(t *testing.T) {
	s := newSite(t)
	crowd(s, 23)
	var seen []int64
	link, last := "/v1/people/?limit=5", ""
	for link != "" {
		a := s.status(s.do("GET", strings.TrimPrefix(link, s.url), ""), 200)
		seen = append(seen, a.ids(t)...)
		last, link = link, a.text(t, "next")
	}
	if len(seen) != 23 || !slices.IsSorted(seen) {
		t.Errorf("ids = %v", seen)
	}
	pages := 0
	for link = last; link != ""; pages++ {
		link = s.do("GET", strings.TrimPrefix(link, s.url), "").text(t, "previous")
	}
	if pages != 5 {
		t.Errorf("%d pages back, want 5", pages)
	}
}

func TestListLinksAreBelowThePublicURL(t *testing.T) {
	s := newSite(t, func(c *api.Config) { c.PublicURL = "https://centre.example:8443/doorward/" })
	crowd(s, 2)
	below := s.at(s.url + "/doorward")
	a := s.status(below.do("GET", "/v1/people/?limit=1", "", header("X-Forwarded-Host", "evil.example")), 200)
	if got := a.text(t, "next"); got != "https://centre.example:8443/doorward/v1/people/?limit=1&offset=1" {
		t.Errorf("next = %s", got)
	}
	a = s.status(below.do("POST", "/v1/people/", `{}`), 201)
	if got := a.header.Get("Location"); got != "https://centre.example:8443/doorward/v1/people/3/" {
		t.Errorf("Location = %s", got)
	}
	s.status(s.do("GET", "/elsewhere/v1/people/", ""), 404)
	s.status(below.do("GET", "/healthz", "", anybody), 200)
	s.status(below.do("GET", "/readyz", "", anybody, host("monitor.example")), 200)
	s.status(below.do("GET", "/docs/", "", anybody), 200)
	if _, err := api.New(api.Config{Store: s.store, PublicURL: "centre.example"}); err == nil {
		t.Error("a public URL without scheme was taken")
	}
}

func TestListLinksUseTheHostThatWasAsked(t *testing.T) {
	s := newSite(t, func(c *api.Config) { c.AllowedHosts = []string{"venue.example"} })
	crowd(s, 2)
	a := s.do("GET", "/v1/people/?limit=1", "", host("venue.example:81"), header("X-Forwarded-Proto", "https"), header("X-Forwarded-Host", "evil.example"))
	if got := a.text(t, "next"); got != "http://venue.example:81/v1/people/?limit=1&offset=1" {
		t.Errorf("next = %s", got)
	}
}

func TestListResultsAreNeverNull(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/v1/people/?offset=99", "/v1/event/?offset=99", membersPath(w.group), "/admin/v1/scan/", "/v1/financial_entries/?offset=5"} {
		if a := w.status(w.do("GET", path, ""), 200); !strings.HasSuffix(a.body, `"results":[]}`) {
			t.Errorf("GET %s = %s", path, a.body)
		}
	}
}

// The rows of contract.md §6, but for search's own, which are the store's.

func TestFilterChurchAndRegional(t *testing.T) {
	w := newWorld(t)
	c := func(list ...int64) []int64 { return list }
	for _, r := range []struct {
		path string
		want []int64
	}{
		{fmt.Sprintf("/v1/people/?church_id=%d", w.church), c(w.person)},
		{fmt.Sprintf("/v1/people/?church_id=%d&church_id=%d", w.church, w.far), c(w.person, w.farPerson)},
		{fmt.Sprintf("/v1/people/?church_id=%d&church_id=", w.far), c(w.farPerson)},
		{"/v1/people/?church_id=", c(w.person, w.farPerson, w.nomad)},
		{"/v1/people/?church_id=%20&unknown=1&fuzzy=true", c(w.person, w.farPerson, w.nomad)},
		{fmt.Sprintf("/v1/event/?church_id=%d", w.far), c(w.farEvent)},
		{"/v1/event/?church_id=null", c(w.openEvent)},
		{fmt.Sprintf("/v1/event/?church_id=null&church_id=%d", w.church), c(w.event, w.openEvent)},
		{"/v1/event/?regional_id=null", c(w.event, w.farEvent, w.openEvent)},
		{fmt.Sprintf("/v1/event/?regional_id=%d", w.regional), nil},
	} {
		a := w.status(w.do("GET", r.path, "", invalid), 200)
		if got := a.ids(t); !slices.Equal(got, r.want) || a.text(t, "count") != strconv.Itoa(len(r.want)) {
			t.Errorf("GET %s = %v of %s, want %v", r.path, got, a.text(t, "count"), r.want)
		}
	}
}

func TestFilterChurchThatCannotBeMeant(t *testing.T) {
	w := newWorld(t)
	pick := func(id any) string {
		return fmt.Sprintf("Select a valid choice. %v is not one of the available choices.", id)
	}
	for value, want := range map[string]string{
		"1,2": "“1,2” is not a valid value.", "abc": "“abc” is not a valid value.", "null": "“null” is not a valid value.", "1.5": "“1.5” is not a valid value.",
		"99": pick(99), "0": pick(0), "-1": pick(-1), "99999999999999999999": pick("99999999999999999999"),
	} {
		a := w.status(w.do("GET", "/v1/people/?church_id="+value, "", invalid), 400)
		if got := a.text(t, "error.details.church_id.0"); got != want {
			t.Errorf("church_id=%s: %q, want %q", value, got, want)
		}
	}
	s := w.as(fmt.Sprintf("church:%d", w.church))
	a := s.status(s.do("GET", fmt.Sprintf("/v1/people/?church_id=%d", w.far), ""), 400)
	if got := a.text(t, "error.details.church_id.0"); got != pick(w.far) {
		t.Errorf("a church out of scope: %q", got)
	}
	s.status(s.do("GET", fmt.Sprintf("/v1/event/?church_id=%d", w.far), ""), 400)
}

func TestFilterMomentsAreInclusiveToTheMicrosecond(t *testing.T) {
	zone := time.FixedZone("BRT", -3*3600)
	clock := kvtest.NewClock(time.Date(2024, 5, 1, 2, 59, 59, 999_999_000, time.UTC)) // still April there
	s := newSiteOver(t, kvtest.OpenConfig(t, table.Config{Clock: clock.Now, Zone: zone}))
	s.create(record.Person, `{"full_name":"April"}`)
	clock.Move(time.Microsecond)
	s.create(record.Person, `{"full_name":"May"}`)
	for _, c := range []struct {
		query string
		want  []int64
	}{
		{"created_at_after=2024-05-01", []int64{2}}, {"created_at_before=2024-04-30", []int64{1}}, {"created_at_before=2024-05-01", []int64{1, 2}},
		{"created_at_after=2024-05-01T03:00:00Z", []int64{2}}, {"created_at_before=2024-05-01T03:00:00Z", []int64{1, 2}},
		{"created_at_before=2024-05-01T02:59:59.999999Z", []int64{1}}, {"created_at_after=2024-05-01T02:59:59.999999Z", []int64{1, 2}},
		{"created_at_after=2024-05-01T00:00:00", []int64{2}}, {"created_at_after=2024-05-01+00:00:00", []int64{2}},
		{"created_at_after=2024-05-01T04:00:00+01:00", []int64{2}}, {"created_at_after=2024-05-01T04:00:00%2B0100", []int64{2}},
		{"updated_at_after=2024-05-01", []int64{2}}, {"updated_at_before=2024-04-30&updated_at_after=2024-04-30", []int64{1}},
		{"created_at_after=2024-06-01&created_at_before=2024-05-01", []int64{}}, {"created_at_after=", []int64{1, 2}},
		{"created_at_after=x&created_at_after=2024-05-01", []int64{2}},
	} {
		a := s.status(s.do("GET", "/v1/people/?"+c.query, ""), 200)
		if got := a.ids(t); !slices.Equal(got, c.want) {
			t.Errorf("%s = %v, want %v", c.query, got, c.want)
		}
	}
	for _, name := range []string{"created_at_after", "created_at_before", "updated_at_after", "updated_at_before"} {
		for _, value := range []string{"yesterday", "2024-13-01", "2024-5-1", "1714532400"} {
			a := s.status(s.do("GET", "/v1/people/?"+name+"="+value, ""), 400)
			if got := a.text(t, "error.details."+name+".0"); got != "Enter a valid date/time." {
				t.Errorf("%s=%s: %q", name, value, got)
			}
		}
	}
}

func TestFilterEventsByStartAndEnd(t *testing.T) {
	s := newSite(t)
	early := s.create(record.Event, `{"start_datetime":"2024-05-01T10:00:00Z","end_datetime":"2024-05-01T12:00:00Z"}`)
	late := s.create(record.Event, `{"start_datetime":"2024-06-01T10:00:00Z","end_datetime":"2024-06-02T12:00:00Z"}`)
	for query, want := range map[string][]int64{
		"start_after=2024-05-01": {early, late}, "start_after=2024-05-02": {late}, "start_before=2024-05-31": {early}, "end_after=2024-06-02": {late},
		"end_before=2024-06-01T23:59:59Z": {early}, "end_before=2024-06-02T12:00:00Z": {early, late}, "created_at_after=2024-05-02&start_before=2024-05-02": {early},
	} {
		if got := s.status(s.do("GET", "/v1/event/?"+query, ""), 200).ids(t); !slices.Equal(got, want) {
			t.Errorf("%s = %v, want %v", query, got, want)
		}
	}
}

func TestFilterBooleans(t *testing.T) {
	s := newSite(t)
	leader := s.create(record.Person, `{"full_name":"Ana","is_leader":true}`)
	other := s.create(record.Person, `{"full_name":"Bia"}`)
	for query, want := range map[string][]int64{
		"is_leader=true": {leader}, "is_leader=YES": {leader}, "is_leader=1": {leader}, "is_leader=off": {other}, "is_leader=": {leader, other}, "is_pastor=f": {leader, other},
	} {
		if got := s.status(s.do("GET", "/v1/people/?"+query, "", invalid), 200).ids(t); !slices.Equal(got, want) {
			t.Errorf("%s = %v, want %v", query, got, want)
		}
	}
	a := s.status(s.do("GET", "/v1/people/?is_leader=maybe", "", invalid), 400)
	if got := a.text(t, "error.details.is_leader.0"); got != "Must be a valid boolean." {
		t.Errorf("is_leader=maybe: %q", got)
	}
}

func TestFilterSearch(t *testing.T) {
	w := newWorld(t)
	ana := w.create(record.Person, `{"full_name":"Ána Clara D'Ávila","email":"clara@mail.example","mobile_phone":"+55 (11) 98765-4321","membership_number":4711}`)
	for query, want := range map[string][]int64{
		"ana": {w.person, ana}, "ANA+souza": {w.person}, "clara,avila": {ana}, "%22ana+clara%22": {ana}, "%22clara+ana%22": {}, "98765": {ana}, "4711": {ana}, "471": {},
		"mail.example": {ana}, "souza+clara": {}, "": {w.person, w.farPerson, w.nomad, ana}, "++": {w.person, w.farPerson, w.nomad, ana}, "!!": {},
	} {
		a := w.status(w.do("GET", "/v1/people/?search="+query, ""), 200)
		if got := a.ids(t); !slices.Equal(got, want) {
			t.Errorf("search=%s: %v, want %v", query, got, want)
		}
	}
	a := w.do("GET", fmt.Sprintf("/v1/people/?search=x&search=ana&church_id=%d", w.church), "")
	if got := a.ids(t); !slices.Equal(got, []int64{w.person}) {
		t.Errorf("search within a church, the last one counting = %v", got)
	}
}
