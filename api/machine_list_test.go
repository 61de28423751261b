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
