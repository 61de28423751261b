package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// machineKind is a kind as the model knows it.
type machineKind struct {
	name, resource string
	v1             string // its path on /v1; "" = none
	writes         string // the methods that it has there
	fields         map[string]func(*machine) string
	fixed          []string // those that no PATCH names
}

var machineKinds = []machineKind{
	{"person", "people", "/v1/people/", "GET POST PATCH", map[string]func(*machine) string{
		"full_name": (*machine).fullName, "occupation": oneOf("null", `"Baker"`, `"Cook"`), "is_leader": oneOf("true", "false"), "church_id": (*machine).church}, nil},
	{"group", "group", "/v1/group/", "GET", map[string]func(*machine) string{"name": oneOf(`"Choir"`, `"Surf"`), "church_id": (*machine).someChurch}, nil},
	{"membership", "memberships", "", "", map[string]func(*machine) string{
		"person": ref("person"), "group_id": ref("group"), "is_approved": oneOf("true", "false")}, []string{"person", "group_id"}},
	{"financial_entry", "financial_entries", "/v1/financial_entries/", "GET POST PATCH DELETE", map[string]func(*machine) string{
		"description": oneOf("null", `"Rent"`), "base_amount": oneOf(`"10.00"`, `"0.50"`, `"99999999.99"`), "is_paid": oneOf("true", "false"),
		"transaction_type": oneOf(`"income"`, `"expense"`), "due_date": oneOf("null", `"2020-01-02"`, `"2199-01-02"`),
		"church_id": (*machine).church, "supplier_id": ref("supplier"), "financial_account_id": (*machine).account}, nil},
	{"event", "event", "/v1/event/", "GET", map[string]func(*machine) string{
		"name": oneOf(`"Feast"`, `"Camp"`), "active": oneOf("true", "true", "false"), "enabled": oneOf("true", "true", "false"),
		"list_rule": oneOf(`"once"`, `"daily"`), "start_datetime": oneOf(`"2026-05-01T12:00:00Z"`), "church_id": (*machine).someChurch}, nil},
	{"ticket", "event", "", "", map[string]func(*machine) string{
		"event_id": ref("event"), "code": (*machine).anyCode, "state": oneOf(`"valid"`, `"valid"`, `"valid"`, `"cancelled"`, `"unpaid"`, `"refunded"`, `"blocked"`),
		"holder_name": oneOf("null", `"Ana Souza"`), "type": oneOf("null", `"Adult"`)}, []string{"event_id", "code"}},
	{"supplier", "financial_entries", "", "", map[string]func(*machine) string{"name": oneOf(`"Paper"`, `"Ink"`)}, nil},
}

func oneOf(list ...string) func(*machine) string {
	return func(m *machine) string { return one(m, "value", list...) }
}

// ref draws a record's id, or that of none.
func ref(kind string) func(*machine) string {
	return func(m *machine) string {
		ids := append(slices.Sorted(maps.Keys(m.items[kind])), 1<<30)
		return fmt.Sprint(one(m, kind, ids...))
	}
}

var machineNames = []string{"Ana Souza", "Bia Souza", "Caio Lima", "Dora Anaya", "Élia Lima"}

func (m *machine) fullName() string { return strconv.Quote(one(m, "name", machineNames...)) }
func (m *machine) account() string  { return fmt.Sprint(m.home.account) }
func (m *machine) code(i int) string {
	return fmt.Sprintf("%d-%c7Q", m.churches[0], 'A'+i) // another sequence's codes are others
}
func (m *machine) anyCode() string {
	return strconv.Quote(m.code(one(m, "code", 0, 1, 2, 3, 4)))
}

// church is one of the churches, or none.
func (m *machine) church() string {
	if m.chance(8, "no church") {
		return "null"
	}
	return m.someChurch()
}

// someChurch is for what would be every church's without one, those of other sequences too.
func (m *machine) someChurch() string { return fmt.Sprint(m.churches[one(m, "church", 0, 0, 0, 1, 2)]) }

