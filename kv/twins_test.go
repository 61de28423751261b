package kv_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/inbox"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// TestMerge_TwoChurchesThatNumberFromOne has church 1 bring a record with the number that a record of church 2 has, in each way that there
// is. Both records stay, nothing is listed for staff, and church 1 is told nothing of the other record.
func TestMerge_TwoChurchesThatNumberFromOne(t *testing.T) {
	bodies := map[*record.Kind]string{
		record.Person:         `{"full_name":"Ana","email":"ana%[1]d@example.org","church_id":%[1]d,"external_id":"0001"}`,
		record.Group:          `{"name":"Choir","church_id":%[1]d,"external_id":"0001"}`,
		record.Membership:     `{"person":%[1]d,"group_id":%[1]d,"external_id":"0001"}`,
		record.FinancialEntry: `{"transaction_type":"income","base_amount":"1.00","financial_account_id":1,"supplier_id":1,"church_id":%[1]d,"external_id":"0001"}`,
	}
	ways := map[string]func(testing.TB, *kv.Store, *record.Kind, string) error{
		"by an import": func(t testing.TB, s *kv.Store, k *record.Kind, body string) error {
			results, err := s.Desk.Upsert(kvtest.Login(t, s, "church:1", "admin:*"), []entry.Row{row(t, k, 0, body)}, false)
			if err == nil && results[0].Err == nil && results[0].Fate != desk.Created {
				t.Errorf("the row is %s, want it to be created", results[0].Fate)
			}
			return errors.Join(err, results[0].Err)
		},
		"by an import of the operator": func(t testing.TB, s *kv.Store, k *record.Kind, body string) error {
			loaded(t, s, row(t, k, 0, body))
			return nil
		},
		"by a key": func(t testing.TB, s *kv.Store, k *record.Kind, body string) error {
			p := kvtest.Login(t, s, "church:1", "admin:*")
			_, err := s.Desk.Create(p, desk.Target{Surface: record.Admin, Kind: k}, kvtest.Parse(t, k, body, true))
			return err
		},
		"by a laptop": func(t testing.TB, s *kv.Store, k *record.Kind, body string) error {
			p := enrolled(t, s, "church:1", auth.Venue{Finance: true})
			db := "church-1"
			if k == record.FinancialEntry {
				db = "church-1-finance"
			}
			return push(t, opens(t, s, p, db), merge.DocWrite{ID: drawnDoc(k, 1), Path: chain("a"), Body: []byte(body)})
		},
	}
	for k, body := range bodies {
		for way, bring := range ways {
			t.Run(k.Name+" "+way, func(t *testing.T) {
				s := twoChurches(t)
				kvtest.Create(t, s, record.FinancialAccount, `{"name":"Cash"}`)
				kvtest.Create(t, s, record.Supplier, `{"name":"S"}`)
				if k == record.Membership {
					for n := 1; n <= 2; n++ {
						kvtest.Create(t, s, record.Person, fmt.Sprintf(`{"full_name":"P","church_id":%d}`, n))
						kvtest.Create(t, s, record.Group, fmt.Sprintf(`{"name":"G","church_id":%d}`, n))
					}
				}
				loaded(t, s, row(t, k, 0, fmt.Sprintf(body, 2)))
				theirs := pageOf(t, s, k).IDs[0]
				before := bodyOf(t, opens(t, s, auth.Operator(), "records"), k.DocID(theirs))
				if err := bring(t, s, k, fmt.Sprintf(body, 1)); err != nil {
					t.Fatalf("church 1 is refused its own number: %v", err)
				}
				if n := pageOf(t, s, k).Count; n != 2 {
					t.Errorf("%d records, want two", n)
				}
				if after := bodyOf(t, opens(t, s, auth.Operator(), "records"), k.DocID(theirs)); after != before {
					t.Errorf("the record of church 2 is %s, want %s", after, before)
				}
				if listed := conflicts(t, s); len(listed) > 0 {
					t.Errorf("listed are %s", listed)
				}
				healthy(t, s)
			})
		}
	}
}

