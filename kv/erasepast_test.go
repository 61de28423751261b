package kv_test

import (
	"fmt"
	"testing"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// TestWhoHadATicketLongAgoLeavesNoBytes: the centre forgets a ticket's earlier holders one change after another, and what it has of the
// earlier names and labels outlives that.
func TestWhoHadATicketLongAgoLeavesNoBytes(t *testing.T) {
	for _, test := range []struct {
		name string
		at   func(*known) *kv.Store // where the ticket is changed
	}{
		{"at the centre", func(k *known) *kv.Store { return k.Store }},
		{"at a laptop", func(k *known) *kv.Store { return k.pair.venue }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k := late(t)
			k.pulls(t)
			ana := kvtest.Create(t, k.Store, record.Person, `{"full_name":"Ana","church_id":1}`)
			k.pair.sync(t)
			at := test.at(k)
			patched(t, at, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":"Ana","email":"ana@example.org","phone":null,"person_id":%d}`, ana))
			for i := range 15 {
				patched(t, at, record.Ticket, k.ticket, fmt.Sprintf(`{"email":"ana%d@example.org"}`, i))
			}
			k.pushes(t)
			k.pulls(t)
			k.erase(t)
			k.tells(t)
			k.pair.sync(t)
			for _, s := range []*kv.Store{k.Store, k.pair.venue} {
				k.holderAt(t, s, "Ana")
				healthy(t, s)
			}
			k.venueLacksTraces(t)
			k.compacted(t)
			if found := traced(t, k.dir); found != nil {
				t.Errorf("the centre holds %v", found)
			}
		})
	}
}
