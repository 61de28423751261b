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
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// written are the kinds that keys are seen writing, with a change that touches nothing the model knows.
var written = map[*record.Kind]string{
	record.Regional: `{"name":"x%d"}`, record.Church: `{"name":"x%d"}`, record.Supplier: `{"name":"x%d"}`,
	record.Role: `{"name":"x%d"}`, record.Person: `{"full_name":"x%d"}`, record.Group: `{"name":"x%d"}`, record.Event: `{"name":"x%d"}`,
	record.Membership: `{"created_at":"2020-01-01T00:00:%02dZ"}`, record.FinancialEntry: `{"description":"x%d"}`, record.Ticket: `{"type":"x%d"}`,
}

func TestKeysChangeWhatTheContractSays(t *testing.T) {
	t.Parallel()
	drawnStore(t, func(t *rapid.T, w world, s *kv.Store) {
		for range 3 {
			c := drawnCaller(t, "level")
			if rapid.Bool().Draw(t, "all permissions") {
				c.permissions = []string{"*:*"}
			}
			p := c.login(t, s)
			for _, k := range tables {
				if written[k] == "" {
					continue
				}
				a := asked{c, p, record.Admin, k}
				w.checkCreate(t, s, a)
				w.checkTouch(t, s, a)
				w.checkMove(t, s, a)
				w.checkDelete(t, s, a)
			}
			checkUnwritten(t, s, c, p)
		}
		if r, err := s.Files.Verify(auth.Operator(), nil); err != nil || r.Damaged > 0 {
			t.Errorf("Verify = %+v, %v", r, err)
		}
		w.checkAll(t, s)
	})
}

// checkAll compares all records with the model.
func (w world) checkAll(t *rapid.T, s *kv.Store) {
	for _, k := range tables {
		page, err := s.Desk.List(auth.Operator(), desk.Query{Surface: record.Admin, Kind: k, Limit: 1000})
		if want := slices.Sorted(maps.Keys(w[k])); err != nil || !slices.Equal(ints(page.IDs), want) {
			t.Errorf("%ss in the end are %v, %v, want %v", k.Name, ints(page.IDs), err, want)
		}
	}
}

// drawnID is one of a kind's ids, or one that nobody has.
func (w world) drawnID(t *rapid.T, k *record.Kind) int64 {
	return rapid.SampledFrom(append(slices.Sorted(maps.Keys(w[k])), 999)).Draw(t, "id")
}

// outcome is what a change of a record must answer before its body is looked at; "" = go on.
func (w world) outcome(a asked, method string, id int64) string {
	switch {
	case !a.c.mayAsk(a.surface, a.kind, method):
		return "forbidden"
	case !w.sees(a.c, a.kind, id):
		return "not found"
	case !w.mayChange(a.c, a.kind, id):
		return "forbidden"
	}
	return ""
}

func (w world) checkTouch(t *rapid.T, s *kv.Store, a asked) {
	id := w.drawnID(t, a.kind)
	want := w.outcome(a, "PATCH", id)
	if want == "" {
		want = "ok"
	}
	patch := kvtest.Parse(t, a.kind, fmt.Sprintf(written[a.kind], rapid.IntRange(0, 59).Draw(t, "n")), false)
	_, err := s.Desk.Update(a.p, target(a.kind, id), patch)
	if kindOf(err) != want {
		t.Fatalf("%v changes %s %d %v: %v, want %s", a.c, a.kind.Name, id, w[a.kind][id], err, want)
	}
}

// checkMove lets one of a record's references lead elsewhere.
func (w world) checkMove(t *rapid.T, s *kv.Store, a asked) {
	id := w.drawnID(t, a.kind)
	names := slices.Sorted(maps.Keys(w[a.kind][id]))
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "fin") || name == "supplier_id" })
	if len(names) == 0 {
		return
	}
	name := rapid.SampledFrom(names).Draw(t, "field")
	to := rapid.Int64Range(0, 5).Draw(t, "to")
	if to == 0 && !takesNull(a.kind, name) {
		to = 1
	}
	want := w.outcome(a, "PATCH", id)
	moved := maps.Clone(w[a.kind][id])
	moved[name] = to
	switch {
	case want != "":
	case !w.mayPoint(a.c, a.kind, name, to):
		want = "faults"
	case a.kind == record.Membership && w.member(moved, id):
		want = "conflict"
	default:
		want = "ok"
	}
	body := fields{name: to}.body(record.Ticket, true)
	_, err := s.Desk.Update(a.p, target(a.kind, id), kvtest.Parse(t, a.kind, body, false))
	if want == "ok" && name == "event_id" && to != w[a.kind][id][name] && kindOf(err) == "conflict" {
		return // a ticket that was let in stays at its event
	}
	if kindOf(err) != want {
		t.Fatalf("%v lets %s %d %v have %s: %v, want %s", a.c, a.kind.Name, id, w[a.kind][id], body, err, want)
	}
	if err == nil {
		w[a.kind][id] = moved
	}
}

func takesNull(k *record.Kind, name string) bool {
	return name == "regional_id" || name == "church_id" && k != record.FinancialEntry
}

