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

// TestWhatWasWrittenInTheErasedHoldersTimeNeverNamesTheNext: the centre has passed a ticket on, and a laptop that did not know of that has
// written of it. What it brings after the erasure changes nothing of who has the ticket now, and staff are shown nothing of it.
func TestWhatWasWrittenInTheErasedHoldersTimeNeverNamesTheNext(t *testing.T) {
	for _, edit := range []string{
		`{"holder_name":"Zacarias Later"}`,
		`{"email":"zulmira@example.org"}`,
		`{"holder_name":"Zacarias Later","email":"zulmira@example.org","order":"A7"}`,
	} {
		for edits := range 3 { // the longer branch wins
			for _, told := range []bool{false, true} {
				for _, order := range [][]string{ticketDBs, {ticketDBs[2], ticketDBs[1], ticketDBs[0]}} {
					t.Run(fmt.Sprint(edit, edits, told, order), func(t *testing.T) {
						t.Parallel()
						k := late(t)
						next := kvtest.Create(t, k.Store, record.Person, `{"full_name":"Ana Lua","church_id":1}`)
						k.pair.sync(t)
						k.pulls(t)
						patched(t, k.Store, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":"Ana Lua","person_id":%d,"email":null,"phone":null}`, next))
						for i := range edits {
							patched(t, k.pair.venue, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":"Zacarias %d","email":"zaca@example.org%d"}`, i, i))
						}
						patched(t, k.pair.venue, record.Ticket, k.ticket, edit)
						k.erase(t)
						if told {
							k.tells(t)
						}
						for _, name := range order {
							replicated(t, opens(t, k.pair.venue, auth.Operator(), name), k.pair.venue.Tables.Node(), opens(t, k.Store, k.pair.p, name))
							kv.AwaitErasures(t, k.Store)
						}
						k.tells(t)
						k.pulls(t)
						k.agrees(t, ticketDBs...)
						for _, s := range []*kv.Store{k.Store, k.pair.venue} {
							r, err := s.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket))
							if err != nil || member(r.JSON, "holder_name") != `"Ana Lua"` || member(r.JSON, "person_id") != fmt.Sprint(next) || member(r.JSON, "email") != "null" {
								t.Errorf("the ticket is %s, %v, want Ana Lua's", r.JSON, err)
							}
						}
						for _, r := range matters(t, k.Store, auth.Operator(), record.Conflict) {
							if !strings.Contains(string(r.JSON), `"field":"order"`) {
								t.Errorf("staff are shown %s", r.JSON)
							}
						}
						k.venueLacksTraces(t)
						healthy(t, k.Store)
						k.compacted(t)
						if found := traced(t, k.dir); found != nil {
							t.Errorf("the centre holds %v", found)
						}
					})
				}
			}
		}
	}
}

// TestWhatTheNextHolderHasChangedStays: what two have written of the next holder's ticket before that one before was erased is judged as
// ever, wherever the ticket was passed on.
func TestWhatTheNextHolderHasChangedStays(t *testing.T) {
	for _, at := range []string{"centre", "laptop", "laptop, that wrote more of it"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			k, next, passes := passing(t, at)
			patched(t, passes, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":"Ana Lua","person_id":%d,"email":null,"phone":null}`, next))
			if strings.HasSuffix(at, "more of it") {
				patched(t, passes, record.Ticket, k.ticket, `{"holder_name":"Ana Lua Sol","email":"ana@example.org"}`)
			}
			for range 2 {
				k.pushes(t)
				k.pulls(t)
			}
			patched(t, k.Store, record.Ticket, k.ticket, `{"order":"A7"}`)
			patched(t, k.Store, record.Ticket, k.ticket, `{"phone":"+5511900000000"}`)
			patched(t, k.pair.venue, record.Ticket, k.ticket, `{"holder_name":"Ana Mar","email":"mar@example.org"}`)
			k.erase(t)
			k.tells(t)
			k.pushes(t)
			kv.AwaitErasures(t, k.Store)
			k.pulls(t)
			k.agrees(t, ticketDBs...)
			r, err := k.Store.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket))
			if err != nil || member(r.JSON, "person_id") != fmt.Sprint(next) {
				t.Errorf("the ticket is %s, %v, want Ana's", r.JSON, err)
			}
			found := string(r.JSON)
			for _, r := range matters(t, k.Store, auth.Operator(), record.Conflict) {
				found += string(r.JSON)
			}
			for _, want := range []string{"Ana Mar", "mar@example.org", "+5511900000000", "A7"} {
				if !strings.Contains(found, want) {
					t.Errorf("neither the ticket nor what staff shall look at has %s: %s", want, found)
				}
			}
			k.venueLacksTraces(t)
			healthy(t, k.Store)
		})
	}
}
