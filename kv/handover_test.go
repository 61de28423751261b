package kv_test

import (
	"fmt"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// shows wants a ticket to be shown so: member and value, by turns.
func (k *known) shows(t testing.TB, s *kv.Store, want ...string) {
	t.Helper()
	r, err := s.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket))
	for i := 0; i < len(want); i += 2 {
		if err != nil || member(r.JSON, want[i]) != want[i+1] {
			t.Errorf("the ticket is %s, %v, want %s to be %s", r.JSON, err, want[i], want[i+1])
		}
	}
}

// ends compacts the centre and wants it to have nothing of who is erased.
func (k *known) ends(t testing.TB) {
	t.Helper()
	healthy(t, k.Store)
	if n, _, err := k.Store.Erasures.Uncompacted(); n == 0 || err != nil {
		t.Errorf("ErasuresDue = %d, %v, want that compacting is due", n, err)
	}
	k.lacksTraces(t)
}

// passedOn is a ticket that goes to somebody else.
type passedOn struct {
	name  string
	edits []string // one after the other; %d is the next holder
	want  []string
}

// TestWhatIsLeftOfAFormerHolderGoesWithThem: a ticket that was passed on says still of who had it what nobody has changed since.
func TestWhatIsLeftOfAFormerHolderGoesWithThem(t *testing.T) {
	for _, test := range []passedOn{
		{"name and person", []string{`{"holder_name":"Ana Lua","person_id":%d}`},
			[]string{"holder_name", `"Ana Lua"`, "label", `"Ana L."`, "email", "null", "phone", "null"}},
		{"the person alone", []string{`{"person_id":%d}`},
			[]string{"holder_name", "null", "label", `""`, "email", "null", "phone", "null"}},
		{"nobody on record", []string{`{"person_id":null}`},
			[]string{"holder_name", "null", "label", `""`, "email", "null", "phone", "null"}},
		{"the name by a door first", []string{`{"holder_name":"Ana Lua"}`, `{"person_id":%d}`},
			[]string{"holder_name", "null", "label", `""`, "email", "null", "phone", "null"}},
		{"the contact first", []string{`{"email":"zulmira@example.org"}`, `{"holder_name":"Ana Lua","person_id":%d}`},
			[]string{"holder_name", `"Ana Lua"`, "email", "null", "phone", "null"}},
		{"the contact later", []string{`{"person_id":%d}`, `{"email":"ana@example.org","order":"A7"}`, `{"holder_name":"Ana Lua"}`},
			[]string{"holder_name", `"Ana Lua"`, "label", `"Ana L."`, "email", `"ana@example.org"`, "phone", "null", "order", `"A7"`}},
		{"everything", []string{`{"holder_name":"Ana Lua","person_id":%d,"email":"ana@example.org","phone":"+5511900000000"}`},
			[]string{"holder_name", `"Ana Lua"`, "email", `"ana@example.org"`, "phone", `"+5511900000000"`}},
		{"everything but a phone with the same last digits", []string{`{"holder_name":"Ana Lua","person_id":%d,"email":null,"phone":"+5511900004321"}`},
			[]string{"holder_name", `"Ana Lua"`, "email", "null", "phone", `"+5511900004321"`}},
		{"to one after the other", []string{`{"person_id":null,"email":"rui@example.org"}`, `{"holder_name":"Ana Lua","person_id":%d}`},
			[]string{"holder_name", `"Ana Lua"`, "email", `"rui@example.org"`, "phone", "null"}},
	} {
		for _, at := range []string{"centre", "laptop", "laptop, brought at once"} {
			t.Run(test.name+", at the "+at, func(t *testing.T) {
				t.Parallel()
				test.erased(t, at)
			})
		}
	}
}

