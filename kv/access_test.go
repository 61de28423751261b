package kv_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/keys"
	"doorward/kv/record"
)

// tables are the kinds of the naive model, each after those that it names.
var tables = []*record.Kind{
	record.Regional, record.Church, record.Role, record.FinancialAccount, record.Category, record.CostCenter,
	record.BusinessUnit, record.Supplier, record.Person, record.Group, record.Membership, record.FinancialEntry, record.Event,
	record.Ticket,
}

// login makes a caller's key and logs it in.
func (c caller) login(t *rapid.T, s *kv.Store) auth.Principal {
	k, secret, err := s.Keys.AddKey(auth.Operator(), c.spec(t))
	if err != nil {
		t.Fatalf("add key %v: %v", c, err)
	}
	p, err := s.Keys.Login(k.Key, secret)
	if err != nil {
		t.Fatalf("log in: %v", err)
	}
	return p
}

func (c caller) spec(t *rapid.T) keys.KeySpec {
	spec := keys.KeySpec{Name: "a key", Level: c.level}
	for _, text := range c.permissions {
		g, err := auth.ParsePermission(text)
		if err != nil {
			t.Fatal(err)
		}
		spec.Permissions = append(spec.Permissions, g)
	}
	return spec
}

// drawnStore runs a law on a drawn congregation in a store of its own.
func drawnStore(t *testing.T, law func(t *rapid.T, w world, s *kv.Store)) {
	rapid.Check(t, func(r *rapid.T) {
		w := drawnWorld(r)
		s := reopenable(t, kv.Config{Dir: t.TempDir()})
		defer closed(t, s)
		w.fill(t, s)
		law(r, w, s)
	})
}

func TestKeysReadWhatTheContractSays(t *testing.T) {
	t.Parallel()
	drawnStore(t, func(t *rapid.T, w world, s *kv.Store) {
		for range 4 {
			c := drawnCaller(t, "level")
			p := c.login(t, s)
			for _, k := range tables {
				surface := drawnSurface(t, k)
				w.checkRetrieve(t, s, asked{c, p, surface, k})
				for range 2 {
					w.checkList(t, s, asked{c, p, surface, k})
				}
			}
			w.checkFacts(t, s, c, p)
		}
	})
}

// asked is who asks for a kind, and where.
type asked struct {
	c       caller
	p       auth.Principal
	surface record.Surface
	kind    *record.Kind
}

func drawnSurface(t *rapid.T, k *record.Kind) record.Surface {
	if k.Resource == "" {
		return record.Admin
	}
	return rapid.SampledFrom([]record.Surface{record.V1, record.Admin}).Draw(t, "surface")
}

func (w world) checkRetrieve(t *rapid.T, s *kv.Store, a asked) {
	for id := int64(1); id <= 30; id++ {
		want := "not found"
		switch {
		case !a.c.mayAsk(a.surface, a.kind, "GET"):
			want = "forbidden"
		case w.sees(a.c, a.kind, id):
			want = "ok"
		}
		_, err := s.Desk.Retrieve(a.p, desk.Target{Surface: a.surface, Kind: a.kind, ID: record.Int(id)})
		if kindOf(err) != want {
			t.Errorf("%v retrieves %s %d %v: %v, want %s", a.c, a.kind.Name, id, w[a.kind][id], err, want)
		}
		if scope := s.Desk.Sees(a.p, a.kind, record.Int(id)); (scope == nil) != w.sees(a.c, a.kind, id) {
			t.Errorf("Sees(%v, %s %d) = %v", a.c, a.kind.Name, id, scope)
		}
	}
}

// filters are the fields that a kind's lists are narrowed by.
var filters = map[*record.Kind][]string{
	record.Person: {"church_id"}, record.FinancialEntry: {"church_id"}, record.Group: {"church_id"},
	record.Event: {"church_id", "regional_id"}, record.Church: {"regional_id"}, record.Ticket: {"event_id"},
	record.Membership: {"person", "group_id"},
}

