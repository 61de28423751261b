package kv_test

import (
	"fmt"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// TestTheNameOfATicketGoesInWhateverOrderItsPartsCome: only one of them says whose it is, and the centre may have carried out the erasure
// before the next one comes.
func TestTheNameOfATicketGoesInWhateverOrderItsPartsCome(t *testing.T) {
	for _, told := range []bool{false, true} { // of the ticket, between the parts
		for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			t.Run(fmt.Sprint(order, told), func(t *testing.T) {
				t.Parallel()
				k := late(t)
				k.pair.sync(t)
				k.ticket = kvtest.Create(t, k.pair.venue, record.Ticket, fmt.Sprintf(`{"event_id":1,"code":"FRESH","holder_name":"Zacarias Quintela","email":"zaca@example.org","phone":"+5511987654321","person_id":%d}`, k.person))
				k.erase(t)
				k.tells(t)
				for _, part := range order {
					name := ticketDBs[part]
					if refused := replicated(t, opens(t, k.pair.venue, auth.Operator(), name), k.pair.venue.Tables.Node(), opens(t, k.Store, k.pair.p, name)); refused != nil {
						t.Errorf("refused: %v", refused)
					}
					kv.AwaitErasures(t, k.Store)
					if told {
						k.tells(t)
					}
				}
				k.tells(t)
				k.pulls(t)
				k.agrees(t, ticketDBs...)
				r, err := k.Store.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket))
				if err != nil || member(r.JSON, "holder_name") != "null" || member(r.JSON, "label") != `""` || member(r.JSON, "person_id") != "null" {
					t.Errorf("the ticket is %s, %v, want no name", r.JSON, err)
				}
				k.venueLacksTraces(t)
				healthy(t, k.pair.venue)
				healthy(t, k.Store)
				k.compacted(t)
				if found := traced(t, k.dir); found != nil {
					t.Errorf("the centre holds %v", found)
				}
			})
		}
	}
}
