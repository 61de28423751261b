package venue_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/sync/venue"
)

// TestALaptopOfTwoChurchesMovesBetweenThem: the centre takes what the laptop has made of a person and of an entry after it has moved them,
// whichever comes first.
func TestALaptopOfTwoChurchesMovesBetweenThem(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	for _, name := range []string{"A", "B"} {
		kvtest.Create(t, w.centre, record.Church, fmt.Sprintf(`{"name":%q}`, name))
	}
	person := kvtest.Create(t, w.centre, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	group := kvtest.Create(t, w.centre, record.Group, `{"name":"Choir","church_id":1}`)
	kvtest.Create(t, w.centre, record.FinancialAccount, `{"name":"Cash"}`)
	kvtest.Create(t, w.centre, record.Supplier, `{"name":"Bakery"}`)
	spent := kvtest.Create(t, w.centre, record.FinancialEntry, `{"transaction_type":"expense","base_amount":"5.00","church_id":1,"financial_account_id":1,"supplier_id":1}`)
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{1, 2}}, Venue: auth.Venue{Finance: true}})
	w.visits(w.laptop)
	w.changes(w.laptop, record.Person, person, `{"church_id":2}`)
	member := kvtest.Create(t, w.laptop, record.Membership, fmt.Sprintf(`{"person":%d,"group_id":%d}`, person, group))
	w.changes(w.laptop, record.Person, person, `{"occupation":"baker"}`) // it is pushed after the membership
	w.changes(w.laptop, record.FinancialEntry, spent, `{"church_id":2}`)
	if err := w.laptop.Desk.Delete(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.FinancialEntry, ID: record.Int(spent)}); err != nil {
		t.Fatal(err)
	}
	w.visits(w.laptop)
	if refusals := w.refusals(); refusals != "" {
		t.Errorf("the centre refuses %s", refusals)
	}
	if all := w.all(w.centre, record.Membership); len(all) != 1 || !strings.Contains(all[0], fmt.Sprintf(`"id":%d,`, member)) {
		t.Errorf("the centre has the memberships %s", all)
	}
	if all := w.all(w.centre, record.FinancialEntry); len(all) != 0 {
		t.Errorf("the centre still has %s", all)
	}
	w.healthy(w.centre)
	w.healthy(w.laptop)
}

// TestAMembershipComesBackWithAPersonThatMoved: the laptop hears of the move in one database, and takes the person out with the other.
func TestAMembershipComesBackWithAPersonThatMoved(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	for _, name := range []string{"A", "B"} {
		kvtest.Create(t, w.centre, record.Church, fmt.Sprintf(`{"name":%q}`, name))
	}
	group := kvtest.Create(t, w.centre, record.Group, `{"name":"Region","church_id":null}`)
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{1, 2}}})
	for _, home := range []int64{1, 2} {
		person := kvtest.Create(t, w.centre, record.Person, fmt.Sprintf(`{"full_name":"Ana Souza","church_id":%d}`, home))
		kvtest.Create(t, w.centre, record.Membership, fmt.Sprintf(`{"person":%d,"group_id":%d}`, person, group))
		w.visits(w.laptop)
		w.changes(w.centre, record.Person, person, fmt.Sprintf(`{"church_id":%d}`, 3-home))
		w.changes(w.laptop, record.Person, person, `{"occupation":"baker"}`) // the laptop's revision may win here, the merged one at the centre
		w.changes(w.laptop, record.Person, person, `{"occupation":"cook"}`)
	}
	for range 3 {
		w.visits(w.laptop)
	}
	if here, there := w.all(w.laptop, record.Membership), w.all(w.centre, record.Membership); len(here) != 2 || len(there) != 2 {
		t.Errorf("the laptop has the memberships %s, the centre %s", here, there)
	}
	w.healthy(w.laptop)
}

// TestWhatMovedAwayLeavesALaptopThatMovedItToo: the centre moves a person and a group to a church that is not the laptop's, and the laptop moves
// them between its own. Staff see what the laptop wanted, and the laptop keeps neither.
func TestWhatMovedAwayLeavesALaptopThatMovedItToo(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	for _, name := range []string{"A", "B", "C"} {
		kvtest.Create(t, w.centre, record.Church, fmt.Sprintf(`{"name":%q}`, name))
	}
	w.enrolFor(w.laptop, office.Enrolment{Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{1, 2}}})
	homes := map[int64]int64{} // of a person and a group of one number
	for _, home := range []int64{1, 2} {
		person := kvtest.Create(t, w.centre, record.Person, fmt.Sprintf(`{"full_name":"Ana Souza","church_id":%d}`, home))
		group := kvtest.Create(t, w.centre, record.Group, fmt.Sprintf(`{"name":"Choir","church_id":%d}`, home))
		kvtest.Create(t, w.centre, record.Membership, fmt.Sprintf(`{"person":%d,"group_id":%d}`, person, group))
		homes[person] = home
	}
	w.visits(w.laptop)
	for id, home := range homes {
		for _, k := range []*record.Kind{record.Person, record.Group} {
			w.changes(w.centre, k, id, `{"church_id":3}`)
			w.changes(w.laptop, k, id, fmt.Sprintf(`{"church_id":%d}`, 3-home))
		}
	}
	_, leave := w.follow(w.laptop)
	for _, k := range []*record.Kind{record.Person, record.Group, record.Membership} {
		w.until("the laptop has no "+k.Name, func() bool { return len(w.all(w.laptop, k)) == 0 })
		if there := w.all(w.centre, k); len(there) != 2 {
			t.Errorf("the centre has the %s %s", k.Name, there)
		}
	}
	leave()
	if refusals := w.refusals(); refusals == "" {
		t.Error("staff hear of no refusal")
	}
	w.healthy(w.laptop)
}

