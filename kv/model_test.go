package kv_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/outcome"
	"doorward/kv/record"
)

// world is a congregation as contract.md §7 speaks of it: for each kind its records, for each record whom it names. 0 is null.
type world map[*record.Kind]map[int64]fields

type fields map[string]int64

// drawnWorld is a small congregation in which every case of the contract is likely.
func drawnWorld(t *rapid.T) world {
	w := world{}
	some := func(k *record.Kind, least, most int, names ...string) {
		w[k] = map[int64]fields{}
		for id := range rapid.IntRange(least, most).Draw(t, k.Name+"s") {
			f := fields{}
			for _, name := range names {
				f[name] = w.pick(t, refKinds[name], name != "event_id" && (name != "church_id" || k != record.FinancialEntry))
			}
			w[k][int64(id+1)] = f
		}
	}
	some(record.Regional, 1, 3)
	some(record.Church, 1, 4, "regional_id")
	some(record.Role, 1, 1)
	for _, k := range []*record.Kind{record.FinancialAccount, record.Category, record.CostCenter, record.BusinessUnit, record.Supplier} {
		some(k, 1, 2)
	}
	some(record.Person, 1, 6, "church_id")
	some(record.Group, 1, 4, "church_id")
	some(record.Event, 1, 4, "church_id", "regional_id")
	some(record.FinancialEntry, 1, 4, "church_id")
	some(record.Ticket, 1, 5, "event_id")
	for _, f := range w[record.FinancialEntry] {
		f["financial_account_id"], f["supplier_id"] = 1, 1
	}
	w[record.Membership] = map[int64]fields{}
	for _, person := range slices.Sorted(maps.Keys(w[record.Person])) {
		for _, group := range slices.Sorted(maps.Keys(w[record.Group])) {
			if rapid.Bool().Draw(t, "member") {
				id := int64(len(w[record.Membership]) + 1)
				w[record.Membership][id] = fields{"person": person, "group_id": group}
			}
		}
	}
	return w
}

// refKinds are the kinds that fields name.
var refKinds = map[string]*record.Kind{
	"church_id": record.Church, "regional_id": record.Regional, "event_id": record.Event, "person": record.Person,
	"group_id": record.Group, "financial_account_id": record.FinancialAccount, "supplier_id": record.Supplier,
}

// pick draws one of a kind's ids, or 0 where null may be.
func (w world) pick(t *rapid.T, k *record.Kind, null bool) int64 {
	ids := slices.Sorted(maps.Keys(w[k]))
	if null {
		ids = append(ids, 0)
	}
	return rapid.SampledFrom(ids).Draw(t, k.Name)
}

