package kv_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
)

// TestListsAgreeWithANaiveOracle draws creates, patches, moves, deletes and restarts, and compares every page at every offset,
// of all churches and of several, as the denomination and as a church see them.
func TestListsAgreeWithANaiveOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		c := kv.Config{Dir: folder(t)}
		s := reopenable(t, c)
		defer func() { closed(t, s) }()
		w := world{record.Regional: {1: {}}, record.Church: {1: {}, 2: {}, 3: {}}}
		for _, k := range changing {
			w[k] = map[int64]fields{}
		}
		w.fill(t, s)
		office := caller{level: auth.Level{Name: auth.ChurchOf, IDs: []int64{1, 3}}, permissions: []string{"*:*"}}
		_ = office.login(r, s)
		for range rapid.IntRange(5, 40).Draw(r, "steps") {
			if rapid.IntRange(0, 15).Draw(r, "restart") == 0 {
				closed(t, s)
				s = reopenable(t, c)
			}
			w.step(r, s)
		}
		whole := caller{level: auth.Level{Name: auth.Denomination}, permissions: []string{"*:*"}}
		for _, a := range []caller{whole, office} {
			p := a.login(r, s)
			for _, k := range changing {
				for range 4 {
					w.checkList(r, s, asked{a, p, record.Admin, k})
				}
			}
		}
		w.checkIssued(r, s)
		if report, err := s.Files.Verify(auth.Operator(), nil); err != nil || report.Damaged > 0 {
			r.Errorf("Verify = %+v, %v", report, err)
		}
	})
}

var changing = []*record.Kind{record.Person, record.Group, record.Membership, record.Event, record.Ticket}

// step makes, moves or deletes one record; what the contract refuses changes nothing.
func (w world) step(t *rapid.T, s *kv.Store) {
	a := asked{kind: rapid.SampledFrom(changing).Draw(t, "kind"), surface: record.Admin, p: auth.Operator()}
	a.c = caller{level: auth.Level{Name: auth.Denomination}, permissions: []string{"*:*"}}
	switch rapid.IntRange(0, 3).Draw(t, "step") {
	case 0, 1:
		f := fields{}
		for _, name := range filters[a.kind] {
			f[name] = rapid.Int64Range(0, 3).Draw(t, name)
		}
		if w.fate(a, f) != "ok" {
			return
		}
		r, err := s.Desk.Create(a.p, target(a.kind, 0), kvtest.Parse(t, a.kind, f.body(a.kind, false), true))
		if err != nil {
			t.Fatalf("create %s of %v: %v", a.kind.Name, f, err)
		}
		w[a.kind][r.ID.Int()] = f
	case 2:
		w.checkMove(t, s, a)
	case 3:
		id := w.drawnID(t, a.kind)
		if _, there := w[a.kind][id]; there && w.named(a.kind, id) == 0 {
			err := s.Desk.Delete(a.p, target(a.kind, id))
			if err == nil {
				delete(w[a.kind], id)
			} else if scannable := a.kind == record.Ticket || a.kind == record.Event; !scannable || kindOf(err) != "conflict" {
				t.Fatalf("delete %s %d: %v", a.kind.Name, id, err)
			}
		}
	}
}

// named is how many records of the model name one.
func (w world) named(k *record.Kind, id int64) (n int) {
	for _, records := range w {
		for _, f := range records {
			for name, to := range f {
				if refKinds[name] == k && to == id {
					n++
				}
			}
		}
	}
	return n
}

// checkIssued compares the events' counts of issued tickets, all of which are valid here.
func (w world) checkIssued(t *rapid.T, s *kv.Store) {
	for id := range w[record.Event] {
		r, err := s.Desk.Retrieve(auth.Operator(), desk.Target{Kind: record.Event, ID: record.Int(id)})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, f := range w[record.Ticket] {
			if f["event_id"] == id {
				n++
			}
		}
		if got := member(r.JSON, "issued_tickets"); got != fmt.Sprint(n) {
			t.Errorf("issued_tickets of event %d = %s, want %d", id, got, n)
		}
	}
}