// TestAMembershipOfAPersonWithoutAChurchIsRefused: the centre takes the person out of the church while the laptop adds the person to a group.
func TestAMembershipOfAPersonWithoutAChurchIsRefused(t *testing.T) {
	t.Parallel()
	w, church, _ := parish(t)
	person := kvtest.Create(t, w.centre, record.Person, fmt.Sprintf(`{"full_name":"Ana Souza","church_id":%d}`, church))
	group := kvtest.Create(t, w.centre, record.Group, fmt.Sprintf(`{"name":"Choir","church_id":%d}`, church))
	w.visits(w.laptop)
	w.changes(w.centre, record.Person, person, `{"church_id":null}`)
	kvtest.Create(t, w.laptop, record.Membership, fmt.Sprintf(`{"person":%d,"group_id":%d}`, person, group))
	w.visits(w.laptop)
	if here, there := w.all(w.laptop, record.Membership), w.all(w.centre, record.Membership); len(here)+len(there) != 0 {
		t.Errorf("the laptop has the memberships %s, the centre %s", here, there)
	}
	if refusals := w.refusals(); !strings.Contains(refusals, `"group_id"`) {
		t.Errorf("staff find no membership among %s", refusals)
	}
	w.healthy(w.laptop)
}

// TestWhatComesBackWhileItIsLookedForStays: the centre gives a group to another church, and then to all. The laptop pulls the second move between its
// question about the first and the answer.
func TestWhatComesBackWhileItIsLookedForStays(t *testing.T) {
	t.Parallel()
	w, church, other := parish(t)
	group := kvtest.Create(t, w.centre, record.Group, fmt.Sprintf(`{"name":"Choir","church_id":%d}`, church))
	w.visits(w.laptop)
	w.changes(w.centre, record.Group, group, fmt.Sprintf(`{"church_id":%d}`, other))
	back := sync.OnceFunc(func() {
		w.changes(w.centre, record.Group, group, `{"church_id":null}`)
		w.visits(w.laptop)
	})
	link := transport(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if strings.HasSuffix(r.URL.Path, "/reference/_changes") {
			back()
		}
		return resp, err
	})
	if _, err := venue.VisitOnce(t.Context(), venue.Config{Store: w.laptop}, &http.Client{Transport: link}, func() {}); err != nil {
		t.Fatal(err)
	}
	if !w.has(w.laptop, "reference", record.Group.DocID(record.Int(group))) {
		t.Error("the laptop has lost the group")
	}
}

// TestALaptopKeepsTheNameOfTheHolderBefore: a ticket is passed on. The laptop hears from the private halves that they have the name, then that the
// doors' names have lost it, and at last of the ticket.
func TestALaptopKeepsTheNameOfTheHolderBefore(t *testing.T) {
	t.Parallel()
	w, church, _ := parish(t)
	bia := kvtest.Create(t, w.centre, record.Person, fmt.Sprintf(`{"full_name":"Bia Lima","church_id":%d}`, church))
	ana := kvtest.Create(t, w.centre, record.Person, fmt.Sprintf(`{"full_name":"Ana Souza","church_id":%d}`, church))
	ticket := w.sell(w.centre, "first")
	w.changes(w.centre, record.Ticket, ticket, fmt.Sprintf(`{"person_id":%d}`, ana))
	w.visits(w.laptop)
	w.visits(w.laptop) // nothing is left to be pushed
	w.changes(w.centre, record.Ticket, ticket, fmt.Sprintf(`{"person_id":%d,"holder_name":"Bia Lima"}`, bia))
	event := scopes.Scope{Sort: scopes.Event, ID: w.event}.String()
	if err := venue.PullOnce(t.Context(), venue.Config{Store: w.laptop}, event+"-holders", event+"-names", event); err != nil {
		t.Fatal(err)
	}
	if here, there := w.all(w.laptop, record.HolderName), w.all(w.centre, record.HolderName); !slices.Equal(here, there) || len(here) != 2 {
		t.Errorf("the laptop has the names %s, the centre %s", here, there)
	}
	w.healthy(w.laptop)
}