// erased passes the ticket on, at the centre or at a laptop, and has who had it erased.
func (p *passedOn) erased(t *testing.T, at string) {
	k, next, passes := passing(t, at)
	for _, edit := range p.edits {
		patched(t, passes, record.Ticket, k.ticket, strings.ReplaceAll(edit, "%d", fmt.Sprint(next)))
		if at == "laptop" {
			k.pushes(t)
		}
	}
	k.pushes(t)
	k.pulls(t)
	before := kv.TreeOf(t, k.Store, record.Ticket, k.ticket)
	if found := k.erase(t); found.Tickets != 2 { // and the one that was passed on before
		t.Errorf("Erase = %+v, want the holdings of two tickets", found)
	}
	if after := kv.TreeOf(t, k.Store, record.Ticket, k.ticket); after.Winner().Revision != before.Winner().Revision {
		t.Error("the ticket was changed, which is another holder's")
	}
	k.shows(t, k.Store, p.want...)
	k.tells(t)
	k.pulls(t)
	k.shows(t, k.pair.venue, p.want...)
	k.agrees(t, ticketDBs...)
	k.venueLacksTraces(t)
	k.ends(t)
}

// TestDigitsGoWithTheirPhone: they are in a part of their own, by which a door finds a ticket.
func TestDigitsGoWithTheirPhone(t *testing.T) {
	k := late(t)
	patched(t, k.Store, record.Ticket, k.ticket, `{"phone":"+5511987654321","holder_name":"Ana Lua"}`)
	patched(t, k.Store, record.Ticket, k.ticket, `{"person_id":null}`)
	k.erase(t)
	if all := leavesOf(t, k.Store, "event-1-names")[record.HolderName.DocID(kv.Present(t, k.Store, k.ticket))]; !strings.Contains(all, `"phone_tail":null`) || strings.Contains(all, "Ana Lua") {
		t.Errorf("the name is %s, want neither digits nor a name", all)
	}
	k.ends(t)
}

