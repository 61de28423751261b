package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// sweep asks with one key about a whole congregation.
type sweep struct {
	*caller
	c *congregation
}

// missing is the id of nothing, for each kind.
func missing(kind string) string {
	switch kind {
	case "double_entries", "checkin", "scan", "undo", "conflict", "refusal", "conflicts", "refusals", "erasure":
		return "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	}
	return "9999"
}

// ask sends a request and looks for the markers of what the key must not see.
func (s *sweep) ask(method, path, body string, headers ...string) answer {
	a := s.caller.ask(method, path, body, headers...)
	for _, marker := range markers.FindAllString(fmt.Sprint(a.header)+a.body, -1) {
		r := s.c.marked[marker]
		if echo := strings.Contains(path+body+strings.Join(headers, " "), marker); r != nil && !echo && !s.c.sees(s.reach, r) {
			s.Errorf("%s %s %s shows %s %s: %d %s", method, path, body, r.kind, r.id, a.status, a.body)
		}
	}
	return a
}

// spots are all routes of the document that need a key.
func (s *sweep) spots() (list []spot) {
	for path, item := range s.c.document().Paths.Map() {
		for method := range item.Operations() {
			if p, ok := readSpot(method, path); ok {
				if classOf[p.kind] == "" && !p.aFile() {
					s.Errorf("%s %s: a route that the sweep does not know", method, path)
				}
				list = append(list, p)
			}
		}
	}
	slices.SortFunc(list, func(a, b spot) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return list
}

// same wants two answers to be the same byte for byte, but for the ids that were asked about.
func (s *sweep) same(what string, id string, a answer, none string, b answer) {
	s.Helper()
	if x, y := masked(a, id), masked(b, none); x != y {
		s.Errorf("%s %s:\n%s\nbut %s, which is not there:\n%s", what, id, x, none, y)
	}
}

// masked is an answer without what differs each time, and with its id masked.
func masked(a answer, id string) string {
	h := maps.Clone(a.header)
	for _, name := range []string{"Date", "X-Request-Id", "Content-Length"} {
		delete(h, name)
	}
	text := fmt.Sprintf("%d %v %s", a.status, h, a.body)
	return regexp.MustCompile(`\b`+regexp.QuoteMeta(id)+`\b`).ReplaceAllString(text, "ID")
}

// unseen are the records of a kind that the key must not see.
func (s *sweep) unseen(kind string) (list []*lore) {
	for _, r := range s.c.all(kind) {
		if !s.c.sees(s.reach, r) || kind == "api_key" && !s.reach.whole() {
			list = append(list, r)
		}
	}
	return list
}

// results are the ids and markers of a list, and its count.
func (s *sweep) results(path string) (ids map[string]string, count int) {
	ids = map[string]string{}
	for more := true; more; {
		a := s.ask("GET", fmt.Sprintf("%slimit=100&offset=%d", path, len(ids)), "")
		var page struct {
			Count   int
			Results []json.RawMessage
		}
		if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.status != 200 {
			s.Errorf("GET %s = %d %s", path, a.status, a.body)
			return ids, 0
		}
		for _, raw := range page.Results {
			var r struct {
				ID        json.RawMessage
				CheckinID json.RawMessage `json:"checkin_id"`
			}
			if err := json.Unmarshal(raw, &r); err != nil {
				s.Error(err)
			}
			if r.ID == nil {
				r.ID = r.CheckinID // a double entry has no other
			}
			ids[strings.Trim(string(r.ID), `"`)] = string(raw)
		}
		count = page.Count
		more = len(ids) < count && len(page.Results) > 0
	}
	return ids, count
}

// lists wants each list to hold what the model says, and to count it. Refusals that the sweep itself leaves are the exception.
func (s *sweep) lists() {
	for _, p := range s.spots() {
		switch {
		case p.method != "GET" || p.named && !p.under || p.kind == "import" || p.searches():
		case strings.HasSuffix(p.path, "/double_entries/") && p.atDoor():
			for _, event := range s.c.all("event") {
				if s.c.sees(s.reach, event) {
					s.list(p.at(event.id)+"?", "double_entries", func(r *lore) bool { return r.refs["event_id"] == event.number() })
				}
			}
		case strings.HasSuffix(p.path, "/history/"): // revisions, not records
		case p.kind == "reviews": // of facts that are in other lists, too
			s.ask("GET", p.path, "")
		case p.kind == "reads": // counts, not records
		case p.atDoor(): // the status of an event: it holds no records
		case p.under: // memberships
			for _, group := range s.c.all("group") {
				if s.c.sees(s.reach, group) {
					s.list(p.at(group.id)+"?", "membership", func(r *lore) bool { return r.refs["group_id"] == group.number() })
				}
			}
		case p.path == "/admin/v1/api_key/" && !s.reach.whole():
			s.list(p.path+"?", p.kind, func(*lore) bool { return false })
		default:
			s.list(p.path+"?", p.kind, func(*lore) bool { return true })
		}
	}
}

// list wants a list to hold the seen records of a kind for which holds is true.
func (s *sweep) list(path, kind string, holds func(*lore) bool) {
	got, count := s.results(path)
	if count != len(got) {
		s.Errorf("GET %s counts %d and holds %d", path, count, len(got))
	}
	wanted := map[string]bool{}
	for _, r := range s.c.all(kind) {
		if s.c.sees(s.reach, r) && holds(r) {
			wanted[r.id] = true
			if !strings.Contains(got[r.id], r.marker) && kind != "membership" {
				s.Errorf("GET %s lacks %s %s: %v", path, kind, r.id, got[r.id])
			}
		}
	}
	for id := range got {
		if !wanted[id] && kind != "scan" && kind != "api_key" {
			s.Errorf("GET %s holds %s %s: %s", path, kind, id, got[id])
		}
	}
}

// refKind is the kind that a filter or a member of a body names.
func refKind(name string) string {
	switch kind := strings.TrimSuffix(name, "_id"); {
	case name == "person":
		return name
	case name == "checkin_id": // see texts
		return ""
	case name != kind && classOf[kind] != "" && kind != "api_key":
		return kind
	}
	return ""
}

// filters asks every list for every record that it may be asked for.
func (s *sweep) filters() {
	for path, item := range s.c.document().Paths.Map() {
		p, ok := readSpot("GET", path)
		if !ok || item.Get == nil || p.named || p.kind == "api_key" {
			continue
		}
		for _, parameter := range item.Get.Parameters {
			name := parameter.Value.Name
			switch name {
			case "external_id":
				s.texts(p, name, "zq0000qz", p.kind, func(r *lore) string { return r.marker })
			case "checkin_id":
				s.texts(p, name, missing("checkin"), "checkin", func(r *lore) string { return r.id })
			}
			if refKind(name) == "" {
				continue
			}
			for _, r := range s.c.all(refKind(name)) {
				s.filter(p, name, r)
			}
		}
	}
}

// filter asks a list for one record. A church counts as unknown where it is not the key's own.
func (s *sweep) filter(p spot, name string, r *lore) {
	choosable := s.c.sees(s.reach, r)
	if r.kind == "church" && s.reach.name != "event" {
		choosable = s.c.owns(s.reach, r.number())
	}
	path := p.path + "?" + name + "="
	if choosable {
		s.list(path+r.id+"&", p.kind, func(x *lore) bool { return fmt.Sprint(x.refs[name]) == r.id })
		return
	}
	none := missing(r.kind)
	s.same("GET "+path, r.id, s.ask("GET", path+r.id, ""), none, s.ask("GET", path+none, ""))
}

// texts asks a list for what a text of each record of a kind leads to that the key must not see.
func (s *sweep) texts(p spot, name, none, kind string, of func(*lore) string) {
	path := p.path + "?" + name + "="
	for _, r := range s.unseen(kind) {
		s.same("GET "+path, of(r), s.ask("GET", path+of(r), ""), none, s.ask("GET", path+none, ""))
	}
}

// permitted asks every route about a record that is there, one that is not, and with a body that cannot be read.
func (s *sweep) permitted() {
	for _, p := range s.spots() {
		about := []*lore{nil}
		if p.named {
			about = append(about, s.c.all(p.kind)...)
		}
		if p.method == "DELETE" {
			about = slices.DeleteFunc(about, func(r *lore) bool { return s.c.want(s.reach, s.permissions, p, r) == 200 })
		}
		if len(about) > 4 { // the first ones and the last
			about = append(about[:3:3], about[len(about)-1])
		}
		for _, r := range about {
			s.judge(p, r)
		}
	}
}

// judge holds three requests to a route against the model: one as it should be, one of another media type, one without a key.
func (s *sweep) judge(p spot, r *lore) {
	path, body := p.at(missing(p.kind)), ""
	if r != nil {
		path = p.at(r.id)
	}
	switch p.method {
	case "POST":
		body = `{"name":"","full_name":"","gender":"x"}`
	case "PATCH":
		body = `{}`
	}
	want := s.c.want(s.reach, s.permissions, p, r)
	if a := s.ask(p.method, path, body); a.status != want {
		s.Errorf("%s %s = %d %s, want %d", p.method, path, a.status, a.body, want)
	}
	if body == "" {
		return
	}
	if want == 200 || want == 400 && p.kind != "import" {
		want = 415
	}
	if a := s.ask(p.method, path, "{{", "Content-Type", "text/plain"); a.status != want {
		s.Errorf("%s %s with text/plain = %d %s, want %d", p.method, path, a.status, a.body, want)
	}
	stranger := *s.wire
	stranger.auth[1] = "wrong"
	if a := stranger.ask(p.method, path, "{{", "Content-Type", "text/plain"); a.status != 401 {
		s.Errorf("%s %s without a right secret = %d, want 401", p.method, path, a.status)
	}
}