// TestMembershipsFollowTheirPerson from church to church, in lists and in single.
func TestMembershipsFollowTheirPerson(t *testing.T) {
	s, _ := opened(t)
	loaded(t, s, row(t, record.Church, 1, `{"name":"A"}`), row(t, record.Church, 2, `{"name":"B"}`), row(t, record.Group, 1, `{"name":"G"}`),
		row(t, record.Person, 1, `{"full_name":"Ana","church_id":1}`), row(t, record.Membership, 1, `{"person":1,"group_id":1}`))
	keys := map[int64]auth.Principal{1: kvtest.Login(t, s, "church:1"), 2: kvtest.Login(t, s, "church:2")}
	before, err := s.Desk.Retrieve(auth.Operator(), target(record.Membership, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, church := range []int64{2, 0, 1} {
		patched(t, s, record.Person, 1, strings.Replace(fmt.Sprintf(`{"church_id":%d}`, church), ":0", ":null", 1))
		for id, p := range keys {
			page, err := s.Desk.List(p, desk.Query{Kind: record.Membership, Limit: 10})
			if err != nil || (page.Count == 1) != (id == church) || (s.Desk.Sees(p, record.Membership, record.Int(1)) == nil) != (id == church) {
				t.Errorf("church %d lists %d memberships of a person in church %d, %v", id, page.Count, church, err)
			}
		}
	}
	after, err := s.Desk.Retrieve(auth.Operator(), target(record.Membership, 1))
	if err != nil || after.Revision != before.Revision {
		t.Errorf("a membership that followed has revision %s, %v, want %s as before", after.Revision, err, before.Revision)
	}
	healthy(t, s)
}

// TestAMembershipWaitsForItsPerson: a laptop brings a membership of a person that is not here, or was deleted. No list counts it before
// the person is there.
func TestAMembershipWaitsForItsPerson(t *testing.T) {
	s := twoChurches(t)
	kvtest.Create(t, s, record.Group, `{"name":"Choir","church_id":1}`)
	db, key := opens(t, s, auth.Operator(), "church-1"), kvtest.Login(t, s, "church:1", "*:*")
	for i, w := range []merge.DocWrite{
		{ID: record.Membership.DocID(record.Int(7)), Path: chain("a"), Body: []byte(`{"person":9,"group_id":1}`)},
		{ID: record.Person.DocID(record.Int(9)), Path: chain("a"), Body: []byte(`{"full_name":"Ana","church_id":1}`)},
	} {
		if err := push(t, db, w); err != nil {
			t.Fatal(err)
		}
		page, err := s.Desk.List(key, desk.Query{Kind: record.Membership, Limit: 10})
		if seen := s.Desk.Sees(key, record.Membership, record.Int(7)) == nil; err != nil || page.Count != i || seen != (i == 1) {
			t.Errorf("with %d people the key lists %d memberships, %v, and sees this one: %t", i, page.Count, err, seen)
		}
	}
	healthy(t, s)
}

// TestIssuedTicketsFollowTheState counts valid and unpaid tickets, and no others.
func TestIssuedTicketsFollowTheState(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, "")
	ticket := newTicket(t, s, event, "K1", "")
	newTicket(t, s, event, "K2", `,"state":"blocked"`)
	for state, want := range map[string]string{"valid": "1", "unpaid": "1", "cancelled": "0", "refunded": "0", "blocked": "0"} {
		patched(t, s, record.Ticket, ticket, `{"state":"`+state+`"}`)
		r, err := s.Desk.Retrieve(auth.Operator(), desk.Target{Kind: record.Event, ID: record.Int(event)})
		if got := member(r.JSON, "issued_tickets"); err != nil || got != want {
			t.Errorf("issued_tickets with one %s = %s, %v, want %s", state, got, err, want)
		}
	}
}

// TestReadersSeeWholePagesWhileAWriterWrites: whatever is made and deleted meanwhile, below and above, a page neither repeats
// nor skips a record that is there throughout, and the count is that of the state which the page shows.
func TestReadersSeeWholePagesWhileAWriterWrites(t *testing.T) {
	s, _ := opened(t)
	var rows []entry.Row
	kept := map[int64]bool{}
	loaded(t, s, row(t, record.Church, 1, `{"name":"A"}`), row(t, record.Church, 2, `{"name":"B"}`))
	for id := int64(1); id <= 300; id++ {
		if id%2 == 0 {
			kept[id] = true
			rows = append(rows, row(t, record.Person, id, fmt.Sprintf(`{"full_name":"Ana","church_id":%d}`, 1+id/2%2)))
		}
	}
	loaded(t, s, rows...)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for n := range int64(3) {
		wg.Go(func() {
			for i := range int64(25) {
				id := (i*6+n*2)%300 + 1 // odd: below, among and above what is kept
				results, err := s.Desk.Upsert(auth.Operator(), []entry.Row{row(t, record.Person, id, fmt.Sprintf(`{"full_name":"Eva","church_id":%d}`, 1+i%2))}, false)
				if err != nil || results[0].Err != nil {
					t.Errorf("upsert: %v %v", err, results)
				}
				if err := s.Desk.Delete(auth.Operator(), target(record.Person, id)); err != nil {
					t.Errorf("delete: %v", err)
				}
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	office := kvtest.Login(t, s, "church:1,2")
	var readers sync.WaitGroup
	for n := range 3 {
		readers.Go(func() {
			q := desk.Query{Kind: record.Person, Limit: []int{1000, 7, 40}[n]}
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
				}
				page, err := s.Desk.List(office, q)
				if err != nil {
					t.Errorf("list: %v", err)
					return
				}
				checkWhole(t, page, q, kept)
				q.Offset = (q.Offset + 5) % 150
				if n == 0 {
					q.Offset = 0
				}
			}
		})
	}
	readers.Wait()
	healthy(t, s)
}

// checkWhole checks one page on its own.
func checkWhole(t *testing.T, page desk.Page, q desk.Query, kept map[int64]bool) {
	ids := ints(page.IDs)
	if want := max(0, min(q.Limit, page.Count-q.Offset)); len(ids) != want || page.Count < len(kept) {
		t.Errorf("a page at %d of %d has %d records, want %d", q.Offset, page.Count, len(ids), want)
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("a page repeats a record or is out of order: %v", ids)
	}
	if n := elements(page.Results); n != len(ids) {
		t.Errorf("a page of %d ids shows %d records", len(ids), n)
	}
	if len(ids) == 0 {
		return
	}
	first, last := ids[0], ids[len(ids)-1]
	if q.Offset == 0 {
		first = 0
	}
	if q.Offset+len(ids) == page.Count {
		last = 1 << 30
	}
	for id := range maps.Keys(kept) {
		if first <= id && id <= last && !slices.Contains(ids, id) {
			t.Errorf("a page from %d to %d skips %d, which is there throughout", first, last, id)
		}
	}
}

// elements counts the elements of a JSON array.
func elements(array []byte) (n int) {
	v := jsontext.Value(array)
	if !v.IsValid() {
		return -1
	}
	for i, depth := 0, 0; i < len(v); i++ {
		switch v[i] {
		case '{':
			if depth++; depth == 1 {
				n++
			}
		case '}':
			depth--
		}
	}
	return n
}

// TestListsOfIDsFarApartAreMadeInParts has people with numbers that span so much that the lists of one kind are made in parts. After a restart
// the lists, those of each church, the counts and the places of new records are what they were.
func TestListsOfIDsFarApartAreMadeInParts(t *testing.T) {
	t.Parallel()
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	defer func() { closed(t, s) }()
	for _, name := range []string{"A", "B"} {
		kvtest.Create(t, s, record.Church, fmt.Sprintf(`{"name":%q}`, name))
	}
	r := rand.New(rand.NewPCG(5, 5))
	put := func(id int64) {
		body := fmt.Sprintf(`{"full_name":"Ana","church_id":%d}`, 1+r.IntN(2))
		if err := kv.Force(s, kvtest.Parse(t, record.Person, body, true), id); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range r.Perm(400) {
		put(1 + int64(id)*250)
	}
	for i := range int64(50) { // the beginning of a part, and what lies before it
		gone := desk.Target{Surface: record.V1, Kind: record.Person, ID: record.Int(1 + i*2000)}
		if err := s.Desk.Delete(auth.Operator(), gone); err != nil {
			t.Fatal(err)
		}
	}
	pages := func() (all []string) {
		for _, q := range []desk.Query{{}, {Where: []desk.Where{{Field: "church_id", In: []any{int64(1)}}}}, {Where: []desk.Where{{Field: "church_id", In: []any{int64(2)}}}}} {
			q.Surface, q.Kind, q.Limit = record.V1, record.Person, 30
			for more := true; more; q.Offset += q.Limit {
				page, err := s.Desk.List(auth.Operator(), q)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, fmt.Sprint(page.Count, page.IDs))
				more = len(page.IDs) > 0
			}
		}
		return all
	}
	for restart := range 2 {
		for i := range int64(50 * restart) { // among and behind those that are there
			put(2 + i*3000)
		}
		before := pages()
		closed(t, s)
		s = reopenable(t, c)
		if after := pages(); !slices.Equal(before, after) {
			t.Fatalf("after a restart the pages are\n%v, and were\n%v", after, before)
		}
	}
}
