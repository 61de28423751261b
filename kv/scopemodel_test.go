package kv_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// scopesModel is what the feeds of all scopes must show: plain lists, the oldest row first.
type scopesModel struct {
	feeds   map[string][]feedRow
	records map[string]*modelRecord // by document
}

type feedRow struct {
	doc              string
	deleted, removed bool
}

type modelRecord struct {
	kind    *record.Kind
	id      int64
	home    int64 // church, event, or the person of a membership
	deleted bool
	scopes  []string
}

// scopesOf says in what scopes a record is, as sync.md §1 has it.
func (m *scopesModel) scopesOf(r *modelRecord) []string {
	church := func(id int64) []string {
		if id == 0 {
			return nil
		}
		return []string{fmt.Sprintf("church-%d", id)}
	}
	switch r.kind {
	case record.Church, record.Role:
		return []string{"reference"}
	case record.Person:
		return church(r.home)
	case record.FinancialEntry:
		return []string{fmt.Sprintf("church-%d-finance", r.home)}
	case record.Membership:
		return church(m.records[record.Person.DocID(record.Int(r.home))].home)
	case record.Ticket:
		return []string{fmt.Sprintf("event-%d", r.home)}
	case record.TicketCode:
		return []string{fmt.Sprintf("event-%d-holders", r.home)}
	}
	all := church(r.home)
	if r.home == 0 {
		all = []string{"reference"}
	}
	if r.kind == record.Event {
		all = append(all, fmt.Sprintf("event-%d", r.id))
	}
	return all
}

// written moves a record's rows as a change does.
func (m *scopesModel) written(k *record.Kind, id, home int64, deleted bool) {
	doc := k.DocID(record.Int(id))
	r := m.records[doc]
	if r == nil {
		r = &modelRecord{kind: k, id: id}
		m.records[doc] = r
	}
	was := r.deleted
	r.home, r.deleted = home, deleted
	next := m.scopesOf(r)
	if deleted {
		next = r.scopes
	}
	for _, s := range append(slices.Clone(r.scopes), next...) {
		m.feeds[s] = slices.DeleteFunc(m.feeds[s], func(f feedRow) bool { return f.doc == doc })
		if slices.Contains(next, s) {
			m.feeds[s] = append(m.feeds[s], feedRow{doc, deleted, false})
		} else {
			m.feeds[s] = append(m.feeds[s], feedRow{doc, was, true})
		}
	}
	r.scopes = next
}

// moved is written for a person whose memberships go along.
func (m *scopesModel) moved(id, church int64) {
	m.written(record.Person, id, church, false)
	for _, doc := range slices.Sorted(maps.Keys(m.records)) {
		if r := m.records[doc]; r.kind == record.Membership && r.home == id && !r.deleted {
			m.written(record.Membership, r.id, id, false)
		}
	}
}

// check compares every scope's database with the model.
func (m *scopesModel) check(t *rapid.T, s *kv.Store) {
	for name, want := range m.feeds {
		db, err := s.Docs.Database(auth.Operator(), name)
		if err != nil {
			t.Fatalf("open %s: %v", name, err)
		}
		m.checkFeed(t, db, want, 1)
		m.checkFeed(t, db, slices.DeleteFunc(slices.Clone(want), func(f feedRow) bool { return f.removed }), 0)
		live, deleted := []string{}, 0
		for _, f := range want {
			switch {
			case f.removed:
			case f.deleted:
				deleted++
			default:
				live = append(live, f.doc)
			}
		}
		extra := 0
		if name == "reference" {
			extra = 1 // the record that has sequence 1
		}
		info, err := db.Info()
		if err != nil || info.Docs != len(live)+extra || info.Deleted != deleted {
			t.Fatalf("Info of %s = %+v, %v, want %d and %d", name, info, err, len(live), deleted)
		}
		slices.Sort(live)
		m.checkList(t, db, live)
	}
}

