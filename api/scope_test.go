package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doorward/api"
	"doorward/kv/auth"
	"doorward/kv/record"
)

// permissionSets are what the keys of each level may do besides everything.
var permissionSets = [][]string{nil, {"people:GET", "admin:GET"}, {"checkin:*"}, {"*:GET"}, {"admin:*", "event:*"}, {"memberships:POST", "financial_entries:*"}}

// TestScopeShowsNothingOutside asks every route about every record with a key of each level, and holds the answers against the
// naive model: what lies outside is as if it were not there, in every byte.
func TestScopeShowsNothingOutside(t *testing.T) {
	c := drawCongregation(t, 1)
	before := c.export()
	for _, v := range c.reaches() {
		t.Run(v.String(), func(t *testing.T) {
			s := &sweep{caller: c.caller(v, "*:*"), c: c}
			s.TB = t
			s.lists()
			s.filters()
			s.outside()
			s.writes()
			s.codes()
			s.once()
		})
	}
	c.unchanged(before)
}

// TestScopePermissionsAndOrder asks every route with keys of each level and set of permissions, with good bodies and broken ones.
func TestScopePermissionsAndOrder(t *testing.T) {
	c := drawCongregation(t, 2)
	before := c.export()
	for _, v := range c.reaches() {
		for _, permissions := range append([][]string{{"*:*"}}, permissionSets...) {
			t.Run(fmt.Sprintf("%s %v", v, permissions), func(t *testing.T) {
				s := &sweep{caller: c.caller(v, permissions...), c: c}
				s.TB = t
				s.permitted()
			})
		}
	}
	c.unchanged(before)
}

// TestScopeNoKeyMakesALargerOne lets keys make keys of every level and looks through the eyes of what they made.
func TestScopeNoKeyMakesALargerOne(t *testing.T) {
	c := drawCongregation(t, 3)
	for _, v := range c.reaches() {
		for _, permissions := range [][]string{{"*:*"}, {"admin:*", "event:*"}}[:1+len(v.ids)%2] {
			t.Run(fmt.Sprintf("%s %v", v, permissions), func(t *testing.T) {
				s := &sweep{caller: c.caller(v, permissions...), c: c}
				s.TB = t
				s.makeKeys()
			})
		}
	}
}

func TestScopeNestedRecordOutsideHasNoName(t *testing.T) {
	w := newWorld(t)
	w.create(record.FinancialEntry, strings.Replace(w.entryOf(w.church), "{", fmt.Sprintf(`{"small_group_ids":[%d,%d],`, w.group, w.farGroup), 1))
	s := w.as(fmt.Sprintf("church:%d", w.church))
	want := fmt.Sprintf(`[{"id":%d,"name":"Choir"},{"id":%d,"name":null}]`, w.group, w.farGroup)
	if got := s.status(s.do("GET", "/v1/financial_entries/", ""), 200).text(t, "results.1.small_groups"); got != want {
		t.Errorf("small_groups = %s, want %s", got, want)
	}
	if got := w.status(w.do("GET", "/v1/financial_entries/", ""), 200).text(t, "results.2.small_groups"); !strings.Contains(got, "Surf") {
		t.Errorf("small_groups = %s to a key that sees both", got)
	}
}

// export is everything that the operator has, by kind and id.
func (c *congregation) export() map[string]string {
	c.Helper()
	all := map[string]string{}
	for _, k := range record.Kinds() {
		n := 0
		err := c.store.Log.Export(auth.Operator(), k, func(json []byte) error {
			id, _, _ := bytes.Cut(json, []byte{','}) // {"id":7
			all[k.Name+" "+string(id)] = string(json)
			n++
			return nil
		})
		if err != nil {
			c.Fatalf("export %s: %v", k.Name, err)
		}
	}
	return all
}