// surface draws where a method on a kind is sent: path of the list, and the resource of its permission.
func (m *machine) surface(kind machineKind, method string) (path, resource string) {
	if strings.Contains(kind.writes, method) && m.chance(2, "v1") {
		return kind.v1, kind.resource
	}
	return "/admin/v1/" + kind.name + "/", "admin"
}

// create makes a record, perhaps under an Idempotency-Key.
func (m *machine) create() {
	kind := one(m, "kind", machineKinds...)
	if m.chance(3, "ticket") {
		kind = machineKinds[5]
	}
	k, fields := m.anyKey(), map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(kind.fields)) {
		fields[name] = kind.fields[name](m)
	}
	path, resource := m.surface(kind, "POST")
	hidden := false // the group is in the path
	if kind.name == "membership" && m.chance(2, "v1") {
		path, resource, hidden = "/v1/group/"+fields["group_id"]+"/memberships/", kind.resource, true
	}
	body, value, headers := object(fields), "", []string(nil)
	if kind.name != "event" && kind.name != "group" && m.chance(3, "once") { // those would be found by a later sequence's keys
		value = one(m, "idempotency key", "a", "b", "c")
		headers = []string{"Idempotency-Key", value}
	}
	group := m.items["group"][number(fields["group_id"])]
	name := fmt.Sprintf("%d POST %s %s", k.id, path, value)
	before, known := m.kept[name]
	known = known && value != "" && m.now().Before(before.at.Add(answersKept))
	a := m.ask(k, "POST", path, body, headers...)
	switch {
	case k.revoked:
		m.want(a, 401)
	case !may(k.permissions, resource, "POST"), kind.name == "supplier" && !k.reach.whole():
		m.want(a, 403)
	case hidden && !m.sees(k.reach, group):
		m.want(a, 404)
	case k.reach.name == "event" && kind.name != "ticket":
		m.want(a, 403)
	case known && before.sent != body:
		m.want(a, 422)
	case known:
		if m.want(a, 201); a.body != before.body || a.header.Get("Idempotency-Replayed") != "true" {
			m.Fatalf("again: %s, want %s", a.body, before.body)
		}
	case !m.holds(k.reach, kind.name, fields):
		m.want(a, 400)
	case m.taken(kind.name, fields):
		m.want(a, 409)
	default:
		m.want(a, 201)
		m.shown(a.body, m.learn(a, kind.name, fields))
		if value != "" {
			m.kept[name] = keptAnswer{body, a.body, m.now()}
		}
	}
}

func number(v string) int64 {
	n, _ := strconv.ParseInt(v, 10, 64) // null is 0
	return n
}

// holds tells whether fields name what a key may name.
func (m *machine) holds(r reach, kind string, fields map[string]string) bool {
	for name, v := range fields {
		ok := true
		switch name {
		case "church_id":
			ok = m.owns(r, number(v)) && (v != "null" || kind != "financial_entry")
		case "event_id":
			ok = m.sees(r, m.items["event"][number(v)]) && (r.whole() || r.name == "event" || m.items["event"][number(v)].fields["church_id"] != "null")
		case "supplier_id":
			ok = m.sees(r, m.items["supplier"][number(v)])
		case "person":
			ok = m.sees(r, m.items["person"][number(v)])
		case "group_id":
			ok = m.sees(r, m.items["group"][number(v)])
		}
		if !ok {
			return false
		}
	}
	return true
}

// taken tells whether another record is what can be there once.
func (m *machine) taken(kind string, fields map[string]string) bool {
	same := map[string][]string{"ticket": {"event_id", "code"}, "membership": {"person", "group_id"}}[kind]
	for _, b := range m.items[kind] {
		if same != nil && !slices.ContainsFunc(same, func(name string) bool { return b.fields[name] != fields[name] }) {
			return true
		}
	}
	return false
}

