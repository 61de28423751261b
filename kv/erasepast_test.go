package kv_test

import (
	"fmt"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
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

// TestWhoWasErasedIsGoneAfterTheJoin: a store that was given records before it joined was told of erasures when it did not know yet by
// what key they are named.
func TestWhoWasErasedIsGoneAfterTheJoin(t *testing.T) {
	for _, test := range []struct {
		name string
		file bool // which tells of no erasures
	}{{"from an address", false}, {"from a file", true}} {
		t.Run(test.name, func(t *testing.T) {
			k := knowing(t)
			defer closed(t, k.Store)
			k.pair.venue = kvtest.Open(t)
			if err := k.pair.venue.Laptop.Join(auth.Operator(), table.Upstream{Node: k.Store.Tables.Node()}, office.Credential{Realm: k.Store.Tables.Realm()}); err != nil {
				t.Fatal(err)
			}
			k.copies(t, test.file)
			k.erase(t)
			k.copies(t, test.file)
			c := k.enrols(t, auth.Level{Name: auth.ChurchOf, IDs: []int64{1}})
			if err := k.pair.venue.Laptop.Join(auth.Operator(), table.Upstream{Node: k.Store.Tables.Node(), Key: c.Key}, c); err != nil {
				t.Fatal(err)
			}
			k.tells(t)
			k.venueLacksTraces(t)
			healthy(t, k.pair.venue)
		})
	}
}

// copies gives the laptop all records, as a file does or as an address does.
func (k *known) copies(t testing.TB, file bool) {
	t.Helper()
	from, to := opens(t, k.Store, auth.Operator(), "records"), opens(t, k.pair.venue, auth.Operator(), "records")
	page, _, err := from.Changes(docs.Feed{Limit: docs.DocPage})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range page {
		kind, _, _ := record.ParseDocID(c.ID)
		if kind == record.APIKey || kind == record.Node || file && kind.System && !kind.OfTicket() {
			continue
		}
		d, err := from.Read(c.ID, docs.Ask{Leaves: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range d.Revisions {
			if err := push(t, to, merge.DocWrite{ID: d.ID, Path: d.Tree.Path(r.Revision), Deleted: r.Deleted, Body: r.Body}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
