package kv_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// fates is what became of rows, as one text.
func fates(t testing.TB, s *kv.Store, dryRun bool, rows ...entry.Row) string {
	t.Helper()
	results, err := s.Desk.Upsert(auth.Operator(), rows, dryRun)
	if err != nil {
		t.Fatalf("upsert: %v", err)
	}
	var all []string
	for _, r := range results {
		if (r.Err != nil) != (r.Fate == desk.Rejected) {
			t.Errorf("fate %s with error %v", r.Fate, r.Err)
		}
		all = append(all, string(r.Fate))
	}
	return strings.Join(all, " ")
}

func TestRowsFindTheirRecord(t *testing.T) {
	s, _ := opened(t)
	loaded(t, s, row(t, record.Church, 1, `{"name":"A"}`), row(t, record.Event, 7, `{"name":"E","start_datetime":"2026-11-22T19:00:00Z"}`),
		row(t, record.Event, 8, `{"name":"F","start_datetime":"2026-11-22T19:00:00Z"}`))
	for _, c := range []struct {
		name string
		row  entry.Row
		want string
		id   int64 // of the record that the row must have found or made; 0 = any
	}{
		{"a new external_id", row(t, record.Ticket, 0, `{"event_id":7,"external_id":"x","code":"A1"}`), "created", 1},
		{"the same row", row(t, record.Ticket, 0, `{"event_id":7,"external_id":"x","code":"A1"}`), "unchanged", 1},
		{"another code under the external_id", row(t, record.Ticket, 0, `{"event_id":7,"external_id":"x","code":"A2"}`), "updated", 1},
		{"the external_id in another event", row(t, record.Ticket, 0, `{"event_id":8,"external_id":"x","code":"A1"}`), "created", 2},
		{"the external_id goes before the id", row(t, record.Ticket, 2, `{"event_id":7,"external_id":"x","type":"T"}`), "updated", 1},
		{"the id goes before the code", row(t, record.Ticket, 2, `{"event_id":8,"code":"B1"}`), "updated", 2},
		{"event and code", row(t, record.Ticket, 0, `{"event_id":8,"code":"B1"}`), "unchanged", 2},
		{"a code of another event", row(t, record.Ticket, 0, `{"event_id":7,"code":"B1"}`), "created", 3},
		{"a code that another ticket has", row(t, record.Ticket, 3, `{"event_id":7,"code":"A2"}`), "rejected", 0},
		{"a ticket without a code gets one", row(t, record.Ticket, 0, `{"event_id":7}`), "created", 4},
		{"a ticket that has no external_id yet", row(t, record.Ticket, 0, `{"event_id":7,"code":"B1","external_id":"y"}`), "updated", 3},
		{"a new external_id for another's code", row(t, record.Ticket, 0, `{"event_id":7,"code":"B1","external_id":"z"}`), "rejected", 0},
		{"a ticket of no event", row(t, record.Ticket, 0, `{"code":"Z"}`), "rejected", 0},
		{"a church's external_id", row(t, record.Church, 0, `{"name":"B","external_id":"x"}`), "created", 2},
		{"and again", row(t, record.Church, 0, `{"name":"C","external_id":"x"}`), "updated", 2},
		{"a missing reference", row(t, record.Person, 0, `{"full_name":"Ana","church_id":9}`), "rejected", 0},
		{"a kind that is not imported", row(t, record.Holder, 0, `{"event_id":7,"ticket_id":1}`), "rejected", 0},
		{"a fact", row(t, record.Checkin, 0, `{"event_id":7,"hlc":"0000000000000001","at":"2026-01-01T00:00:00Z"}`), "rejected", 0},
	} {
		results, err := s.Desk.Upsert(auth.Operator(), []entry.Row{c.row}, false)
		if err != nil || string(results[0].Fate) != c.want || c.id != 0 && results[0].ID.Int() != c.id {
			t.Errorf("%s: %+v, %v, want %s of %d", c.name, results, err, c.want, c.id)
		}
	}
	healthy(t, s)
}