// TestWhatTheNextHoldersHolderHasStays: of three one after the other the first is erased, and the second.
func TestWhatTheNextHoldersHolderHasStays(t *testing.T) {
	for _, second := range []bool{false, true} { // is erased first
		t.Run(fmt.Sprint(second), func(t *testing.T) {
			k := late(t)
			next := kvtest.Create(t, k.Store, record.Person, `{"full_name":"Zulmira Next","church_id":1}`)
			last := k.shared(t, "Ana Lua")
			patched(t, k.Store, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":"Zulmira Next","person_id":%d,"email":"zulmira@example.org"}`, next))
			k.pulls(t)
			patched(t, k.pair.venue, record.Ticket, k.ticket, `{"holder_name":"Zulmira Later","email":"zaca@example.org"}`) // of the time of the second
			patched(t, k.Store, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":"Ana Lua","person_id":%d}`, last))
			if second {
				erased(t, k.Store, next)
				k.shows(t, k.Store, "holder_name", `"Ana Lua"`, "email", "null", "phone", "null") // that was the first one's
				k.erase(t)
			} else {
				k.erase(t)
				k.shows(t, k.Store, "holder_name", `"Ana Lua"`, "email", "null", "phone", "null")
				erased(t, k.Store, next)
			}
			k.pushes(t)
			k.pulls(t)
			for _, s := range []*kv.Store{k.Store, k.pair.venue} {
				k.shows(t, s, "holder_name", `"Ana Lua"`, "label", `"Ana L."`, "email", "null", "phone", "null", "person_id", fmt.Sprint(last))
			}
			k.tells(t)
			k.venueLacksTraces(t)
			k.ends(t)
		})
	}
}

// TestWhatWasEmptiedDoesNotComeBack: a laptop has the ticket as it was, and has changed something else of it or the same, before the ticket
// was passed on or since.
func TestWhatWasEmptiedDoesNotComeBack(t *testing.T) {
	for _, test := range []struct {
		name string
		edit string
		want []string // of what was written since
	}{
		{"the type", `{"type":"Child"}`, []string{"holder_name", "null", "label", `""`, "email", "null", "phone", "null"}},
		{"the e-mail", `{"email":"ana@example.org"}`, []string{"holder_name", "null", "label", `""`, "email", `"ana@example.org"`, "phone", "null"}},
		{"the phone", `{"phone":"+5511900000000"}`, []string{"holder_name", "null", "label", `""`, "email", "null", "phone", `"+5511900000000"`}},
		{"the name", `{"holder_name":"Ana Lua"}`, []string{"holder_name", `"Ana Lua"`, "label", `"Ana L."`, "email", "null", "phone", "null"}},
	} {
		for _, since := range []bool{false, true} {
			for edits := range 3 { // the longer branch wins
				t.Run(fmt.Sprint(test.name, since, edits), func(t *testing.T) {
					t.Parallel()
					k := late(t)
					next := k.shared(t, "Ana Lua")
					writes := func() {
						for i := range edits {
							patched(t, k.pair.venue, record.Ticket, k.ticket, fmt.Sprintf(`{"order":"%d"}`, i))
						}
						patched(t, k.pair.venue, record.Ticket, k.ticket, test.edit)
					}
					if !since {
						writes()
					}
					patched(t, k.Store, record.Ticket, k.ticket, fmt.Sprintf(`{"person_id":%d}`, next))
					if since {
						k.pulls(t)
						writes()
					}
					k.erase(t)
					for range 2 {
						k.tells(t)
						k.pushes(t)
						k.pulls(t)
					}
					k.agrees(t, ticketDBs...)
					want := []string{"holder_name", "null", "label", `""`, "email", "null", "phone", "null"}
					if since {
						want = test.want
					}
					k.shows(t, k.pair.venue, append(want, "person_id", fmt.Sprint(next))...)
					for _, r := range matters(t, k.Store, auth.Operator(), record.Conflict) {
						t.Logf("staff are shown %s", r.JSON)
					}
					k.tells(t)
					k.venueLacksTraces(t)
					k.ends(t)
				})
			}
		}
	}
}

// TestTheNextHoldersNameWinsOverNone: a door wrote it before it knew that the name of the former holder was emptied.
func TestTheNextHoldersNameWinsOverNone(t *testing.T) {
	k := late(t)
	next := kvtest.Create(t, k.Store, record.Person, `{"full_name":"Ana Lua","church_id":1}`)
	k.pair.sync(t)
	var tickets []int64
	for i := range 8 { // of two revisions of one generation any may win
		id := kvtest.Create(t, k.Store, record.Ticket, fmt.Sprintf(`{"event_id":1,"code":"NAME%d","holder_name":"Zacarias Quintela","person_id":%d}`, i, k.person))
		patched(t, k.Store, record.Ticket, id, fmt.Sprintf(`{"person_id":%d}`, next))
		tickets = append(tickets, id)
	}
	k.pulls(t)
	for _, id := range tickets {
		patched(t, k.pair.venue, record.Ticket, id, `{"holder_name":"Ana Lua"}`)
	}
	k.erase(t)
	k.pushes(t)
	k.pulls(t)
	k.agrees(t, ticketDBs...)
	for _, k.ticket = range tickets {
		k.shows(t, k.Store, "holder_name", `"Ana Lua"`, "label", `"Ana L."`)
	}
	k.tells(t)
	k.venueLacksTraces(t)
	k.ends(t)
}

// TestWhatTheNextHolderHasSaidStays: however often it was changed.
func TestWhatTheNextHolderHasSaidStays(t *testing.T) {
	k := late(t)
	patched(t, k.Store, record.Ticket, k.ticket, `{"person_id":null}`)
	for i := range 60 {
		patched(t, k.Store, record.Ticket, k.ticket, fmt.Sprintf(`{"email":"ana%d@example.org"}`, i))
	}
	k.erase(t)
	k.shows(t, k.Store, "holder_name", "null", "label", `""`, "email", `"ana59@example.org"`, "phone", "null")
	healthy(t, k.Store)
}
