package kv_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// twoChurches is a store of two churches in two regionals, with an event of each and one of nobody.
func twoChurches(t testing.TB) *kv.Store {
	t.Helper()
	s := kvtest.Open(t)
	for _, name := range []string{"R1", "R2"} {
		kvtest.Create(t, s, record.Regional, `{"name":"`+name+`"}`)
	}
	kvtest.Create(t, s, record.Church, `{"name":"A","regional_id":1}`)
	kvtest.Create(t, s, record.Church, `{"name":"B","regional_id":2}`)
	newEvent(t, s, `,"church_id":1`)
	newEvent(t, s, `,"church_id":2`)
	newEvent(t, s, "")
	return s
}

// enrolled makes a key of class node and logs it in.
func enrolled(t testing.TB, s *kv.Store, level string, v auth.Venue) auth.Principal {
	t.Helper()
	l, err := auth.ParseLevel(level)
	if err != nil {
		t.Fatal(err)
	}
	if v.Node == "" {
		v.Node = ulid.Make().String()
	}
	spec := keys.KeySpec{Name: "laptop", Level: l, Permissions: []auth.Permission{{Resource: "sync", Method: "*"}}, Node: v}
	k, secret, err := s.Keys.AddKey(auth.Operator(), spec)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Keys.Login(k.Key, secret)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWhoReadsWhichDatabase(t *testing.T) {
	s := twoChurches(t)
	all := []string{"*:*"}
	for _, c := range []struct {
		name string
		p    auth.Principal
		want string
	}{
		{"an ordinary key of everything", kvtest.Login(t, s, "denomination", all...),
			"church-1 church-1-finance church-2 church-2-finance event-1 event-1-labels event-2 event-2-labels event-3 event-3-labels reference reference-finance"},
		{"a key that may replicate but read nothing", kvtest.Login(t, s, "denomination", "sync:*"), ""},
		{"a key that reads people alone", kvtest.Login(t, s, "denomination", "sync:*", "people:GET"), ""},
		{"a key that reads events and facts", kvtest.Login(t, s, "denomination", "sync:GET", "event:GET", "checkin:GET"), "event-1 event-1-labels event-2 event-2-labels event-3 event-3-labels"},
		{"a key that may not replicate", kvtest.Login(t, s, "denomination"), ""},
		{"a regional's", kvtest.Login(t, s, "regional:2", all...), "church-2 church-2-finance event-2 event-2-labels event-3 event-3-labels reference reference-finance"},
		{"a church's", kvtest.Login(t, s, "church:1", all...), "church-1 church-1-finance event-1 event-1-labels event-3 event-3-labels reference reference-finance"},
		{"an event's", kvtest.Login(t, s, "event:2", all...), "event-2 event-2-labels reference"},
		{"a laptop of an event", enrolled(t, s, "event:2", auth.Venue{}), "event-2 event-2-labels reference"},
		{"a laptop of an event with names", enrolled(t, s, "event:2", auth.Venue{Names: true}), "event-2 event-2-names reference"},
		{"a laptop of a church", enrolled(t, s, "church:1", auth.Venue{Names: true}),
			"church-1 event-1 event-1-holders event-1-names event-3 event-3-holders event-3-names reference reference-finance"},
		{"a laptop of a church with its money", enrolled(t, s, "church:1", auth.Venue{Finance: true}),
			"church-1 church-1-finance event-1 event-1-holders event-1-labels event-3 event-3-holders event-3-labels reference reference-finance"},
		{"a mirror", enrolled(t, s, "denomination", auth.Venue{Mirror: true}),
			"church-1 church-1-finance church-2 church-2-finance event-1 event-1-holders event-1-labels event-1-names event-2 event-2-holders event-2-labels event-2-names " +
				"event-3 event-3-holders event-3-labels event-3-names records reference reference-finance"},
	} {
		t.Run(c.name, func(t *testing.T) {
			listed, err := s.Docs.Databases(c.p)
			var names []string
			for _, db := range listed {
				names = append(names, db.Name)
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("Databases = %s, %v, want %s", got, err, c.want)
			}
			for _, name := range []string{"records", "reference", "reference-finance", "church-1", "church-1-finance", "church-2",
				"event-1", "event-2-names", "event-2-holders"} {
				want := "forbidden"
				if slices.Contains(strings.Fields(c.want), name) {
					want = "ok"
				}
				if db, err := s.Docs.Database(c.p, name); err == nil {
					_, _, err = db.Changes(docs.Feed{Limit: 1})
					if kindOf(err) != want {
						t.Errorf("changes of %s: %v, want %s", name, err, want)
					}
				} else if kindOf(err) != want {
					t.Errorf("Database(%s) = %v, want %s", name, err, want)
				}
			}
		})
	}
}

// At event level the reference shows churches, regionals and roles; its groups and events are for churches.
func TestAnEventsKeySeesTheReferencesFirstKinds(t *testing.T) {
	s := twoChurches(t)
	kvtest.Create(t, s, record.Group, `{"name":"Everybody's"}`)
	for level, want := range map[string]int{"event:2": 4, "church:1": 6} {
		db, err := s.Docs.Database(kvtest.Login(t, s, level, "*:*"), "reference")
		if err != nil {
			t.Fatal(err)
		}
		page, _, err := db.Changes(docs.Feed{Limit: 100})
		if err != nil || len(page) != want {
			t.Errorf("%s: %d changes, %v, want %d", level, len(page), err, want)
		}
		list, err := db.List(docs.Range{Limit: 100})
		if err != nil || len(list) != want {
			t.Errorf("%s: a list of %d, %v, want %d", level, len(list), err, want)
		}
		_, err = db.Read(record.Group.DocID(record.Int(1)), docs.Ask{})
		if (err == nil) != (want == 6) {
			t.Errorf("%s reads the group: %v", level, err)
		}
	}
	patched(t, s, record.Group, 1, `{"church_id":1}`) // it leaves the reference
	for level, want := range map[string]int{"event:2": 0, "church:1": 1} {
		ask := docs.Feed{Since: 1, Limit: 9, IDs: []string{record.Group.DocID(record.Int(1))}}
		page, _, err := opens(t, s, kvtest.Login(t, s, level, "*:*"), "reference").Changes(ask)
		if err != nil || len(page) != want {
			t.Errorf("%s is told that the group has left: %+v, %v", level, page, err)
		}
	}
}

func TestAScopesListenersAreWokenForIt(t *testing.T) {
	s := twoChurches(t)
	db, err := s.Docs.Database(auth.Operator(), "church-1")
	if err != nil {
		t.Fatal(err)
	}
	info, err := db.Info()
	if err != nil {
		t.Fatal(err)
	}
	woken := make(chan error, 1)
	go func() { woken <- db.Await(context.Background(), info.Seq) }()
	kvtest.Create(t, s, record.Person, `{"full_name":"Eva","church_id":2}`)
	select {
	case err := <-woken:
		t.Fatalf("Await of one church returns %v for another's person", err)
	default:
	}
	kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	if err := <-woken; err != nil {
		t.Error(err)
	}
}

// A document is the record's canonical body, what it says to nobody on /v1 too; its revision is the record's.
func TestARecordIsADocument(t *testing.T) {
	s := twoChurches(t)
	id := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	patched(t, s, record.Person, id, `{"full_name":"Ana Souza"}`)
	r := patched(t, s, record.Person, id, `{"church_id":1,"email":"ana@example.org"}`)
	db, err := s.Docs.Database(auth.Operator(), "church-1")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := db.Read("person:0000000000000001", docs.Ask{})
	if err != nil || doc.Revisions[0].Revision.String() != r.Revision || doc.Tree.Len() != 3 {
		t.Fatalf("Read = %+v, %v, want revision %s", doc, err, r.Revision)
	}
	if body := doc.Revisions[0].Body; member(body, "full_name") != `"Ana Souza"` || member(body, "church_id") != "1" {
		t.Errorf("body = %s", body)
	}
	path := doc.Tree.Path(doc.Revisions[0].Revision)
	old, err := db.Read("person:0000000000000001", docs.Ask{Revisions: path[1:]})
	if err != nil || len(old.Revisions) != 2 || member(old.Revisions[1].Body, "full_name") != `"Ana"` {
		t.Errorf("older revisions = %+v, %v", old.Revisions, err)
	}
	for _, other := range []string{"person:1", "person:0000000000000009", "person:000000000000000x", "ticket:0000000000000001", "x", ""} {
		if _, err := db.Read(other, docs.Ask{}); kindOf(err) != "not found" {
			t.Errorf("Read(%q) = %v, want not found", other, err)
		}
	}
	m, err := db.Missing([]merge.Revs{{ID: "person:0000000000000001", Revisions: append(path, rev.Next(path[0], false, nil))}})
	if err != nil || len(m[0].Missing) != 1 || !slices.Equal(m[0].PossibleAncestors, path[:1]) {
		t.Errorf("Missing = %+v, %v", m, err)
	}
}