func TestGivenIdsRaiseTheMark(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	loaded(t, s, row(t, record.Church, 40, `{"name":"A"}`), row(t, record.Church, 12, `{"name":"B"}`))
	if id := kvtest.Create(t, s, record.Church, `{"name":"C"}`); id != 41 {
		t.Errorf("the next id = %d, want 41", id)
	}
	if err := s.Desk.Delete(auth.Operator(), target(record.Church, 41)); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	s = kvtest.OpenConfig(t, c)
	if id := kvtest.Create(t, s, record.Church, `{"name":"D"}`); id != 42 {
		t.Errorf("the next id after a delete and a restart = %d, want 42", id)
	}
	if got := fates(t, s, false, row(t, record.Church, 41, `{"name":"back"}`), row(t, record.Church, 1<<31, `{"name":"E"}`)); got != "created created" {
		t.Errorf("fates of given ids = %s", got)
	}
	if id := kvtest.Create(t, s, record.Church, `{"name":"F"}`); id != 1<<31+1 {
		t.Errorf("the id after a given one = %d, want %d", id, 1<<31+1)
	}
	r, err := s.Desk.Retrieve(auth.Operator(), target(record.Church, 41))
	if err != nil || !strings.HasPrefix(r.Revision, "3-") {
		t.Errorf("revision of a record made again = %s, %v, want the third generation", r.Revision, err)
	}
	healthy(t, s)
}

// TestAGivenID_AtTheTop: an id from where ids are drawn, up to the largest, moves no mark. One right below leaves no ids in order: from then on
// they are drawn, and a restore finds nothing to pass over.
func TestAGivenID_AtTheTop(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	first := kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
	if got := fates(t, s, false, row(t, record.Person, record.MaxID, `{"full_name":"Bia"}`), row(t, record.Person, record.FirstDrawn, `{"full_name":"Caio"}`)); got != "created created" {
		t.Errorf("fates of the largest ids = %s", got)
	}
	if id := kvtest.Create(t, s, record.Person, `{"full_name":"Davi"}`); id != first+1 {
		t.Errorf("the next id = %d, want %d", id, first+1)
	}
	if got := fates(t, s, false, row(t, record.Person, record.FirstDrawn-2, `{"full_name":"Edu"}`)); got != "created" {
		t.Errorf("fate of an id below those that are drawn = %s", got)
	}
	if id := kvtest.Create(t, s, record.Person, `{"full_name":"Eva"}`); id != record.FirstDrawn-1 {
		t.Errorf("the last id in order = %d, want %d", id, int64(record.FirstDrawn-1))
	}
	drawn := map[int64]bool{record.MaxID: true, record.FirstDrawn: true}
	for range 20 {
		id := kvtest.Create(t, s, record.Person, `{"full_name":"Gil"}`)
		if id < record.FirstDrawn || drawn[id] {
			t.Errorf("the next id = %d, want one that is drawn", id)
		}
		drawn[id] = true
	}
	if _, err := s.Venues.Lease(auth.Operator(), record.Person, 10, ""); kindOf(err) != "conflict" {
		t.Errorf("Lease = %v, want that there is no range", err)
	}
	healthy(t, s)
	closed(t, s)
	c.Restored = true
	s = reopenable(t, c)
	if id := kvtest.Create(t, s, record.Person, `{"full_name":"Ian"}`); id < record.FirstDrawn {
		t.Errorf("the next id after a restore = %d", id)
	}
	healthy(t, s)
	closed(t, s)
}

// TestAGivenID_BelowDenomination: a row with an id changes the record that the key sees under it. It makes none, and never learns whether there
// is a record out of its sight.
func TestAGivenID_BelowDenomination(t *testing.T) {
	s := twoChurches(t)
	mine := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	theirs := kvtest.Create(t, s, record.Person, `{"full_name":"Bia","church_id":2,"external_id":"7"}`)
	gone := kvtest.Create(t, s, record.Person, `{"full_name":"Caio","church_id":1}`)
	if err := s.Desk.Delete(auth.Operator(), target(record.Person, gone)); err != nil {
		t.Fatal(err)
	}
	event := newEvent(t, s, `,"church_id":1`)
	ticket := newTicket(t, s, event, "MINE", "")
	church, atEvent := kvtest.Login(t, s, "church:1", "admin:*"), kvtest.Login(t, s, fmt.Sprintf("event:%d", event), "admin:*")
	fate := func(p auth.Principal, r entry.Row) (string, string) {
		results, err := s.Desk.Upsert(p, []entry.Row{r}, false)
		if err != nil {
			t.Fatal(err)
		}
		if results[0].Err != nil {
			return string(results[0].Fate), results[0].Err.Error()
		}
		return string(results[0].Fate), ""
	}
	const free = 1<<31 - 1
	said := map[string]bool{}
	for _, c := range []struct {
		name string
		p    auth.Principal
		row  entry.Row
		want string
	}{
		{"a record that it sees", church, row(t, record.Person, mine, `{"full_name":"Ana Souza","church_id":1}`), "updated"},
		{"a record of another church", church, row(t, record.Person, theirs, `{"full_name":"Rui","church_id":1}`), "rejected"},
		{"no record", church, row(t, record.Person, free, `{"full_name":"Rui","church_id":1}`), "rejected"},
		{"no record, the largest id", church, row(t, record.Person, record.MaxID, `{"full_name":"Rui","church_id":1}`), "rejected"},
		{"a deleted record", church, row(t, record.Person, gone, `{"full_name":"Rui","church_id":1}`), "rejected"},
		{"a record of another church and its external_id", church, row(t, record.Person, theirs, `{"full_name":"Rui","church_id":1,"external_id":"8"}`), "rejected"},
		{"no record, with an external_id", church, row(t, record.Person, free, `{"full_name":"Rui","church_id":1,"external_id":"9"}`), "rejected"},
		{"a ticket that it sees", atEvent, row(t, record.Ticket, ticket, fmt.Sprintf(`{"event_id":%d,"code":"MINE","type":"Adult"}`, event)), "updated"},
		{"no ticket", atEvent, row(t, record.Ticket, free, fmt.Sprintf(`{"event_id":%d,"code":"TOP"}`, event)), "rejected"},
		{"no ticket, at the centre", auth.Operator(), row(t, record.Ticket, free, fmt.Sprintf(`{"event_id":%d,"code":"TOP"}`, event)), "created"},
	} {
		got, why := fate(c.p, c.row)
		if got != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, got, why, c.want)
		}
		if got == "rejected" {
			said[why] = true
		}
	}
	if len(said) != 1 {
		t.Errorf("the key is told %v, want the same whether there is a record or not", said)
	}
	healthy(t, s)
}