// checkList compares one drawn list, all its pages.
func (w world) checkList(t *rapid.T, s *kv.Store, a asked) {
	q := desk.Query{Surface: a.surface, Kind: a.kind}
	wanted := map[string][]int64{}
	for _, name := range filters[a.kind] {
		if rapid.Bool().Draw(t, "filtered") {
			wanted[name] = rapid.SliceOfNDistinct(rapid.Int64Range(0, 5), 1, 3, rapid.ID[int64]).Draw(t, name)
			in := desk.Where{Field: name}
			for _, n := range wanted[name] {
				if n == 0 {
					in.In = append(in.In, nil)
				} else {
					in.In = append(in.In, n)
				}
			}
			q.Where = append(q.Where, in)
		}
	}
	want := "ok"
	if !w.choosable(a.c, wanted) {
		want = "faults"
	}
	if !a.c.mayAsk(a.surface, a.kind, "GET") {
		want = "forbidden"
	}
	var ids []int64
	for _, id := range slices.Sorted(maps.Keys(w[a.kind])) {
		ok := w.sees(a.c, a.kind, id)
		for name, among := range wanted {
			ok = ok && slices.Contains(among, w[a.kind][id][name])
		}
		if ok {
			ids = append(ids, id)
		}
	}
	for q.Limit = 1; q.Limit <= 16; q.Limit *= 4 {
		for q.Offset = 0; q.Offset <= len(ids)+1; q.Offset++ {
			page, err := s.Desk.List(a.p, q)
			if kindOf(err) != want {
				t.Fatalf("%v lists %s where %v: %v, want %s", a.c, a.kind.Name, wanted, err, want)
			}
			if err != nil {
				return
			}
			part := ids[min(q.Offset, len(ids)):min(q.Offset+q.Limit, len(ids))]
			if got := ints(page.IDs); page.Count != len(ids) || !slices.Equal(got, part) {
				t.Fatalf("%v lists %s where %v: %d of %v at %d, want %d of %v", a.c, a.kind.Name, wanted, page.Count, got, q.Offset, len(ids), part)
			}
		}
	}
}

func ints(ids []record.ID) (ns []int64) {
	for _, id := range ids {
		ns = append(ns, id.Int())
	}
	return ns
}

// choosable tells whether a caller may name the records that a filter names. An event key has no churches of its own to be
// outside of: it may name any.
func (w world) choosable(c caller, wanted map[string][]int64) bool {
	for name, ids := range wanted {
		for _, id := range ids {
			k := refKinds[name]
			_, there := w[k][id]
			switch {
			case id == 0:
			case !there, !w.sees(c, k, id):
				return false
			case k == record.Church && c.level.Name != auth.EventOf && !w.owns(c, id):
				return false
			}
		}
	}
	return true
}

// checkFacts compares what a caller sees of the admissions: those of the events that it sees.
func (w world) checkFacts(t *rapid.T, s *kv.Store, c caller, p auth.Principal) {
	all, err := s.Desk.List(auth.Operator(), desk.Query{Kind: record.Checkin, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{}
	for i, id := range all.IDs {
		event := w[record.Ticket][ticketOf(t, s, id)]["event_id"]
		sees := w.sees(c, record.Event, event)
		if sees {
			want = append(want, record.Checkin.FormatID(all.IDs[i]))
		}
		_, err := s.Desk.Retrieve(p, desk.Target{Kind: record.Checkin, ID: id})
		if c.allows("checkin", "GET") && (err == nil) != sees || !c.allows("checkin", "GET") && kindOf(err) != "forbidden" {
			t.Errorf("%v retrieves an admission at event %d: %v", c, event, err)
		}
	}
	page, err := s.Desk.List(p, desk.Query{Kind: record.Checkin, Limit: 100})
	if !c.allows("checkin", "GET") {
		if kindOf(err) != "forbidden" {
			t.Errorf("%v lists admissions: %v, want forbidden", c, err)
		}
		return
	}
	got := []string{}
	for _, id := range page.IDs {
		got = append(got, record.Checkin.FormatID(id))
	}
	if err != nil || page.Count != len(want) || !cmp.Equal(got, want) {
		t.Errorf("%v lists admissions %d %v, %v, want %v", c, page.Count, got, err, want)
	}
}

func ticketOf(t *rapid.T, s *kv.Store, id record.ID) (ticket int64) {
	r, err := s.Desk.Retrieve(auth.Operator(), desk.Target{Kind: record.Checkin, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n < 20; n++ {
		if member(r.JSON, "ticket_id") == record.Ticket.FormatID(record.Int(n)) {
			return n
		}
	}
	return 0
}

func TestLevelsAndPermissionsAreReadWhole(t *testing.T) {
	for _, text := range []string{"denomination", "regional:1", "church:3,4", "event:7"} {
		if l, err := auth.ParseLevel(text); err != nil || l.String() != text {
			t.Errorf("level %q = %v, %v", text, l, err)
		}
	}
	for _, text := range []string{"", "parish:1", "denomination:3", "church", "event:", "event:0", "church:1,x", "church:9007199254740992"} {
		if l, err := auth.ParseLevel(text); err == nil {
			t.Errorf("level %q = %v, want an error", text, l)
		}
	}
	for _, text := range []string{"people", "people:", "people:LOOK", "pigs:GET", ":GET"} {
		if p, err := auth.ParsePermission(text); err == nil {
			t.Errorf("permission %q = %v, want an error", text, p)
		}
	}
	resources, _ := auth.PermissionWords()
	slices.Sort(resources)
	if once := slices.Compact(slices.Clone(resources)); !slices.Equal(resources, once) {
		t.Errorf("the resources are %v, want each once", resources)
	}
}
