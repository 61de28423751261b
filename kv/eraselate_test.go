package kv_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/erase"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// ticketDBs are the databases of the parts of an event's tickets.
var ticketDBs = []string{"event-1", "event-1-names", "event-1-holders"}

func (k *known) pulls(t testing.TB) {
	t.Helper()
	for _, name := range ticketDBs {
		replicated(t, opens(t, k.Store, k.pair.p, name), k.Store.Tables.Identity.Node(), opens(t, k.pair.venue, auth.Operator(), name))
	}
}

func (k *known) pushes(t testing.TB) (refused []string) {
	t.Helper()
	return k.pushesOf(t, ticketDBs)
}

// pushesOf pushes some databases, in this order.
func (k *known) pushesOf(t testing.TB, names []string) (refused []string) {
	t.Helper()
	for _, name := range names {
		refused = append(refused, replicated(t, opens(t, k.pair.venue, auth.Operator(), name), k.pair.venue.Tables.Identity.Node(), opens(t, k.Store, k.pair.p, name))...)
	}
	return refused
}

// late is a store that knows a person, and a laptop of the church that may be told of erasures.
func late(t testing.TB) *known {
	t.Helper()
	k := knowing(t)
	k.enrols(t, auth.Level{Name: auth.ChurchOf, IDs: []int64{1}})
	return k
}

// passing is late with who gets the ticket next, whom both sides know, and the side that gives it.
func passing(t testing.TB, at string) (k *known, next int64, passes *kv.Store) {
	t.Helper()
	k = late(t)
	next = k.shared(t, "Ana Lua")
	if at == "centre" {
		return k, next, k.Store
	}
	return k, next, k.pair.venue
}