func (m *scopesModel) checkFeed(t *rapid.T, db *docs.Database, want []feedRow, since uint64) {
	var got []feedRow
	f := docs.Feed{Since: since, Limit: 3}
	if since == 0 {
		f.Limit = docs.DocPage // only the page that begins there leaves out what has left
	}
	for more := true; more; {
		page, goesOn, err := db.Changes(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page {
			if c.Seq > 1 {
				got = append(got, feedRow{c.ID, c.Deleted, c.Removed})
			}
			f.Since = c.Seq
			m.checkDoc(t, db, c)
		}
		more = goesOn
	}
	if !slices.Equal(got, want) {
		t.Fatalf("feed of %s since %d =\n%v, want\n%v", db.Name(), since, got, want)
	}
	if n, err := db.Pending(since); since > 0 && (err != nil || n != len(got)) {
		t.Fatalf("Pending(%d) of %s = %d, %v, want %d", since, db.Name(), n, err, len(got))
	}
}

// checkDoc wants a document where the feed has it, and none where it has left.
func (m *scopesModel) checkDoc(t *rapid.T, db *docs.Database, c docs.DocChange) {
	doc, err := db.Read(c.ID, docs.Ask{})
	switch {
	case c.Removed:
		if !errors.Is(err, table.ErrNotFound) {
			t.Fatalf("%s reads %s, which has left: %v", db.Name(), c.ID, err)
		}
	case err != nil || doc.Deleted != c.Deleted || doc.Revisions[0].Revision != c.Leaves[0].Revision || doc.Revisions[0].Body == nil:
		t.Fatalf("%s reads %s = %+v, %v, its feed has %+v", db.Name(), c.ID, doc, err, c)
	}
	one, _, err := db.Changes(docs.Feed{Since: 1, Limit: 10, IDs: []string{c.ID, "person:0", "nothing"}})
	if c.Seq > 1 && (err != nil || len(one) != 1 || one[0].Seq != c.Seq || one[0].Removed != c.Removed) {
		t.Fatalf("%s: changes of %s alone = %+v, %v", db.Name(), c.ID, one, err)
	}
}

// checkList reads the live documents forth and back, in pages of two.
func (m *scopesModel) checkList(t *rapid.T, db *docs.Database, want []string) {
	for _, down := range []bool{false, true} {
		var got []string
		r := docs.Range{Limit: 2, Descending: down}
		for {
			page, err := db.List(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range page {
				r.From, r.Past = id, true
				if doc, err := db.Read(id, docs.Ask{}); err != nil || doc.Seq > 1 {
					got = append(got, id)
				}
			}
			if len(page) < r.Limit {
				break
			}
		}
		if down {
			slices.Reverse(got)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("list of %s, down %v = %v, want %v", db.Name(), down, got, want)
		}
	}
}

// step draws one thing that happens.
func (m *scopesModel) step(t *rapid.T, s *kv.Store, n int) {
	some := func(k *record.Kind) int64 {
		var ids []int64
		for _, r := range m.records {
			if r.kind == k && !r.deleted {
				ids = append(ids, r.id)
			}
		}
		if len(ids) == 0 {
			return 0
		}
		slices.Sort(ids)
		return rapid.SampledFrom(ids).Draw(t, k.Name)
	}
	create := func(k *record.Kind, home int64, body string) int64 {
		r, err := s.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: k}, kvtest.Parse(t, k, body, true))
		if errors.Is(err, table.ErrConflict) {
			return 0
		}
		if err != nil {
			t.Fatalf("create %s %s: %v", k.Name, body, err)
		}
		m.written(k, r.ID.Int(), home, false)
		return r.ID.Int()
	}
	church := rapid.Int64Range(0, 3).Draw(t, "church")
	ref := fmt.Sprint(church)
	if church == 0 {
		ref = "null"
	}
	switch rapid.IntRange(0, 8).Draw(t, "what") {
	case 0:
		create(record.Person, church, fmt.Sprintf(`{"full_name":"p%d","church_id":%s}`, n, ref))
	case 1:
		create(record.Group, church, fmt.Sprintf(`{"name":"g%d","church_id":%s}`, n, ref))
	case 2:
		create(record.Event, church, fmt.Sprintf(`{"name":"e%d","start_datetime":"2026-11-22T19:00:00Z","church_id":%s}`, n, ref))
	case 3:
		if p, g := some(record.Person), some(record.Group); p != 0 && g != 0 {
			create(record.Membership, p, fmt.Sprintf(`{"person":%d,"group_id":%d}`, p, g))
		}
	case 4:
		if e := some(record.Event); e != 0 {
			if id := create(record.Ticket, e, fmt.Sprintf(`{"event_id":%d,"code":"C%d"}`, e, n)); id != 0 {
				m.written(record.TicketCode, id, e, false)
			}
		}
	case 5, 6:
		m.change(t, s, some(record.Person), church, fmt.Sprintf(`{"full_name":"x%d","church_id":%s}`, n, ref))
	case 7:
		if e := some(record.Event); e != 0 {
			body := fmt.Sprintf(`{"name":"x%d","church_id":%s}`, n, ref)
			if _, err := s.Desk.Update(auth.Operator(), target(record.Event, e), kvtest.Parse(t, record.Event, body, false)); err != nil {
				t.Fatal(err)
			}
			m.written(record.Event, e, church, false)
		}
	case 8:
		m.delete(t, s, rapid.SampledFrom([]*record.Kind{record.Person, record.Group, record.Event, record.Membership, record.Ticket}).Draw(t, "kind"), some)
	}
}
