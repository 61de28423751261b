package api_test

import (
	"encoding/json"
	"net/url"
	"strconv"
	"testing"

	"doorward/api"
)

// TestScopeSearchShowsNothingOutside searches for everybody and every ticket with a key of each level, without an index and with one.
func TestScopeSearchShowsNothingOutside(t *testing.T) {
	for name, configure := range map[string][]func(*api.Config){"by looking at every record": nil, "by the index": {indexed(t)}} {
		c := drawCongregation(t, 4, configure...)
		for _, v := range c.reaches() {
			t.Run(v.String()+" "+name, func(t *testing.T) {
				s := &sweep{caller: c.caller(v, "*:*"), c: c}
				s.TB = t
				s.search()
				s.doors()
			})
		}
	}
}

// search looks for everybody by name, and by names that are nearly theirs.
func (s *sweep) search() {
	for _, path := range []string{"/v1/people/", "/admin/v1/person/"} {
		for _, r := range s.c.all("person") {
			q := path + "?search=" + url.QueryEscape(r.marker[2:]) // words are found by a part of them
			s.list(q+"&", "person", func(x *lore) bool { return x == r })
			s.near(path+"?fuzzy=true&search="+r.marker+"&", r) // the markers of many others are one edit away
		}
	}
	for _, r := range s.c.all("person") {
		s.near("/admin/v1/person/?ranked=true&search="+r.marker+"&", r)
	}
}

// near wants a list of people to hold only such as the key sees, among them one if it sees it.
func (s *sweep) near(path string, wanted *lore) {
	got, count := s.results(path)
	if count != len(got) || s.c.sees(s.reach, wanted) && got[wanted.id] == "" {
		s.Errorf("GET %s counts %d and holds %v, want %s in it", path, count, got, wanted.id)
	}
	for id := range got {
		if n, err := strconv.ParseInt(id, 10, 64); err != nil || !s.c.sees(s.reach, s.c.find("person", n)) {
			s.Errorf("GET %s shows person %s", path, id)
		}
	}
}

// doors looks for every ticket at every door that the key sees. At the others there is no search: see outside.
func (s *sweep) doors() {
	for _, event := range s.c.all("event") {
		if !s.c.sees(s.reach, event) {
			continue
		}
		for _, t := range s.c.all("ticket") {
			path := "/door/v1/event/" + event.id + "/search/?q=" + t.marker
			a := s.ask("GET", path, "")
			var found struct {
				Results []struct {
					Ticket int64 `json:"ticket_id"`
				}
			}
			if err := json.Unmarshal([]byte(a.body), &found); err != nil || a.status != 200 {
				s.Errorf("GET %s = %d %s", path, a.status, a.body)
			}
			first := int64(0)
			for i, r := range found.Results {
				if i == 0 {
					first = r.Ticket
				}
				if s.c.find("ticket", r.Ticket).refs["event_id"] != event.number() {
					s.Errorf("GET %s shows ticket %d of another event: %s", path, r.Ticket, a.body)
				}
			}
			if t.refs["event_id"] == event.number() && first != t.number() {
				s.Errorf("GET %s = %s, want ticket %s first", path, a.body, t.id)
			}
		}
	}
}