// enrols enrols the laptop by a code, as the centre tells nobody else of erasures.
func (k *known) enrols(t testing.TB, l auth.Level) office.Credential {
	t.Helper()
	_, code, _, err := k.Store.Venues.Enrol(auth.Operator(), office.Enrolment{Name: ulid.Make().String(), Level: l, Venue: auth.Venue{Names: true}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := k.Store.Venues.Exchange(code, office.Joiner{Node: k.pair.venue.Tables.Identity.Node(), Secret: keys.HashSecret("mine")})
	if err != nil {
		t.Fatal(err)
	}
	k.pair.p = loggedIn(t, k.Store, c.Key)
	return c
}

// tells has the laptop hear of all erasures and carry them out.
func (k *known) tells(t testing.TB) {
	t.Helper()
	k.hears(t)
	kv.AwaitErasures(t, k.pair.venue)
}

// hears has the laptop hear of all erasures.
func (k *known) hears(t testing.TB) {
	t.Helper()
	kv.ShareCodeKey(t, k.Store, k.pair.venue)
	if err := k.pair.venue.Erasures.Recall.Carry(auth.Operator(), k.recalls(t)); err != nil {
		t.Fatal(err)
	}
}

// leavesOf are all leaves of a database's tickets, with their paths and bodies.
func leavesOf(t testing.TB, s *kv.Store, name string) map[string]string {
	t.Helper()
	db := opens(t, s, auth.Operator(), name)
	page, _, err := db.Changes(docs.Feed{Limit: docs.DocPage})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, c := range page {
		if c.Removed {
			continue
		}
		d, err := db.Read(c.ID, docs.Ask{Leaves: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range d.Revisions {
			if r.Deleted && d.Deleted {
				all[c.ID] = "deleted" // of what was erased a restored centre need not have every tombstone
				continue
			}
			all[c.ID] += fmt.Sprintf("%v %v %s\n", d.Tree.Path(r.Revision), r.Deleted, r.Body)
		}
	}
	return all
}

// agrees wants the laptop to hold of a database what the centre holds, to the byte.
func (k *known) agrees(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		want, got := leavesOf(t, k.Store, name), leavesOf(t, k.pair.venue, name)
		for _, id := range slices.Sorted(maps.Keys(want)) {
			if want[id] != got[id] && !(want[id] == "deleted" && got[id] == "") {
				t.Errorf("%s is\n%s at the laptop, and\n%s at the centre", id, got[id], want[id])
			}
		}
	}
}

// venueLacksTraces wants the file of the laptop, as it is once compacted, to tell nothing.
func (k *known) venueLacksTraces(t testing.TB) {
	t.Helper()
	dir := folder(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := k.pair.venue.Files.CopyTo(auth.Operator(), table.Path(dir)); err != nil {
		t.Fatal(err)
	}
	aside := reopenable(t, kv.Config{Dir: dir, Aside: true})
	if _, err := aside.Files.Compact(t.Context(), auth.Operator()); err != nil {
		t.Fatal(err)
	}
	closed(t, aside)
	if found := traced(t, dir); found != nil {
		t.Errorf("the laptop holds %v", found)
	}
}

const lateEdit = `{"holder_name":"Zacarias Later","email":"zaca@example.org","order":"A7"}`

// Whatever a laptop had made of an erased person's ticket, and in whatever order it hears of the erasure and brings what it made: it
// has no name in the end, nor has the centre, what else was changed stays, and who has the ticket next has it at both.
func TestALaptopLosesTheNamesThatItWroteBeforeItHeardOfTheErasure(t *testing.T) {
	tell, push, pull := (*known).tells, func(k *known, t testing.TB) { k.pushes(t) }, (*known).pulls
	again := func(k *known, t testing.TB) {
		patched(t, k.pair.venue, record.Ticket, k.ticket, `{"holder_name":"Zacarias Again"}`)
	}
	type steps []func(*known, testing.TB)
	for _, test := range []struct {
		name  string
		edits int // before all: more than one wins over what the centre has made
		steps steps
	}{
		{"told, then pushed", 1, steps{tell, push, pull}},
		{"pushed, then told", 1, steps{push, tell, pull}},
		{"pulled before it is told", 1, steps{push, pull, tell}},
		{"two edits", 2, steps{tell, push, pull}},
		{"two edits, pulled before the push", 2, steps{pull, tell, push, pull}},
		{"one edit, told and pulled before the push", 0, steps{tell, pull, push, pull}},
		{"one edit, pulled and told before the push", 0, steps{pull, tell, push, pull}},
		{"pushed again before the pull", 2, steps{push, again, push, tell, pull}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k := late(t)
			k.pulls(t)
			for range test.edits {
				patched(t, k.pair.venue, record.Ticket, k.ticket, `{"holder_name":"Zacarias Before"}`)
			}
			patched(t, k.pair.venue, record.Ticket, k.ticket, lateEdit)
			k.erase(t)
			for _, step := range test.steps {
				step(k, t)
			}
			k.agrees(t, ticketDBs...)
			for _, s := range []*kv.Store{k.Store, k.pair.venue} {
				k.shows(t, s, "holder_name", "null", "label", `""`, "email", "null", "order", `"A7"`)
			}
			k.passesOn(t)
			k.venueLacksTraces(t)
			healthy(t, k.pair.venue)
			healthy(t, k.Store)
			k.lacksTraces(t)
		})
	}
}

// passesOn gives the ticket a new holder at the laptop, then at the centre: both show either.
func (k *known) passesOn(t testing.TB) {
	t.Helper()
	for i, at := range []*kv.Store{k.pair.venue, k.Store} {
		name := []string{"Ana Lua", "Rui Sol"}[i]
		patched(t, at, record.Ticket, k.ticket, fmt.Sprintf(`{"holder_name":%q}`, name))
		if refused := k.pushes(t); len(refused) > 0 {
			t.Errorf("refused: %v", refused)
		}
		k.pulls(t)
		for _, s := range []*kv.Store{k.Store, k.pair.venue} {
			if r, err := s.Desk.Retrieve(auth.Operator(), target(record.Ticket, k.ticket)); err != nil || !strings.Contains(member(r.JSON, "holder_name"), name) {
				t.Errorf("the ticket is %s, %v, want that %s has it", r.JSON, err, name)
			}
		}
		k.agrees(t, ticketDBs...)
	}
}

// A name that a laptop gave to a ticket which had none goes like any other.
func TestANameThatATicketWasGivenOnlyAtALaptopGoesToo(t *testing.T) {
	k := late(t)
	defer closed(t, k.Store)
	k.ticket = kvtest.Create(t, k.Store, record.Ticket, fmt.Sprintf(`{"event_id":1,"code":"BLANK","person_id":%d}`, k.person))
	k.pulls(t)
	patched(t, k.pair.venue, record.Ticket, k.ticket, lateEdit)
	k.erase(t)
	k.tells(t)
	k.pushes(t)
	k.pulls(t)
	k.agrees(t, ticketDBs...)
	k.holderAt(t, k.Store, "")
	k.venueLacksTraces(t)
}

// another is a second laptop of the church.
func (k *known) another(t testing.TB) joined {
	t.Helper()
	k.meets(t, auth.Level{Name: auth.ChurchOf, IDs: []int64{1}})
	return k.pair
}

// two are two laptops of the church, which have what the centre has.
func (k *known) two(t testing.TB) (first, second joined) {
	t.Helper()
	first = k.pair
	second = k.another(t)
	for _, k.pair = range []joined{first, second} {
		k.pair.sync(t)
		k.pulls(t)
	}
	return first, second
}

// Two laptops that wrote of one ticket agree with the centre, whichever comes first.
func TestTwoLaptopsLoseTheNamesThatBothWrote(t *testing.T) {
	k := late(t)
	defer closed(t, k.Store)
	first, second := k.two(t)
	for _, k.pair = range []joined{first, second} {
		patched(t, k.pair.venue, record.Ticket, k.ticket, lateEdit)
	}
	k.erase(t)
	for range 2 {
		for _, k.pair = range []joined{first, second} {
			k.tells(t)
			k.pushes(t)
			k.pulls(t)
		}
	}
	for _, k.pair = range []joined{first, second} {
		k.agrees(t, ticketDBs...)
		k.venueLacksTraces(t)
	}
}

// What a tombstone brings along of an edit that it has ended tells staff of no name that was erased.
func TestWhatADeletionBringsAlongHasNoErasedNames(t *testing.T) {
	k := knowing(t)
	lost := fmt.Appendf(nil, `{"lost":{"event_id":1,"ticket_id":%d,"email":"zaca@example.org","person_id":%d}}`, k.ticket, k.person)
	holding := kv.Present(t, k.Store, k.ticket)
	k.erase(t)
	for _, w := range []struct {
		name string
		merge.DocWrite
	}{
		{"event-1-holders", merge.DocWrite{ID: record.Holder.DocID(holding), Path: chain("ba"), Deleted: true, Body: lost}},
		{"church-1", merge.DocWrite{ID: record.Person.DocID(record.Int(k.person)), Path: chain("ba"), Deleted: true, Body: []byte(`{"lost":{"full_name":"Zulmira","church_id":1}}`)}},
	} {
		if err := push(t, opens(t, k.Store, k.pair.p, w.name), w.DocWrite); err != nil {
			t.Errorf("push of %s = %v", w.ID, err)
		}
	}
	healthy(t, k.Store)
	k.lacksTraces(t)
}

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
					if refused := replicated(t, opens(t, k.pair.venue, auth.Operator(), name), k.pair.venue.Tables.Identity.Node(), opens(t, k.Store, k.pair.p, name)); refused != nil {
						t.Errorf("refused: %v", refused)
					}
					kv.AwaitErasures(t, k.Store)
					if told {
						k.tells(t)
					}
				}
				k.lacksName(t)
			})
		}
	}
}