// body is a record's JSON, without what it does not name unless nulls are wanted.
func (f fields) body(k *record.Kind, nulls bool) string {
	parts := []string{}
	switch k {
	case record.Person:
		parts = append(parts, `"full_name":"Ana"`)
	case record.Event:
		parts = append(parts, `"name":"Sunday","start_datetime":"2026-11-22T19:00:00Z"`)
	case record.FinancialEntry:
		parts = append(parts, `"transaction_type":"income","base_amount":"1.00"`)
	case record.Ticket, record.Membership:
	default:
		parts = append(parts, `"name":"a name"`)
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		switch {
		case f[name] != 0:
			parts = append(parts, fmt.Sprintf("%q:%d", name, f[name]))
		case nulls:
			parts = append(parts, fmt.Sprintf("%q:null", name))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// fill writes a congregation into an empty store, and lets some of its tickets in.
func (w world) fill(t testing.TB, s *kv.Store) {
	t.Helper()
	var rows []entry.Row
	for _, k := range tables {
		for _, id := range slices.Sorted(maps.Keys(w[k])) {
			body := w[k][id].body(k, false)
			if k == record.Ticket {
				body = fmt.Sprintf(`{"code":"CODE-%d",%s`, id, body[1:])
			}
			rows = append(rows, row(t, k, id, body))
		}
	}
	loaded(t, s, rows...)
	for id, f := range w[record.Ticket] {
		if id%2 == 1 {
			scanned(t, s, auth.Operator(), door.Attempt{Event: f["event_id"], Code: fmt.Sprintf("CODE-%d", id)}, outcome.Admitted)
		}
	}
}

// caller is a key as the contract describes it.
type caller struct {
	level       auth.Level
	permissions []string
}

func drawnCaller(t *rapid.T, label string) caller {
	c := caller{}
	ids := rapid.SliceOfNDistinct(rapid.Int64Range(1, 5), 1, 3, rapid.ID[int64])
	switch name := rapid.SampledFrom([]auth.LevelName{auth.Denomination, auth.RegionalOf, auth.ChurchOf, auth.EventOf}).Draw(t, label); name {
	case auth.Denomination:
		c.level = auth.Level{Name: name}
	default:
		c.level = auth.Level{Name: name, IDs: slices.Sorted(slices.Values(ids.Draw(t, "ids")))}
	}
	switch rapid.IntRange(0, 3).Draw(t, "permissions") {
	case 0: // every action but the reserved ones
	case 1:
		c.permissions = []string{"*:*"}
	default:
		one := rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom(slices.Concat(resources, []string{"*", "admin"})).Draw(t, "resource") + ":" +
				rapid.SampledFrom([]string{"*", "GET", "POST", "PATCH", "DELETE"}).Draw(t, "method")
		})
		c.permissions = rapid.SliceOfNDistinct(one, 1, 6, rapid.ID[string]).Draw(t, "list")
	}
	return c
}

var resources = []string{"people", "group", "memberships", "financial_entries", "event", "checkin", "admin", "sync"}

// allows is the permissions' rule.
func (c caller) allows(resource, method string) bool {
	if len(c.permissions) == 0 {
		return resource != "admin" && resource != "sync"
	}
	for _, p := range c.permissions {
		r, m, _ := strings.Cut(p, ":")
		if (r == "*" || r == resource) && (m == "*" || m == method) {
			return true
		}
	}
	return false
}

// mayAsk is the permission that a surface wants.
func (c caller) mayAsk(s record.Surface, k *record.Kind, method string) bool {
	if s == record.V1 {
		return c.allows(k.Resource, method)
	}
	return c.allows("admin", method) || method == "GET" && (k == record.Church || k == record.Regional || k == record.Role)
}

func (c caller) whole() bool { return c.level.Name == auth.Denomination }

// owns tells whether a church is one of the caller's.
func (w world) owns(c caller, church int64) bool {
	f, there := w[record.Church][church]
	switch c.level.Name {
	case auth.Denomination:
		return true
	case auth.RegionalOf:
		return there && slices.Contains(c.level.IDs, f["regional_id"])
	case auth.ChurchOf:
		return church != 0 && slices.Contains(c.level.IDs, church)
	}
	return false
}

// sees is contract.md §7 on reading.
func (w world) sees(c caller, k *record.Kind, id int64) bool {
	f, there := w[k][id]
	if !there {
		return false
	}
	church := f["church_id"]
	switch k {
	case record.Church, record.Regional, record.Role:
		return true
	case record.FinancialAccount, record.Supplier, record.Category, record.Subcategory, record.CostCenter, record.BusinessUnit:
		return c.level.Name != auth.EventOf
	case record.Person, record.FinancialEntry:
		return c.whole() || church != 0 && w.owns(c, church)
	case record.Group:
		return c.whole() || c.level.Name != auth.EventOf && (church == 0 || w.owns(c, church))
	case record.Event:
		if c.level.Name == auth.EventOf {
			return slices.Contains(c.level.IDs, id)
		}
		return church == 0 || w.owns(c, church)
	case record.Membership:
		return w.sees(c, record.Person, f["person"]) && w.sees(c, record.Group, f["group_id"])
	case record.Ticket:
		return w.sees(c, record.Event, f["event_id"])
	}
	return false
}

// mayChange is contract.md §7 on writing a record that the caller sees.
func (w world) mayChange(c caller, k *record.Kind, id int64) bool {
	f := w[k][id]
	switch k {
	case record.Person, record.FinancialEntry, record.Membership:
		return true
	case record.Group, record.Event:
		return c.whole() || c.level.Name != auth.EventOf && f["church_id"] != 0
	case record.Ticket:
		return c.level.Name == auth.EventOf || w.mayChange(c, record.Event, f["event_id"])
	}
	return c.whole()
}

// mayPoint tells whether the caller may let a record name another one.
func (w world) mayPoint(c caller, k *record.Kind, name string, id int64) bool {
	to := refKinds[name]
	if _, there := w[to][id]; !there {
		return id == 0 && (name != "church_id" || c.whole())
	}
	switch name {
	case "church_id":
		return w.owns(c, id)
	case "event_id":
		return w.sees(c, to, id) && (c.level.Name == auth.EventOf || w.mayChange(c, to, id))
	}
	return w.sees(c, to, id)
}

// referred tells whether any record names one.
func (w world) referred(k *record.Kind, id int64) bool {
	for _, records := range w {
		for _, f := range records {
			for name, to := range f {
				if refKinds[name] == k && to == id {
					return true
				}
			}
		}
	}
	return k == record.Ticket && id%2 == 1 // it has been let in
}