// shown wants a reply to show what is believed of a record.
func (m *machine) shown(body string, b *believed) {
	var is map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &is); err != nil || string(is["id"]) != fmt.Sprint(b.id) {
		m.Fatalf("%s %d is shown as %s", b.kind, b.id, body)
	}
	for name, want := range b.fields {
		got, there := is[name]
		if there && string(got) != want {
			m.Fatalf("%s of %s %d is %s, want %s", name, b.kind, b.id, got, want)
		}
	}
	if church, there := is["church"]; there && b.fields["church_id"] != "null" && !strings.HasPrefix(string(church), `{"id":`+b.fields["church_id"]+",") {
		m.Fatalf("church of %s %d is %s, want %s", b.kind, b.id, church, b.fields["church_id"])
	}
	if b.kind == "financial_entry" {
		want := map[bool]string{true: `"pending"`, false: `"overdue"`}[b.fields["due_date"] != `"2020-01-02"`]
		if b.fields["is_paid"] == "true" {
			want = `"paid"`
		}
		if string(is["status"]) != want {
			m.Fatalf("status of entry %d is %s, want %s", b.id, is["status"], want)
		}
	}
}

// some draws a record of a drawn kind: one that is there or, now and then, an id that never was.
func (m *machine) some() (machineKind, int64, *believed) {
	kind := one(m, "kind", machineKinds...)
	ids := slices.Sorted(maps.Keys(m.items[kind.name]))
	if len(ids) == 0 || m.chance(12, "missing") {
		return kind, 1 << 30, nil
	}
	id := one(m, "id", ids...)
	return kind, id, m.items[kind.name][id]
}

// condition draws an If-Match, and tells whether a record fulfils it.
func (m *machine) condition(b *believed) (headers []string, holds bool) {
	if b == nil {
		return nil, true
	}
	switch n := one(m, "if-match", 0, 0, 0, 1, 2, 3); {
	case n == 1:
		return []string{"If-Match", b.tag}, true
	case n == 2 && len(b.stale) > 0:
		tag := one(m, "stale", b.stale...)
		return []string{"If-Match", tag}, revisionIn(tag) == revisionIn(b.tag)
	case n == 3:
		return []string{"If-Match", "*"}, true
	}
	return nil, true
}

func revisionIn(tag string) string {
	revision, _, _ := strings.Cut(tag, ".")
	return revision
}

// refusal is the status that a change of a record is refused with before it is looked at; 0 = it is not.
func (m *machine) refusal(k *machineKey, resource, method string, b *believed, kind string) int {
	switch {
	case k.revoked:
		return 401
	case !may(k.permissions, resource, method), kind == "supplier" && !k.reach.whole() && method != "GET":
		return 403
	case !m.sees(k.reach, b):
		return 404
	case method != "GET" && !m.changes(k.reach, b):
		return 403
	}
	return 0
}

// update changes some fields of a record, perhaps only if it is as it was.
func (m *machine) update() {
	kind, id, b := m.some()
	fields := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(kind.fields)) {
		if !slices.Contains(kind.fixed, name) && m.chance(2, "field") {
			fields[name] = kind.fields[name](m)
		}
	}
	k := m.anyKey()
	path, resource := m.surface(kind, "PATCH")
	headers, current := m.condition(b)
	a := m.ask(k, "PATCH", fmt.Sprintf("%s%d/", path, id), object(fields), headers...)
	switch status := m.refusal(k, resource, "PATCH", b, kind.name); {
	case status != 0:
		m.want(a, status)
	case !current:
		m.want(a, 412)
	case !m.holds(k.reach, kind.name, fields):
		m.want(a, 400)
	default:
		m.want(a, 200)
		m.changed(b, fields, a)
	}
}

