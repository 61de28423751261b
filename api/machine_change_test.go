package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

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