// member tells whether another membership joins the same two.
func (w world) member(f fields, but int64) bool {
	for id, m := range w[record.Membership] {
		if id != but && m["person"] == f["person"] && m["group_id"] == f["group_id"] {
			return true
		}
	}
	return false
}

func (w world) checkDelete(t *rapid.T, s *kv.Store, a asked) {
	id := w.drawnID(t, a.kind)
	want := w.outcome(a, "DELETE", id)
	switch {
	case want != "":
	case w.referred(a.kind, id), a.kind == record.Event && happened(t, s, id):
		want = "conflict"
	default:
		want = "ok"
	}
	err := s.Desk.Delete(a.p, target(a.kind, id))
	if kindOf(err) != want {
		t.Fatalf("%v deletes %s %d %v: %v, want %s", a.c, a.kind.Name, id, w[a.kind][id], err, want)
	}
	if err == nil {
		delete(w[a.kind], id)
	}
}

// checkCreate makes a record of drawn references.
func (w world) checkCreate(t *rapid.T, s *kv.Store, a asked) {
	f := fields{}
	for _, name := range append(filters[a.kind], map[*record.Kind][]string{record.FinancialEntry: {"financial_account_id", "supplier_id"}}[a.kind]...) {
		f[name] = rapid.Int64Range(0, 4).Draw(t, name)
		if name == "financial_account_id" || name == "supplier_id" {
			f[name] = 1
		}
	}
	want := w.fate(a, f)
	r, err := s.Desk.Create(a.p, target(a.kind, 0), kvtest.Parse(t, a.kind, f.body(a.kind, false), true))
	if kindOf(err) != want {
		t.Fatalf("%v makes a %s of %v: %v, want %s", a.c, a.kind.Name, f, err, want)
	}
	if err == nil {
		w[a.kind][r.ID.Int()] = f
		if a.kind == record.Ticket && r.ID.Int()%2 == 1 { // the model takes odd ones for admitted
			delete(w[a.kind], r.ID.Int())
			if err := s.Desk.Delete(auth.Operator(), target(a.kind, r.ID.Int())); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// fate is what a create must answer; it gives f the church that the key gives.
func (w world) fate(a asked, f fields) string {
	switch {
	case !a.c.mayAsk(a.surface, a.kind, "POST"):
		return "forbidden"
	case slices.Contains([]*record.Kind{record.Regional, record.Church, record.Role, record.Supplier}, a.kind) && !a.c.whole():
		return "forbidden"
	case a.c.level.Name == auth.EventOf && a.kind != record.Ticket:
		return "forbidden"
	}
	if church, named := f["church_id"]; named && church == 0 {
		switch {
		case a.kind == record.FinancialEntry:
			return "faults"
		case a.c.whole():
		case a.c.level.Name == auth.ChurchOf && len(a.c.level.IDs) == 1:
			f["church_id"] = a.c.level.IDs[0]
			if _, there := w[record.Church][f["church_id"]]; !there {
				return "faults"
			}
		default:
			return "faults"
		}
	}
	for name, to := range f {
		if to == 0 && !takesNull(a.kind, name) || to != 0 && !w.mayPoint(a.c, a.kind, name, to) {
			return "faults"
		}
	}
	if a.kind == record.Membership && w.member(f, 0) {
		return "conflict"
	}
	return "ok"
}

// checkUnwritten tries to write by hand what only the store writes.
func checkUnwritten(t *rapid.T, s *kv.Store, c caller, p auth.Principal) {
	for k, body := range map[*record.Kind]string{
		record.APIKey: `{"name":"x","level":"denomination"}`, record.HolderName: `{"event_id":1,"full_name":"x"}`,
		record.Holder: `{"event_id":1,"email":"x@example.org"}`, record.Checkin: `{"event_id":1,"hlc":"0000000000000001","at":"2026-01-01T00:00:00Z"}`,
		record.Undo: `{"event_id":1,"checkin_id":"01HZX3Q0000000000000000000","hlc":"0000000000000001","at":"2026-01-01T00:00:00Z"}`,
	} {
		for _, surface := range []record.Surface{record.V1, record.Admin} {
			_, created := s.Desk.Create(p, desk.Target{Surface: surface, Kind: k}, kvtest.Parse(t, k, body, true))
			_, updated := s.Desk.Update(p, desk.Target{Surface: surface, Kind: k, ID: record.Int(1)}, kvtest.Parse(t, k, body, false))
			deleted := s.Desk.Delete(p, desk.Target{Surface: surface, Kind: k, ID: record.Int(1)})
			for _, err := range []error{created, updated, deleted} {
				if kindOf(err) != "not found" && kindOf(err) != "forbidden" {
					t.Errorf("%v writes a %s by hand: %v", c, k.Name, err)
				}
			}
		}
	}
}

// happened tells whether anything was decided at an event's doors. The model has no facts, and a ticket may have moved on.
func happened(t *rapid.T, s *kv.Store, event int64) bool {
	for _, k := range []*record.Kind{record.Checkin, record.Scan, record.Undo} {
		page, err := s.Desk.List(auth.Operator(), desk.Query{Kind: k, Where: []desk.Where{{Field: "event_id", In: []any{event}}}, Limit: 1})
		if err != nil {
			t.Fatalf("list of an event's facts: %v", err)
		}
		if page.Count > 0 {
			return true
		}
	}
	return false
}