// changed believes a change, which makes a new revision if it changes anything.
func (m *machine) changed(b *believed, fields map[string]string, a answer) {
	changed := false
	for name, v := range fields {
		changed = changed || b.fields[name] != v
		b.fields[name] = v
	}
	m.shown(a.body, b)
	tag := a.header.Get("Etag")
	if fresh := revisionIn(tag) != revisionIn(b.tag); fresh != changed {
		m.Fatalf("the tag of %s %d was %s and is %s, though the change was one: %v", b.kind, b.id, b.tag, tag, changed)
	}
	if changed {
		b.stale = append(b.stale, b.tag)
	}
	b.tag = tag
}

// remove deletes a record that nobody names.
func (m *machine) remove() {
	kind, id, b := m.some()
	k := m.anyKey()
	path, resource := m.surface(kind, "DELETE")
	headers, current := m.condition(b)
	a := m.ask(k, "DELETE", fmt.Sprintf("%s%d/", path, id), "", headers...)
	switch status := m.refusal(k, resource, "DELETE", b, kind.name); {
	case status != 0:
		m.want(a, status)
	case !current:
		m.want(a, 412)
	case m.referred(b):
		m.want(a, 409)
	default:
		m.want(a, 204)
		delete(m.items[kind.name], id)
	}
}

// read reads a record twice: the second time only if it has changed.
func (m *machine) read() {
	kind, id, b := m.some()
	k := m.anyKey()
	path, resource := m.surface(kind, "GET")
	path = fmt.Sprintf("%s%d/", path, id)
	a := m.ask(k, "GET", path, "")
	if status := m.refusal(k, resource, "GET", b, kind.name); status != 0 {
		m.want(a, status)
		return
	}
	m.want(a, 200)
	m.shown(a.body, b)
	tag := a.header.Get("Etag")
	if revisionIn(tag) != revisionIn(b.tag) {
		m.Fatalf("the tag of %s %d is %s, want %s", kind.name, id, tag, b.tag)
	}
	m.want(m.ask(k, "GET", path, "", "If-None-Match", tag), 304)
}

// list reads a part of a list. Whoever sees other sequences' records asks for one of this one's churches.
func (m *machine) list() {
	kind := one(m, "kind", machineKinds[:6]...)
	if kind.name == "ticket" && len(m.items["event"]) == 0 {
		return
	}
	k := m.anyKey()
	path, resource := m.surface(kind, "GET")
	q, field, home := url.Values{}, "church_id", int64(0)
	if kind.name == "ticket" {
		field = "event_id"
	}
	filtered := kind.name != "membership" && (k.reach.whole() || m.chance(2, "filter"))
	switch {
	case filtered:
		path, resource = "/admin/v1/"+kind.name+"/", "admin"
		home = m.churches[one(m, "church", 0, 1, 2)]
		if kind.name == "ticket" {
			home = m.items["event"][one(m, "event", slices.Sorted(maps.Keys(m.items["event"]))...)].id
		}
		q.Set(field, fmt.Sprint(home))
	case k.reach.whole():
		return
	}
	m.page(k, kind, path, resource, q, func(b *believed) bool { return !filtered || b.number(field) == home })
}

// page asks for a drawn part of a list, and wants all of it that holds.
func (m *machine) page(k *machineKey, kind machineKind, path, resource string, q url.Values, holds func(*believed) bool) {
	limit, offset := one(m, "limit", 1, 2, 5, 100), one(m, "offset", 0, 0, 1, 3)
	q.Set("limit", strconv.Itoa(limit))
	q.Set("offset", strconv.Itoa(offset))
	a := m.ask(k, "GET", path+"?"+q.Encode(), "")
	switch church, event := number(q.Get("church_id")), number(q.Get("event_id")); {
	case k.revoked:
		m.want(a, 401)
		return
	case !may(k.permissions, resource, "GET"):
		m.want(a, 403)
		return
	case k.reach.name == "event" && kind.name != "event" && kind.name != "ticket":
		if a.status != 400 { // a filter may name what the key does not know
			m.wantPage(a, nil, limit, offset)
		}
		return
	case church != 0 && k.reach.name != "event" && !m.owns(k.reach, church), event != 0 && !m.sees(k.reach, m.items["event"][event]):
		m.want(a, 400)
		return
	}
	var all []*believed
	for _, id := range slices.Sorted(maps.Keys(m.items[kind.name])) {
		if b := m.items[kind.name][id]; m.sees(k.reach, b) && holds(b) {
			all = append(all, b)
		}
	}
	m.wantPage(a, all, limit, offset)
}

