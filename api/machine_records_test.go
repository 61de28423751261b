package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
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
