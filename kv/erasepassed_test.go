package kv_test

import (
	"fmt"
	"strings"
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
						next := k.shared(t, "Ana Lua")
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
							replicated(t, opens(t, k.pair.venue, auth.Operator(), name), k.pair.venue.Tables.Identity.Node(), opens(t, k.Store, k.pair.p, name))
							kv.AwaitErasures(t, k.Store)
						}
						k.tells(t)
						k.pulls(t)
						k.agrees(t, ticketDBs...)
						for _, s := range []*kv.Store{k.Store, k.pair.venue} {
							k.shows(t, s, "holder_name", `"Ana Lua"`, "person_id", fmt.Sprint(next), "email", "null")
						}
						for _, r := range matters(t, k.Store, auth.Operator(), record.Conflict) {
							if !strings.Contains(string(r.JSON), `"field":"order"`) {
								t.Errorf("staff are shown %s", r.JSON)
							}
						}
						k.venueLacksTraces(t)
						healthy(t, k.Store)
						k.lacksTraces(t)
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

// shared makes a person at the centre that the laptop then knows too.
func (k *known) shared(t testing.TB, name string) int64 {
	t.Helper()
	id := kvtest.Create(t, k.Store, record.Person, fmt.Sprintf(`{"full_name":%q,"church_id":1}`, name))
	k.pair.sync(t)
	k.pulls(t)
	return id
}

// passedAt passes the ticket on to a new person at the centre, once the laptop has what the centre has.
func (k *known) passedAt(t testing.TB, name string) (next int64) {
	t.Helper()
	next = k.shared(t, name)
	patched(t, k.Store, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":%q,"person_id":%d,"email":"next@example.org","phone":null}`, name, next))
	return next
}

// lacksName wants the ticket to name nobody anywhere, in all bytes.
func (k *known) lacksName(t testing.TB) {
	t.Helper()
	k.tells(t)
	k.pulls(t)
	k.agrees(t, ticketDBs...)
	k.shows(t, k.Store, "holder_name", "null", "person_id", "null", "label", `""`)
	k.venueLacksTraces(t)
	healthy(t, k.pair.venue)
	healthy(t, k.Store)
	k.lacksTraces(t)
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
	next := k.shared(t, "Ana Lua")
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
	k.lacksTraces(t)
}

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
			k.leavesOnly(t, "Ana")
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
			if err := k.pair.venue.Laptop.Join(auth.Operator(), table.Upstream{Node: k.Store.Tables.Identity.Node()}, office.Credential{Realm: k.Store.Tables.Identity.Realm()}); err != nil {
				t.Fatal(err)
			}
			k.copies(t, test.file)
			k.erase(t)
			k.copies(t, test.file)
			c := k.enrols(t, auth.Level{Name: auth.ChurchOf, IDs: []int64{1}})
			if err := k.pair.venue.Laptop.Join(auth.Operator(), table.Upstream{Node: k.Store.Tables.Identity.Node(), Key: c.Key}, c); err != nil {
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
