package kv_test

import (
	"fmt"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// passedAt passes the ticket on to a new person at the centre, once the laptop has what the centre has.
func (k *known) passedAt(t testing.TB, name string) (next int64) {
	t.Helper()
	next = kvtest.Create(t, k.Store, record.Person, fmt.Sprintf(`{"full_name":%q,"church_id":1}`, name))
	k.pair.sync(t)
	k.pulls(t)
	patched(t, k.Store, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":%q,"person_id":%d,"email":"next@example.org","phone":null}`, name, next))
	return next
}

// lacksName wants the ticket to name nobody anywhere, in all bytes.
func (k *known) lacksName(t testing.TB) {
	t.Helper()
	k.tells(t)
	k.pulls(t)
	k.agrees(t, ticketDBs...)
	r, err := k.Store.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket))
	if err != nil || member(r.JSON, "holder_name") != "null" || member(r.JSON, "person_id") != "null" || member(r.JSON, "label") != `""` {
		t.Errorf("the ticket is %s, %v, want no name", r.JSON, err)
	}
	k.venueLacksTraces(t)
	healthy(t, k.Store)
	k.compacted(t)
	if found := traced(t, k.dir); found != nil {
		t.Errorf("the centre holds %v", found)
	}
}

// TestTheNextHolderOfAnErasedPersonsTicketIsErasedToo: the ticket was not erased with the first, and is with the second.
func TestTheNextHolderOfAnErasedPersonsTicketIsErasedToo(t *testing.T) {
	for _, late1 := range []bool{false, true} {
		k := late(t)
		next := k.passedAt(t, "Zulmira Next")
		patched(t, k.pair.venue, record.Ticket, k.ticket, lateEdit)
		k.erase(t)
		if late1 {
			k.pushes(t)
		}
		erased(t, k.Store, next)
		k.tells(t)
		k.pushes(t)
		kv.AwaitErasures(t, k.Store)
		k.lacksName(t)
	}
}

// TestALaptopPassesAnErasedPersonsTicketOnToWhoIsErased: by then the next holder has it, who is not.
func TestALaptopPassesAnErasedPersonsTicketOnToWhoIsErased(t *testing.T) {
	k := late(t)
	third := kvtest.Create(t, k.Store, record.Person, `{"full_name":"Zulmira Third","church_id":1}`)
	k.passedAt(t, "Ana Next")
	k.erase(t)
	k.pair.sync(t)
	k.pulls(t)
	patched(t, k.pair.venue, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":"Zulmira Third","person_id":%d}`, third))
	erased(t, k.Store, third)
	k.pushes(t)
	kv.AwaitErasures(t, k.Store)
	k.lacksName(t)
}

// TestWhatComesWhileAnErasureGoesOnIsOfTheOldTime: it was written later than the ticket was passed on, but not upon that.
func TestWhatComesWhileAnErasureGoesOnIsOfTheOldTime(t *testing.T) {
	k := late(t)
	next := kvtest.Create(t, k.Store, record.Person, `{"full_name":"Ana Lua","church_id":1}`)
	k.pair.sync(t)
	k.pulls(t)
	patched(t, k.Store, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":"Ana Lua","person_id":%d,"email":null,"phone":null}`, next))
	for range 2 {
		patched(t, k.pair.venue, record.Ticket, k.ticket, `{"holder_name":"Zacarias Before"}`)
		patched(t, k.pair.venue, record.Ticket, k.ticket, lateEdit)
	}
	came := false
	kv.StopErasing(k.Store, func(step string) error {
		if step == "listed" && !came {
			came = true
			k.pushes(t)
		}
		return nil
	})
	k.erase(t)
	patched(t, k.pair.venue, record.Ticket, k.ticket, `{"holder_name":"Zacarias Again"}`)
	k.pushes(t)
	k.pulls(t)
	k.holderAt(t, k.Store, "Ana Lua")
	k.tells(t)
	k.venueLacksTraces(t)
	healthy(t, k.Store)
	k.compacted(t)
	if found := traced(t, k.dir); found != nil {
		t.Errorf("the centre holds %v", found)
	}
}