// TestMerge_SurvivorThatMoved merges two people of a church and moves the one who stays to another church. A further record with the number
// is another person, and only those who see both records see what was listed.
func TestMerge_SurvivorThatMoved(t *testing.T) {
	s := twoChurches(t)
	laptop := opens(t, s, enrolled(t, s, "church:1", auth.Venue{}), "church-1")
	bring := func(n int64) {
		t.Helper()
		body := fmt.Sprintf(`{"full_name":"Ana","cpf":"%d","church_id":1,"external_id":"0001"}`, n)
		if err := push(t, laptop, merge.DocWrite{ID: drawnDoc(record.Person, n), Path: chain("a"), Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	sees := func(level string) int {
		t.Helper()
		return len(matters(t, s, kvtest.Login(t, s, level, "admin:GET"), record.Conflict))
	}
	bring(1)
	bring(2)
	if n := sees("church:1"); n != 2 { // the record, and its CPF
		t.Errorf("church 1 sees %d conflicts, want 2", n)
	}
	if n := sees("church:2"); n != 0 {
		t.Errorf("church 2 sees %d conflicts of church 1", n)
	}
	patched(t, s, record.Person, record.FirstDrawn+1, `{"church_id":2}`)
	for level, want := range map[string]int{"church:1": 0, "church:1,2": 2} {
		if n := sees(level); n != want {
			t.Errorf("%s sees %d conflicts, want %d", level, n, want)
		}
	}
	bring(3)
	if _, err := s.Desk.Retrieve(auth.Operator(), target(record.Person, record.FirstDrawn+3)); err != nil {
		t.Errorf("the person of church 1 is merged into one of church 2: %v", err)
	}
	healthy(t, s)
}

// TestUpsert_RowWithoutAChurch wants a row that names no church to be of none, whatever churches have its number or its CPF. If there is only
// one church, the row means its record.
func TestUpsert_RowWithoutAChurch(t *testing.T) {
	for key, value := range map[string]string{"external_id": "1", "cpf": "52998224725"} {
		s := kvtest.Open(t)
		kvtest.Create(t, s, record.Church, `{"name":"A"}`)
		whole := fmt.Sprintf(`,"%s":%q}`, key, value)
		loaded(t, s, row(t, record.Person, 0, `{"full_name":"Ana","church_id":1`+whole))
		loaded(t, s, row(t, record.Person, 0, `{"full_name":"Ana Lima"`+whole))
		if page := pageOf(t, s, record.Person); page.Count != 1 || nameOf(t, s, page.IDs[0].Int()) != "Ana Lima" {
			t.Errorf("%s: people are %s, want one with the new name", key, page.Results)
		}
		kvtest.Create(t, s, record.Church, `{"name":"B"}`)
		for range 2 {
			loaded(t, s, row(t, record.Person, 0, `{"full_name":"Ana Reis"`+whole), row(t, record.Person, 0, `{"full_name":"Ana Melo","church_id":2`+whole))
		}
		if page := pageOf(t, s, record.Person); page.Count != 3 || nameOf(t, s, page.IDs[0].Int()) != "Ana Lima" {
			t.Errorf("%s: people are %s, want one of each church and one of none", key, page.Results)
		}
	}
}

// TestMerge_MoveToAChurchThatHasTheNumber refuses it as /v1 does, also to a laptop of both churches: two people do not become one.
func TestMerge_MoveToAChurchThatHasTheNumber(t *testing.T) {
	s := twoChurches(t)
	for n := 1; n <= 2; n++ {
		loaded(t, s, row(t, record.Person, 0, fmt.Sprintf(`{"full_name":"P%d","church_id":%d,"external_id":"1"}`, n, n)))
	}
	if _, err := s.Desk.Update(auth.Operator(), target(record.Person, 1), kvtest.Parse(t, record.Person, `{"church_id":2}`, false)); kindOf(err) != "conflict" {
		t.Errorf("a move by /v1: %v, want a conflict", err)
	}
	db := opens(t, s, enrolled(t, s, "church:1,2", auth.Venue{}), "church-1")
	w := onTop(t, db, record.Person.DocID(record.Int(1)), `"church_id":1`, `"church_id":2`)
	if err := push(t, db, w); kindOf(err) != "forbidden" {
		t.Errorf("a move by a laptop: %v, want it refused", err)
	}
	for n := int64(1); n <= 2; n++ {
		if got := nameOf(t, s, n); got != fmt.Sprintf("P%d", n) {
			t.Errorf("person %d is %s", n, got)
		}
	}
	healthy(t, s)
}

// TestUnique_MembershipOutOfSight gives a person of church 1 a membership of a group of church 2. Its number is free in the groups of church 1.
func TestUnique_MembershipOutOfSight(t *testing.T) {
	s := twoChurches(t)
	kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	for n := 1; n <= 2; n++ {
		kvtest.Create(t, s, record.Group, fmt.Sprintf(`{"name":"G","church_id":%d}`, n))
	}
	loaded(t, s, row(t, record.Membership, 0, `{"person":1,"group_id":2,"external_id":"M1"}`))
	p := kvtest.Login(t, s, "church:1", "admin:*")
	results, err := s.Desk.Upsert(p, []entry.Row{row(t, record.Membership, 0, `{"person":1,"group_id":1,"external_id":"M1"}`)}, false)
	if err != nil || results[0].Fate != desk.Created {
		t.Errorf("the membership is %+v, %v, want it created", results, err)
	}
}

// TestMerge_ManyTwins bounds what a guest makes of a ticket of others: each twin makes it longer.
func TestMerge_ManyTwins(t *testing.T) {
	s := twoChurches(t)
	newTicket(t, s, 1, "CODE-1", "")
	db := opens(t, s, enrolled(t, s, "event:1", auth.Venue{}), "event-1")
	taken := 0
	for n := int64(1); n <= 25; n++ {
		if err := push(t, db, soldTicket(s, n, "CODE-1", "valid")[0].w); err == nil {
			taken++
		} else if kindOf(err) != "forbidden" {
			t.Fatal(err)
		}
	}
	if taken != 20 {
		t.Errorf("%d twins are taken, want 20", taken)
	}
	healthy(t, s)
}

// soldTicket is a ticket with its code and its holder as a laptop pushes them.
func soldTicket(s *kv.Store, n int64, code, state string) []drawnPart {
	hash := s.Tables.Identity.HashCode(code)
	docs := drawnDuplicate{id: n, code: 1}.ticketDocs()
	ticket := strings.ReplaceAll(string(docs[0].w.Body), fmt.Sprintf("%q", fmt.Sprintf("%032d", 1)), string(table.HexText(hash[:])))
	docs[0].w.Body = []byte(strings.TrimSuffix(ticket, "}") + fmt.Sprintf(`,"state":%q}`, state))
	return docs
}

func pushAll(t testing.TB, s *kv.Store, p auth.Principal, parts []drawnPart) {
	t.Helper()
	for _, part := range parts {
		if err := push(t, opens(t, s, p, part.db), part.w); err != nil {
			t.Fatalf("push %s: %v", part.w.ID, err)
		}
	}
}

// TestMerge_TwinOfAGuest has the laptop of an event bring a ticket with the code of one that the church's laptop sold. The ticket stays as it
// is, whichever id is the lower one; the twin's state and its name are shown to staff, and its check-in counts.
func TestMerge_TwinOfAGuest(t *testing.T) {
	for name, id := range map[string]struct{ original, twin int64 }{"a higher id": {2, 9}, "a lower id": {9, 2}} {
		t.Run(name, func(t *testing.T) {
			s := twoChurches(t)
			church, guest := enrolled(t, s, "church:1", auth.Venue{Names: true}), enrolled(t, s, "event:1", auth.Venue{Names: true})
			pushAll(t, s, church, soldTicket(s, id.original, "CODE-1", "valid"))
			pushAll(t, s, guest, soldTicket(s, id.twin, "CODE-1", "cancelled"))
			original, twin := record.FirstDrawn+id.original, record.FirstDrawn+id.twin
			r, err := s.Desk.Retrieve(auth.Operator(), target(record.Ticket, original))
			if err != nil || member(r.JSON, "state") != `"valid"` || member(r.JSON, "holder_name") != fmt.Sprintf(`"N%d"`, id.original) {
				t.Fatalf("the ticket is %s, %v, want it as the church sold it", r.JSON, err)
			}
			doc, err := opens(t, s, auth.Operator(), "event-1").Read(record.Ticket.DocID(record.Int(twin)), docs.Ask{})
			if want := record.Tombstone(record.Ticket, original); err != nil || !doc.Deleted || string(doc.Revisions[0].Body) != want {
				t.Errorf("the twin is %+v, %v, want %s", doc.Revisions, err, want)
			}
			listed := map[string]string{}
			for _, line := range conflicts(t, s) {
				listed[member(line, "field")] = member(line, "winner") + " over " + member(line, "other")
			}
			if listed[`"state"`] != `"valid" over "cancelled"` || listed[`""`] == "" || listed[`"full_name"`] == "" {
				t.Errorf("listed are %v, want the twin with its state and its name", listed)
			}
			f := drawnFact{kind: record.Checkin, id: idDrawn(record.Checkin, 7), ticket: int(twin), code: 1, direction: "in", hlc: 5}
			f.put(t, s, 1)
			if got := toldBy(t, s, 1); got.Admitted != 1 {
				t.Errorf("the event is %+v, want the twin's check-in to count", got)
			}
			healthy(t, s)
		})
	}
}

// TestMerge_TwinGivesNoHolder has a guest's twin bring a holder to a ticket that has none. Staff are asked.
func TestMerge_TwinGivesNoHolder(t *testing.T) {
	s := twoChurches(t)
	ticket := newTicket(t, s, 1, "CODE-1", "")
	guest := enrolled(t, s, "event:1", auth.Venue{Names: true})
	pushAll(t, s, guest, soldTicket(s, 1, "CODE-1", "valid"))
	holder := func() string {
		t.Helper()
		r, err := s.Desk.Retrieve(auth.Operator(), target(record.Ticket, ticket))
		if err != nil {
			t.Fatal(err)
		}
		return value.Unquote([]byte(member(r.JSON, "holder_name")))
	}
	if got := holder(); got != "" {
		t.Errorf("the guest's twin gave the ticket the holder %q", got)
	}
	staff := kvtest.Login(t, s, "church:1", "admin:*")
	taken := false
	for _, item := range matters(t, s, staff, record.Conflict) {
		if member(item.JSON, "field") == `"holding"` {
			taken = true
			if _, err := s.Inbox.Resolve(staff, inbox.Item{Kind: record.Conflict, ID: item.ID}, inbox.Choice{Other: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := holder(); !taken || got != "N1" {
		t.Errorf("staff were asked: %t, the holder is %q, want N1 after they chose it", taken, got)
	}
	healthy(t, s)
}

// TestMerge_GuestsEditIsNoTwin refuses an edit by which a guest's own ticket would get the code of another's ticket, and keeps it for staff.
func TestMerge_GuestsEditIsNoTwin(t *testing.T) {
	s := twoChurches(t)
	newTicket(t, s, 1, "CODE-1", `,"holder_name":"Ana"`)
	guest := enrolled(t, s, "event:1", auth.Venue{Names: true})
	own := soldTicket(s, 1, "CODE-2", "valid")
	pushAll(t, s, guest, own)
	edit := soldTicket(s, 1, "CODE-1", "cancelled")[0].w
	edit.Path = chain("ba")
	edit.Path[1] = own[0].w.Path[0]
	if err := push(t, opens(t, s, guest, "event-1"), edit); kindOf(err) != "forbidden" || !strings.Contains(err.Error(), "another ticket") {
		t.Errorf("the edit: %v, want it refused", err)
	}
	scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "CODE-1", Door: "north"}, outcome.Admitted)
	if n := pageOf(t, s, record.Refusal).Count; n != 1 {
		t.Errorf("%d refusals are kept, want the edit", n)
	}
	healthy(t, s)
}

// TestMerge_TwinsBridgeNothing has a guest's twin share its code with one ticket and its external_id with another. The two stay two.
func TestMerge_TwinsBridgeNothing(t *testing.T) {
	s := twoChurches(t)
	newTicket(t, s, 1, "CODE-1", "")
	newTicket(t, s, 1, "CODE-2", `,"external_id":"x1"`)
	church, guest := enrolled(t, s, "church:1", auth.Venue{}), enrolled(t, s, "event:1", auth.Venue{})
	bridge := soldTicket(s, 1, "CODE-1", "valid")[0]
	bridge.w.Body = []byte(strings.TrimSuffix(string(bridge.w.Body), "}") + `,"external_id":"x1"}`)
	pushAll(t, s, guest, []drawnPart{bridge})
	pushAll(t, s, church, soldTicket(s, 2, "CODE-2", "valid")[:1])
	if n := pageOf(t, s, record.Ticket).Count; n != 2 {
		t.Errorf("%d tickets, want two", n)
	}
	for _, code := range []string{"CODE-1", "CODE-2"} {
		scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: code, Door: "north"}, outcome.Admitted)
	}
	healthy(t, s)
}