// TestANameThatCameWithoutItsPersonGoesToo: the link broke between the parts of a ticket, and the centre erased the person before it knew
// whose name it had. The laptop knows, erases the holding and brings its end.
func TestANameThatCameWithoutItsPersonGoesToo(t *testing.T) {
	for _, came := range [][]string{{"event-1-names"}, {"event-1", "event-1-names"}} {
		partsLate(t, came, func(t *testing.T, k *known) {
			k.pair.sync(t)
			k.ticket = kvtest.Create(t, k.pair.venue, record.Ticket, fmt.Sprintf(`{"event_id":1,"code":"FRESH","holder_name":"Zacarias Quintela","email":"zaca@example.org","person_id":%d}`, k.person))
		})
	}
}

// TestANameThatALaptopLinkedUnheardGoesToo: the ticket had a name and no person. The laptop linked it with the person, whom the centre had
// erased by then, and brings the end of a holding of which the centre has never heard that it was the person's.
func TestANameThatALaptopLinkedUnheardGoesToo(t *testing.T) {
	for _, came := range [][]string{nil, {"event-1", "event-1-names"}} {
		partsLate(t, came, func(t *testing.T, k *known) {
			k.ticket = kvtest.Create(t, k.Store, record.Ticket, `{"event_id":1,"code":"FRESH","holder_name":"Zacarias Quintela"}`)
			patched(t, k.Store, record.Ticket, k.ticket, `{"holder_name":"Zacarias Later"}`) // the first name is an old body now
			k.pair.sync(t)
			k.pulls(t)
			patched(t, k.pair.venue, record.Ticket, k.ticket, fmt.Sprintf(`{"person_id":%d}`, k.person))
		})
	}
}