func TestMintingSkipsIdsInUse(t *testing.T) {
	s, _ := opened(t)
	for _, id := range []int64{2, 3} {
		if err := kv.Force(s, kvtest.Parse(t, record.Church, `{"name":"theirs"}`, true), id); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int64{1, 4, 5} {
		if id := kvtest.Create(t, s, record.Church, `{"name":"ours"}`); id != want {
			t.Errorf("the next id = %d, want %d", id, want)
		}
	}
	healthy(t, s)
}

func TestBadRowBlocksNone(t *testing.T) {
	s, _ := opened(t)
	rows := []entry.Row{
		row(t, record.Church, 0, `{"name":"A"}`), row(t, record.Church, 0, `{"name":"B","regional_id":9}`),
		row(t, record.Church, 0, `{}`), row(t, record.Church, 0, `{"name":7.5e3000}`), row(t, record.Church, 0, `{"name":"C"}`),
	}
	if got := fates(t, s, false, rows...); !strings.HasPrefix(got, "created rejected rejected") || !strings.HasSuffix(got, "created") {
		t.Errorf("fates = %s", got)
	}
	if _, err := s.Desk.Upsert(auth.Operator(), slices.Repeat(rows, 21), false); err == nil {
		t.Error("more than a hundred rows are taken")
	}
	reader := kvtest.Login(t, s, "denomination", "admin:GET")
	if _, err := s.Desk.Upsert(reader, rows, false); kindOf(err) != "forbidden" {
		t.Errorf("Upsert without admin:POST = %v, want forbidden", err)
	}
	church := kvtest.Login(t, s, "church:1", "*:*")
	results, err := s.Desk.Upsert(church, []entry.Row{
		row(t, record.Person, 0, `{"full_name":"Ana","church_id":1}`), row(t, record.Person, 0, `{"full_name":"Eva","church_id":2}`),
		row(t, record.Church, 0, `{"name":"mine"}`),
	}, false)
	if err != nil || results[0].Fate != desk.Created || kindOf(results[1].Err) != "faults" || kindOf(results[2].Err) != "forbidden" {
		t.Errorf("a church's import = %+v, %v", results, err)
	}
	r, err := s.Desk.Retrieve(auth.Operator(), target(record.Person, results[0].ID.Int()))
	if by := member(r.JSON, "created_by") + member(r.JSON, "updated_by"); err != nil || by != "nullnull" {
		t.Errorf("author of an imported record = %s, %v, want none", by, err)
	}
}

// TestUpsertLaw: a dry run changes nothing and foretells the run; the same rows again are unchanged and change nothing.
func TestUpsertLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := reopenable(t, kv.Config{Dir: folder(t)})
		defer closed(t, s)
		drawnWorld(r).fill(t, s)
		rows := drawnRows(r, t)
		before, seq := exported(t, s), s.Tables.Commits.Seq()
		dry := fates(t, s, true, rows...)
		if got := exported(t, s); !slices.Equal(got, before) || s.Tables.Commits.Seq() != seq {
			r.Fatalf("a dry run changed something")
		}
		first := fates(t, s, false, rows...)
		if first != dry {
			r.Fatalf("a run makes %s, the dry run foretold %s", first, dry)
		}
		after, seq := exported(t, s), s.Tables.Commits.Seq()
		want := strings.NewReplacer("created", "unchanged", "updated", "unchanged").Replace(first)
		if got := fates(t, s, false, rows...); got != want || s.Tables.Commits.Seq() != seq || !slices.Equal(exported(t, s), after) {
			r.Fatalf("the same rows again are %s, want %s and nothing changed", got, want)
		}
		if report, err := s.Files.Verify(auth.Operator(), nil); err != nil || report.Damaged > 0 {
			r.Errorf("Verify = %+v, %v", report, err)
		}
	})
}

