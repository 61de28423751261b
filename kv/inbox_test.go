package kv_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/inbox"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/value"
)

// torn has the centre and the laptop give one person two names; the centre's is asked for.
func torn(t testing.TB) (c joined, id int64, conflict record.ID) {
	t.Helper()
	c = newPair(t)
	id = kvtest.Create(t, c.centre, record.Person, `{"full_name":"Ana","church_id":1}`)
	c.sync(t)
	patched(t, c.centre, record.Person, id, `{"full_name":"Ana C"}`)
	patched(t, c.venue, record.Person, id, `{"full_name":"Ana V"}`)
	c.sync(t)
	page := matters(t, c.centre, auth.Operator(), record.Conflict)
	if len(page) != 1 {
		t.Fatalf("conflicts = %v", page)
	}
	return c, id, page[0].ID
}

// matters are all that somebody has to look at.
func matters(t testing.TB, s *kv.Store, p auth.Principal, k *record.Kind, where ...desk.Where) []entry.Reply {
	t.Helper()
	page, err := s.Inbox.List(p, k, desk.Part{Where: where, Limit: 100})
	if err != nil || page.Count != len(page.Items) {
		t.Fatalf("%s = %+v, %v", k.Name, page, err)
	}
	return page.Items
}

// nameOf is a person's name at a store.
func nameOf(t testing.TB, s *kv.Store, id int64) string {
	t.Helper()
	r, err := s.Desk.Retrieve(auth.Operator(), target(record.Person, id))
	if err != nil {
		return kindOf(err)
	}
	return value.Unquote([]byte(member(r.JSON, "full_name")))
}

// Staff keep what stands, take the other, or give a third value; laptops learn of it as of any edit.
func TestResolveAConflict(t *testing.T) {
	for _, test := range []struct {
		name   string
		choice inbox.Choice
		want   string // "winner", "other" or the name
	}{
		{"what stands", inbox.Choice{}, "winner"},
		{"the other", inbox.Choice{Other: true}, "other"},
		{"a third value", inbox.Choice{Value: jsontext.Value(`"Ana Souza"`)}, "Ana Souza"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, id, conflict := torn(t)
			r, err := c.centre.Inbox.Find(auth.Operator(), inbox.Item{Kind: record.Conflict, ID: conflict})
			if err != nil {
				t.Fatal(err)
			}
			want := test.want
			if v := member(r.JSON, want); v != "" {
				want = value.Unquote([]byte(v))
			}
			if _, err := c.centre.Inbox.Resolve(auth.Operator(), inbox.Item{Kind: record.Conflict, ID: conflict}, test.choice); err != nil {
				t.Fatal(err)
			}
			c.sync(t)
			for _, s := range []*kv.Store{c.centre, c.venue} {
				if got := nameOf(t, s, id); got != want {
					t.Errorf("the name is %s, want %s", got, want)
				}
				healthy(t, s)
			}
			if left := matters(t, c.centre, auth.Operator(), record.Conflict); len(left) != 0 {
				t.Errorf("there is left %s", left[0].JSON)
			}
			if _, err := c.centre.Inbox.Resolve(auth.Operator(), inbox.Item{Kind: record.Conflict, ID: conflict}, test.choice); kindOf(err) != "not found" {
				t.Errorf("once more: %v, want not found", err)
			}
		})
	}
}