// partsLate has a laptop sell, and bring some parts of the ticket before the centre erases the person and the rest after it, in either order.
// The centre shall lack the name then.
func partsLate(t *testing.T, came []string, sell func(*testing.T, *known)) {
	t.Helper()
	for _, rest := range [][]string{{"event-1", "event-1-names", "event-1-holders"}, {"event-1-holders", "event-1-names", "event-1"}} {
		t.Run(fmt.Sprint(came, rest), func(t *testing.T) {
			t.Parallel()
			k := late(t)
			sell(t, k)
			k.pushesOf(t, came)
			k.erase(t)
			k.tells(t)
			k.pushesOf(t, rest)
			kv.AwaitErasures(t, k.Store)
			k.lacksName(t)
		})
	}
}

// recalls are the erasures that the centre tells its laptop of.
func (k *known) recalls(t testing.TB) []erase.Erasure {
	t.Helper()
	all, _, err := k.Store.Erasures.Recall.List(k.pair.p, 0)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestAHoldingThatIsDeletedWithItsTicketIsNotErased: the centre lacks the laptop's last name of it, as above.
func TestAHoldingThatIsDeletedWithItsTicketIsNotErased(t *testing.T) {
	k := late(t)
	k.ticket = kvtest.Create(t, k.Store, record.Ticket, `{"event_id":1,"code":"FRESH","holder_name":"Ana Souza"}`)
	k.pair.sync(t)
	k.pulls(t)
	patched(t, k.pair.venue, record.Ticket, k.ticket, `{"holder_name":"Ana Lima"}`)
	if err := k.pair.venue.Desk.Delete(auth.Operator(), target(record.Ticket, k.ticket)); err != nil {
		t.Fatal(err)
	}
	k.erase(t) // somebody else
	kv.AwaitErasures(t, k.Store)
	before := len(k.recalls(t))
	k.pushes(t)
	kv.AwaitErasures(t, k.Store)
	if all := k.recalls(t); len(all) > before {
		t.Errorf("the centre tells of the erasures %v, before of %d", all, before)
	}
}

// TestOnlyTheEndOfAHoldingThatTheCentreLacksErasesIt: neither the end of a branch of it, which a restored centre may lack, nor the deletion
// of what the centre has.
func TestOnlyTheEndOfAHoldingThatTheCentreLacksErasesIt(t *testing.T) {
	later := rev.ID{Generation: 2, Hash: [16]byte{'b'}}
	for _, c := range []struct {
		name   string
		above  []rev.ID // the revision that the centre has
		body   []byte
		erases bool
	}{
		{"what the centre has never had is deleted", []rev.ID{{Generation: 3, Hash: [16]byte{'c'}}, later}, nil, true},
		{"what the centre has is deleted", []rev.ID{later}, nil, false},
		{"a branch ends", []rev.ID{rev.Ending(later), later}, []byte(rev.EndedBody), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := late(t)
			k.ticket = kvtest.Create(t, k.Store, record.Ticket, `{"event_id":1,"code":"FRESH","holder_name":"Ana Souza"}`)
			names := opens(t, k.Store, k.pair.p, "event-1-names")
			id := record.HolderName.DocID(kv.Present(t, k.Store, k.ticket))
			k.erase(t) // somebody else
			kv.AwaitErasures(t, k.Store)
			before := len(k.recalls(t))
			has, err := names.Read(id, docs.Ask{})
			if err != nil {
				t.Fatal(err)
			}
			if err := push(t, names, merge.DocWrite{ID: id, Path: append(c.above, has.Revisions[0].Revision), Deleted: true, Body: c.body}); err != nil {
				t.Fatalf("push = %v", err)
			}
			kv.AwaitErasures(t, k.Store)
			if all := k.recalls(t); (len(all) > before) != c.erases {
				t.Errorf("the centre tells of the erasures %v, before of %d", all, before)
			}
		})
	}
}