// drawnRows are rows that do not fight over a record: those of one kind name theirs in one way.
func drawnRows(r *rapid.T, t *testing.T) (rows []entry.Row) {
	w := drawnWorld(r)
	for _, k := range []*record.Kind{record.Person, record.Group, record.FinancialEntry, record.Ticket} {
		by := rapid.SampledFrom([]string{"id", "external_id", "code"}).Draw(r, "key")
		for n := range int64(len(w[k])) {
			body, id := w[k][n+1].body(k, true), int64(0)
			switch {
			case by == "id":
				id = n*2 + 1
			case by == "code" && k == record.Ticket:
				body = fmt.Sprintf(`{"code":"CODE-%d",%s`, n*2, body[1:])
			default:
				body = fmt.Sprintf(`{"external_id":"x%d",%s`, n, body[1:])
			}
			if k == record.Ticket && by != "code" {
				body = fmt.Sprintf(`{"code":"NEW-%d",%s`, n, body[1:])
			}
			rows = append(rows, row(t, k, id, body))
		}
	}
	return rows
}

func TestAnImportChangesOnlyWithThePermissionToChange(t *testing.T) {
	s := kvtest.Open(t)
	kvtest.Create(t, s, record.Church, `{"name":"Old","external_id":"x"}`)
	p := kvtest.Login(t, s, "denomination", "admin:POST")
	results, err := s.Desk.Upsert(p, []entry.Row{
		row(t, record.Church, 0, `{"name":"New","external_id":"x"}`), row(t, record.Church, 0, `{"name":"Another","external_id":"y"}`),
	}, false)
	if err != nil || !errors.Is(results[0].Err, auth.ErrForbidden) || results[1].Fate != desk.Created {
		t.Errorf("Upsert with admin:POST alone = %+v, %v, want a change forbidden and a create done", results, err)
	}
}

// A row that names an event or a group outside says nothing of what is there.
func TestAnImportTellsNoCodeAndNoMemberOutside(t *testing.T) {
	s := kvtest.Open(t)
	loaded(t, s, row(t, record.Church, 1, `{"name":"A"}`), row(t, record.Church, 2, `{"name":"B"}`),
		row(t, record.Event, 7, `{"name":"E","church_id":2,"start_datetime":"2026-11-22T19:00:00Z"}`),
		row(t, record.Ticket, 1, `{"event_id":7,"code":"SOLD","external_id":"sold"}`), row(t, record.Group, 5, `{"name":"G","church_id":2}`),
		row(t, record.Person, 3, `{"full_name":"Ana","church_id":2}`), row(t, record.Person, 4, `{"full_name":"Bia","church_id":2}`),
		row(t, record.Membership, 1, `{"group_id":5,"person":3}`))
	p := kvtest.Login(t, s, "church:1", "*:*")
	for _, pair := range [][2]entry.Row{
		{row(t, record.Ticket, 0, `{"event_id":7,"code":"SOLD"}`), row(t, record.Ticket, 0, `{"event_id":7,"code":"FREE"}`)},
		{row(t, record.Ticket, 0, `{"event_id":7,"external_id":"sold"}`), row(t, record.Ticket, 0, `{"event_id":7,"external_id":"free"}`)},
		{row(t, record.Membership, 0, `{"group_id":5,"person":3}`), row(t, record.Membership, 0, `{"group_id":5,"person":4}`)},
	} {
		results, err := s.Desk.Upsert(p, pair[:], true)
		if err != nil || results[0].Err == nil {
			t.Fatalf("Upsert = %+v, %v, want both refused", results, err)
		}
		there, free := strings.ReplaceAll(results[0].Err.Error(), `"3"`, `"4"`), results[1].Err.Error()
		if there != free {
			t.Errorf("a %s that is there: %s; one that is not: %s", pair[0].Kind.Name, there, free)
		}
	}
}