func (m *machine) wantPage(a answer, all []*believed, limit, offset int) {
	m.want(a, 200)
	var page struct {
		Count   int
		Results []json.RawMessage
	}
	if err := json.Unmarshal([]byte(a.body), &page); err != nil || page.Count != len(all) {
		m.Fatalf("a list has %d records, want %d: %s", page.Count, len(all), a.body)
	}
	all = all[min(offset, len(all)):]
	if all = all[:min(limit, len(all))]; len(all) != len(page.Results) {
		m.Fatalf("a page has %d records, want %d", len(page.Results), len(all))
	}
	for i, b := range all {
		m.shown(string(page.Results[i]), b)
	}
}

// search looks for people of a church by a part of their names.
func (m *machine) search() {
	term := one(m, "term", "ana", "souza", "lima", "elia", "caio l", "zoe")
	church := m.churches[one(m, "church", 0, 0, 1)]
	q := url.Values{"search": {term}, "church_id": {fmt.Sprint(church)}}
	m.page(m.anyKey(), machineKinds[0], "/v1/people/", "people", q, func(b *believed) bool {
		name := strings.ReplaceAll(strings.ToLower(b.fields["full_name"]), "é", "e")
		for _, t := range strings.Fields(term) {
			if !slices.ContainsFunc(strings.Fields(strings.Trim(name, `"`)), func(word string) bool { return strings.Contains(word, t) }) {
				return false
			}
		}
		return b.number("church_id") == church
	})
}

// addKey makes a key, which lies within its maker's.
func (m *machine) addKey() {
	k := m.anyKey()
	events := slices.Sorted(maps.Keys(m.items["event"]))
	levels := []reach{{name: "denomination"}, {"regional", []int64{m.regional}}, {"church", []int64{m.churches[0]}}, {"church", []int64{m.churches[2]}}}
	if len(events) > 0 {
		levels = append(levels, reach{"event", []int64{one(m, "event", events...)}})
	}
	r := one(m, "level", levels...)
	permissions := one(m, "permissions", []string{"*:*"}, []string{"checkin:*"}, []string{"people:GET"}, []string{})
	list, _ := json.Marshal(permissions)
	m.made++
	a := m.ask(k, "POST", "/admin/v1/keys/", fmt.Sprintf(`{"name":"key %d","level":%q,"permissions":%s}`, m.made, r, list))
	switch {
	case k.revoked:
		m.want(a, 401)
	case !may(k.permissions, "admin", "POST"), !m.within(k.reach, r):
		m.want(a, 403)
	default:
		m.want(a, 201)
		id, _ := strconv.ParseInt(a.text(m.home, "id"), 10, 64)
		m.keys = append(m.keys, &machineKey{id: id, key: a.text(m.home, "key"), secret: a.text(m.home, "secret"), reach: r, permissions: permissions})
	}
}

// revoke ends a key from the next request on; the first is never ended.
func (m *machine) revoke() {
	k, gone := m.anyKey(), one(m, "key", m.keys[1:]...)
	if gone.revoked {
		return
	}
	a := m.ask(k, "DELETE", fmt.Sprintf("/admin/v1/keys/%d/", gone.id), "")
	switch {
	case k.revoked:
		m.want(a, 401)
	case !may(k.permissions, "admin", "DELETE"):
		m.want(a, 403)
	case !m.within(k.reach, gone.reach):
		m.want(a, 404)
	default:
		m.want(a, 204)
		gone.revoked = true
	}
}