// unchanged wants all that was exported before as it was. Only refusals at a door, and the test's own keys, may be new.
func (c *congregation) unchanged(before map[string]string) {
	c.Helper()
	now := c.export()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if now[name] != before[name] {
			c.Errorf("%s was\n%s, is\n%s", name, before[name], now[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if before[name] == "" && !strings.HasPrefix(name, "scan ") && !strings.HasPrefix(name, "api_key ") {
			c.Errorf("new: %s", now[name])
		}
	}
}

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
	if want == 200 || want == 400 && p.kind != "decode" {
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

// outside asks every route that names a record about each one that the key must not see, and compares with one that is not there.
func (s *sweep) outside() {
	operator := s.c.wire()
	for _, p := range s.spots() {
		if !p.named {
			continue
		}
		list := s.unseen(p.kind)
		if p.kind == "api_key" && strings.HasPrefix(p.path, "/admin/v1/keys/") {
			list = nil // those within the key's own are seen there
			for _, r := range s.c.all("api_key") {
				if !s.c.sees(s.reach, r) {
					list = append(list, r)
				}
			}
		}
		none := missing(p.kind)
		for _, r := range list {
			if r.tag == "" {
				r.tag = operator.ask("GET", "/admin/v1/"+r.kind+"/"+r.id+"/", "").header.Get("Etag")
			}
			for _, q := range s.probes(p, r) {
				a := s.ask(p.method, p.at(r.id), q.body, q.headers...)
				s.same(fmt.Sprint(p.method, " ", p.path, " ", q.body, q.headers), r.id, a, none, s.ask(p.method, p.at(none), q.body, q.headers...))
				if a.status != 404 && a.status != 403 {
					s.Errorf("%s %s = %d %s, want 404", p.method, p.at(r.id), a.status, a.body)
				}
			}
		}
	}
}

// probe is a way to ask about a record that one must not see.
type probe struct {
	body    string
	headers []string
}

// probes are all ways that a route has.
func (s *sweep) probes(p spot, r *lore) []probe {
	ways := []probe{{"", nil}, {"", []string{"If-Match", r.tag}}}
	switch {
	case p.method == "GET":
		return append(ways, probe{"", []string{"If-None-Match", r.tag}})
	case p.method == "PATCH":
		return append(ways, probe{`{"name":"x","full_name":"x"}`, []string{"If-Match", r.tag + `, "1-x"`}}, probe{`{"gender":3`, nil},
			probe{"x", []string{"Content-Type", "text/plain"}})
	case p.method == "DELETE":
		return append(ways, probe{"", []string{"If-Match", `"1-00000000000000000000000000000000"`}})
	}
	for _, t := range s.c.all("ticket") { // POST below a record: a check-in, a scan, an undo, a membership
		if p.kind == "event" && t.refs["event_id"] == r.number() {
			ways = append(ways, probe{fmt.Sprintf(`{"code":%q,"nonce":"n"}`, t.code), []string{"Idempotency-Key", "n-" + t.code}},
				probe{fmt.Sprintf(`{"scans":[{"code":%q,"at":%q,"let_in":true}]}`, t.code, thisSecond()), nil})
		}
	}
	for _, f := range s.c.all("checkin") {
		if p.kind == "event" && f.refs["event_id"] == r.number() {
			ways = append(ways, probe{fmt.Sprintf(`{"checkin_id":%q}`, f.id), nil})
		}
	}
	return append(ways, probe{fmt.Sprintf(`{"person":%d}`, s.c.one("person")), nil}, probe{"x", []string{"Content-Type", "text/plain"}})
}

// writes names records outside in bodies: what comes back is what comes back for those that are not there. Nothing is made: each
// body holds what is refused besides.
func (s *sweep) writes() {
	for _, p := range s.spots() {
		form := s.c.document().Paths.Value(p.path).GetOperation(p.method).RequestBody
		if form == nil || form.Value.Content.Get("application/json") == nil || p.under && p.kind == "event" {
			continue
		}
		path, ok := s.target(p)
		if !ok {
			continue
		}
		for name := range form.Value.Content.Get("application/json").Schema.Value.Properties {
			kind := refKind(name)
			if kind == "" {
				continue
			}
			for _, r := range s.unseen(kind) {
				body := `{%q:%s,"created_at":"never","name":"","full_name":"","gender":"x","is_approved":"x"}`
				a, none := s.ask(p.method, path, fmt.Sprintf(body, name, r.id)), missing(kind)
				s.same(p.method+" "+path+" "+name, r.id, a, none, s.ask(p.method, path, fmt.Sprintf(body, name, none)))
				if a.status < 400 {
					s.Errorf("%s %s with %s %s = %d %s", p.method, path, name, r.id, a.status, a.body)
				}
			}
		}
	}
	s.imports()
}

// target is a path of a spot that the key may write to; ok is false where it sees no such record.
func (s *sweep) target(p spot) (string, bool) {
	if !p.named {
		return p.path, true
	}
	for _, r := range s.c.all(p.kind) {
		if s.c.sees(s.reach, r) && s.c.changes(s.reach, r) {
			return p.at(r.id), true
		}
	}
	return "", false
}

// imports tries to change what lies outside by its id and by its external_id.
func (s *sweep) imports() {
	for _, kind := range []string{"person", "group", "event", "ticket", "financial_entry", "membership", "church", "supplier"} {
		var lines strings.Builder
		for _, r := range s.c.all(kind) {
			if s.c.sees(s.reach, r) && (classOf[kind] != "everyone's" && classOf[kind] != "finances" || s.reach.whole()) {
				continue
			}
			fmt.Fprintf(&lines, "{\"id\":%s,\"name\":\"taken\",\"full_name\":\"taken\"}\n", r.id)
			if r.body == "" {
				s.numbers(kind, r.marker)
			}
		}
		if lines.Len() == 0 {
			continue
		}
		a := s.ask("POST", "/admin/v1/import/?kind="+kind, lines.String(), "Content-Type", "application/x-ndjson")
		if a.status != 200 || a.text(s, "created") != "0" || a.text(s, "updated") != "0" {
			s.Errorf("import of %s = %d %s", kind, a.status, a.body)
		}
	}
}

// numbers wants the import of an external_id that a record outside has to be answered as that of one that no record has.
func (s *sweep) numbers(kind, taken string) {
	try := func(ext string) answer {
		line := fmt.Sprintf("{\"external_id\":%q,\"name\":\"taken\",\"full_name\":\"taken\"}\n", ext)
		return s.ask("POST", "/admin/v1/import/?dry_run=true&kind="+kind, line, "Content-Type", "application/x-ndjson")
	}
	s.same("import of "+kind, taken, try(taken), "zqnone", try("zqnone"))
}

// codes brings the codes of events outside to the doors of those inside, and undoes what was admitted elsewhere.
func (s *sweep) codes() {
	for _, event := range s.c.all("event") {
		if !s.c.sees(s.reach, event) {
			continue
		}
		for i, t := range s.unseen("ticket") {
			for path, form := range map[string]string{checkinPath(event.number()): `{"code":%q}`, "/door/v1/event/" + event.id + "/scan/": `{"code":%q}`,
				"/door/v1/event/" + event.id + "/scans/": `{"scans":[{"code":%q,"at":"` + thisSecond() + `"}]}`} {
				if home := event.refs["church_id"]; strings.HasPrefix(path, "/door") && home != 0 && s.c.find("event", t.refs["event_id"]).refs["church_id"] == home {
					if a := s.ask("POST", path, fmt.Sprintf(form, t.code)); !strings.Contains(a.body, "wrong_event") { // helpers are told so much
						s.Errorf("%s at event %s = %s", t.code, event.id, a.body)
					}
					continue
				}
				nobody := fmt.Sprintf("nobody%d", i)
				a, b := s.ask("POST", path, fmt.Sprintf(form, t.code)), s.ask("POST", path, fmt.Sprintf(form, nobody))
				s.same("POST "+path, t.code, a, nobody, b)
				if !strings.Contains(a.body, "unknown_code") {
					s.Errorf("%s at event %s = %s", t.code, event.id, a.body)
				}
			}
		}
		for _, f := range s.c.all("checkin") {
			if f.refs["event_id"] != event.number() {
				path, none := "/door/v1/event/"+event.id+"/undo/", missing("checkin")
				s.same("POST "+path, f.id, s.ask("POST", path, fmt.Sprintf(`{"checkin_id":%q}`, f.id)), none, s.ask("POST", path, fmt.Sprintf(`{"checkin_id":%q}`, none)))
			}
		}
	}
}

// once sends the requests of another key again, with its Idempotency-Keys: none of its answers comes back.
func (s *sweep) once() {
	for _, r := range s.c.all("person") {
		if r.body == "" || s.c.sees(s.reach, r) {
			continue
		}
		a, b := s.ask("POST", "/v1/people/", r.body, "Idempotency-Key", r.marker), s.ask("POST", "/v1/people/", r.body, "Idempotency-Key", "fresh")
		s.same("POST /v1/people/ "+r.body, r.marker, a, r.marker, b)
		if a.status < 400 {
			s.Errorf("another key's Idempotency-Key = %d %s", a.status, a.body)
		}
	}
}

// makeKeys makes keys of every level and some permissions: just those within the key's own are made, and what they show and allow
// lies within what their maker is shown and allowed.
func (s *sweep) makeKeys() {
	levels := append(s.c.reaches(), reach{"church", []int64{3}}, reach{"regional", []int64{2}}, reach{"regional", []int64{1, 2}}, reach{"church", []int64{1, 3}})
	for _, v := range levels {
		for _, permissions := range [][]string{{"*:*"}, {}, {"event:GET"}, {"admin:*", "event:POST"}, {"*:GET"}} {
			list := `"` + strings.Join(permissions, `","`) + `"`
			if len(permissions) == 0 {
				list = ""
			}
			a := s.ask("POST", "/admin/v1/keys/", fmt.Sprintf(`{"name":"n","level":%q,"permissions":[%s]}`, v, list))
			want := 403
			if s.c.within(s.reach, v) && s.grants(permissions) {
				want = 201
			}
			if a.status != want {
				s.Errorf("a key of %s with %v = %d %s, want %d", v, permissions, a.status, a.body, want)
			}
			if a.status == 201 {
				s.child(v, permissions, [2]string{a.text(s, "key"), a.text(s, "secret")})
			}
		}
	}
}

// grants tells whether all that permissions allow, the key's own allow too.
func (s *sweep) grants(permissions []string) bool {
	for _, resource := range []string{"people", "group", "memberships", "financial_entries", "event", "checkin", "admin", "sync"} {
		for _, method := range []string{"GET", "POST", "PATCH", "PUT", "DELETE"} {
			if may(permissions, resource, method) && !may(s.permissions, resource, method) {
				return false
			}
		}
	}
	return true
}

// child looks at every list and tries every route with a key that the sweep's key has made.
func (s *sweep) child(v reach, permissions []string, auth [2]string) {
	made := &sweep{caller: &caller{s.c.wire(), s.reach, permissions}, c: s.c} // it is held to its maker's level
	made.TB, made.auth = s.TB, auth
	for _, p := range s.spots() {
		path := p.at(missing(p.kind))
		if a := made.ask(p.method, path, ""); a.status != 403 && !may(s.permissions, p.resource(), p.method) {
			s.Errorf("a key of %s with %v may %s %s, its maker not: %d", v, permissions, p.method, path, a.status)
		}
	}
}

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