// What cannot be written changes nothing, and the conflict stays.
func TestAConflictThatCannotBeResolvedStays(t *testing.T) {
	c, id, conflict := torn(t)
	before := nameOf(t, c.centre, id)
	reader := kvtest.Login(t, c.centre, "church:1", "admin:GET")
	poster := kvtest.Login(t, c.centre, "church:1", "admin:GET", "admin:POST")
	stranger := kvtest.Login(t, c.centre, "church:2", "admin:*")
	for _, test := range []struct {
		name, want string
		p          auth.Principal
		choice     inbox.Choice
	}{
		{"a value of the wrong type", "faults", auth.Operator(), inbox.Choice{Value: jsontext.Value(`{"a":1}`)}},
		{"a key that reads alone", "forbidden", reader, inbox.Choice{}},
		{"a key that changes nothing", "forbidden", poster, inbox.Choice{Other: true}},
		{"another church's key", "not found", stranger, inbox.Choice{}},
	} {
		if _, err := c.centre.Inbox.Resolve(test.p, inbox.Item{Kind: record.Conflict, ID: conflict}, test.choice); kindOf(err) != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
	if got := nameOf(t, c.centre, id); got != before {
		t.Errorf("the name is %s, was %s", got, before)
	}
	if n := len(matters(t, c.centre, reader, record.Conflict)); n != 1 {
		t.Errorf("the church sees %d conflicts, want one", n)
	}
	if n := len(matters(t, c.centre, stranger, record.Conflict)); n != 0 {
		t.Errorf("another church sees %d conflicts, want none", n)
	}
	if n := len(matters(t, c.centre, auth.Operator(), record.Conflict, desk.Where{Field: "kind", In: []any{"ticket"}})); n != 0 {
		t.Errorf("%d conflicts of tickets, want none", n)
	}
}

// An edit that lost against a deletion is restored whole, once.
func TestRestoreAnEdit(t *testing.T) {
	c, id := editOfADeleted(t)
	key := kvtest.Login(t, c.centre, "church:1", "admin:*")
	page := matters(t, c.centre, key, record.Conflict)
	if len(page) != 1 {
		t.Fatalf("conflicts = %v, want one", page)
	}
	if _, err := c.centre.Inbox.Resolve(key, inbox.Item{Kind: record.Conflict, ID: page[0].ID}, inbox.Choice{Value: jsontext.Value(`"x"`)}); kindOf(err) != "faults" {
		t.Errorf("a value for a whole record: %v, want faults", err)
	}
	if _, err := c.centre.Inbox.Resolve(key, inbox.Item{Kind: record.Conflict, ID: page[0].ID}, inbox.Choice{Other: true}); err != nil {
		t.Fatal(err)
	}
	c.sync(t)
	for _, s := range []*kv.Store{c.centre, c.venue} {
		if got := nameOf(t, s, id); got != "Ana V" {
			t.Errorf("the name is %s, want Ana V", got)
		}
		healthy(t, s)
	}
}

// What was refused is applied as the edit of whoever says so, or dismissed.
func TestResolveARefusal(t *testing.T) {
	for _, apply := range []bool{true, false} {
		c := newPair(t)
		id := kvtest.Create(t, c.centre, record.Person, `{"full_name":"Ana","church_id":1}`)
		c.sync(t)
		patched(t, c.centre, record.Person, id, `{"church_id":2}`)
		patched(t, c.venue, record.Person, id, `{"occupation":"nurse"}`)
		c.sync(t)
		key := kvtest.Login(t, c.centre, "church:1", "admin:*")
		page := matters(t, c.centre, key, record.Refusal, desk.Where{Field: "db", In: []any{"church-1"}})
		if len(page) != 1 {
			t.Fatalf("refusals = %v, want one", page)
		}
		if other := matters(t, c.centre, kvtest.Login(t, c.centre, "church:2", "admin:*"), record.Refusal); len(other) != 0 {
			t.Errorf("another church sees %v", other)
		}
		if _, err := c.centre.Inbox.Resolve(key, inbox.Item{Kind: record.Refusal, ID: page[0].ID}, inbox.Choice{Other: true}); kindOf(err) != "not found" {
			t.Errorf("applied by the church that the person has left: %v, want not found", err)
		}
		item := inbox.Item{Kind: record.Refusal, ID: page[0].ID}
		if _, err := c.centre.Inbox.Resolve(auth.Operator(), item, inbox.Choice{Value: jsontext.Value(`"x"`)}); kindOf(err) != "faults" {
			t.Errorf("a third value in place of a document: %v, want faults", err)
		}
		if _, err := c.centre.Inbox.Resolve(auth.Operator(), item, inbox.Choice{Other: apply}); err != nil {
			t.Fatal(err)
		}
		r, err := c.centre.Desk.Retrieve(auth.Operator(), target(record.Person, id))
		if err != nil || (member(r.JSON, "occupation") == `"nurse"`) != apply {
			t.Errorf("applied %t: the person is %s, %v", apply, r.JSON, err)
		}
		if left := matters(t, c.centre, auth.Operator(), record.Refusal); len(left) != 0 {
			t.Errorf("there is left %s", left[0].JSON)
		}
		healthy(t, c.centre)
	}
}

// A refused new record is made under an id of its own; facts and parts of tickets are nobody's edits.
func TestApplyWhatIsNew(t *testing.T) {
	s := twoChurches(t)
	key := kvtest.Login(t, s, "church:1", "sync:*", "people:*", "group:GET", "memberships:*", "event:*", "checkin:*")
	db := opens(t, s, key, "church-1")
	if _, err := db.Write([]merge.DocWrite{
		{ID: "person:0000000000000500", Path: chain("a"), Body: []byte(`{"full_name":"Rui","church_id":1}`)},
		{ID: "person:0000000000000501", Path: chain("b"), Deleted: true},
		{ID: "holder:0000000000000007", Path: chain("c"), Body: []byte(`{"event_id":1,"code":"X"}`)},
	}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"person:0000000000000500": "ok", "person:0000000000000501": "not found", "holder:0000000000000007": "conflict"}
	for _, r := range matters(t, s, auth.Operator(), record.Refusal) {
		for id, want := range want {
			if !strings.Contains(string(r.JSON), id) {
				continue
			}
			if _, err := s.Inbox.Resolve(auth.Operator(), inbox.Item{Kind: record.Refusal, ID: r.ID}, inbox.Choice{Other: true}); kindOf(err) != want {
				t.Errorf("apply %s: %v, want %s", r.JSON, err, want)
			}
			if want != "ok" {
				continue
			}
			if _, err := s.Inbox.Resolve(auth.Operator(), inbox.Item{Kind: record.Refusal, ID: r.ID}, inbox.Choice{Other: true}); kindOf(err) != "not found" {
				t.Errorf("apply %s once more: %v, want not found", r.JSON, err)
			}
		}
	}
	if got := nameOf(t, s, 1); got != "Rui" {
		t.Errorf("person 1 is %s, want Rui", got)
	}
	if got := nameOf(t, s, 2); got != "not found" {
		t.Errorf("person 2 is %s: the document was applied twice", got)
	}
}

// The metrics count what there is to look at, by labels of closed sets.
func TestMattersAreCounted(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := kvtest.OpenConfig(t, kv.Config{Registerer: reg})
	kvtest.Create(t, s, record.Church, `{"name":"Church"}`)
	key := kvtest.Login(t, s, "church:1", "sync:*", "people:*", "group:GET", "memberships:*", "event:GET")
	for i, doc := range []string{`{"full_name":"Ana","church_id":1}`, `{"full_name":"Eva","church_id":1,"what":1}`} {
		w := merge.DocWrite{ID: fmt.Sprintf("person:%016d", i+500), Path: chain("a"), Body: []byte(doc)}
		if _, err := opens(t, s, key, "church-1").Write([]merge.DocWrite{w}); err != nil {
			t.Fatal(err)
		}
	}
	reasons := kvtest.Metrics(t, reg, "doorward_refusals")
	if len(reasons) != 9 || reasons["id"] != 2 {
		t.Errorf("refusals = %v, want nine reasons, and two of ids", reasons)
	}
	kinds := kvtest.Metrics(t, reg, "doorward_conflicts")
	for _, k := range record.Kinds() {
		if _, there := kinds[k.Name]; there == k.Fact {
			t.Errorf("conflicts = %v: %s is there %t", kinds, k.Name, there)
		}
	}
}

// TestItemsAreCountedWhileTheyCome: a scrape between a commit's lists and the commit itself must not keep the count from before.
func TestItemsAreCountedWhileTheyCome(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	s := kvtest.OpenConfig(t, kv.Config{Registerer: reg})
	kvtest.Create(t, s, record.Church, `{"name":"Church"}`)
	db := opens(t, s, kvtest.Login(t, s, "church:1", "sync:*", "people:*", "group:GET", "memberships:*", "event:GET"), "church-1")
	written, scraped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(scraped)
		for {
			select {
			case <-written:
				return
			default:
				_, _ = reg.Gather()
			}
		}
	}()
	t.Cleanup(func() { close(written); <-scraped })
	for i := range 60 {
		w := merge.DocWrite{ID: fmt.Sprintf("person:%016d", i+500), Path: chain("a"), Body: []byte(`{"full_name":"Ana","church_id":1}`)}
		if _, err := db.Write([]merge.DocWrite{w}); err != nil {
			t.Fatal(err)
		}
		if got := kvtest.Metrics(t, reg, "doorward_refusals")["id"]; got != float64(i+1) {
			t.Fatalf("%v refusals are counted, want %d", got, i+1)
		}
	}
}
