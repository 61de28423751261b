package api_test

import (
	"fmt"
	"strings"
)

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
				probe{fmt.Sprintf(`{"scans":[{"code":%q,"at":"2026-01-01T10:00:00Z","let_in":true}]}`, t.code), nil})
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
				fmt.Fprintf(&lines, "{\"external_id\":%q,\"name\":\"taken\",\"full_name\":\"taken\"}\n", r.marker)
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

// codes brings the codes of events outside to the doors of those inside, and undoes what was admitted elsewhere.
func (s *sweep) codes() {
	for _, event := range s.c.all("event") {
		if !s.c.sees(s.reach, event) {
			continue
		}
		for i, t := range s.unseen("ticket") {
			for path, form := range map[string]string{checkinPath(event.number()): `{"code":%q}`, "/door/v1/event/" + event.id + "/scan/": `{"code":%q}`,
				"/door/v1/event/" + event.id + "/scans/": `{"scans":[{"code":%q,"at":"2026-01-01T10:00:00Z","let_in":true}]}`} {
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
