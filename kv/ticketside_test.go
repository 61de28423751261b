package kv_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

// givenTwice is a ticket that the centre has given to one person and a laptop, cut off, to another.
type givenTwice struct {
	joined
	ticket, centres, laptops int64
}

func (g *givenTwice) gives(t testing.TB, s *kv.Store, body string, args ...any) {
	t.Helper()
	if _, err := s.Desk.Update(auth.Operator(), target(record.Ticket, g.ticket), kvtest.Parse(t, record.TicketForm, fmt.Sprintf(body, args...), false)); err != nil {
		t.Fatal(err)
	}
}

func newGivenTwice(t testing.TB) *givenTwice {
	t.Helper()
	g := &givenTwice{joined: atOneEvent(t)}
	_, code, _, err := g.centre.Venues.Enrol(auth.Operator(), office.Enrolment{Name: ulid.Make().String(), Level: auth.Level{Name: auth.ChurchOf, IDs: []int64{1}}, Venue: auth.Venue{Names: true}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.centre.Venues.Exchange(code, office.Joiner{Node: g.venue.Tables.Identity.Node(), Secret: keys.HashSecret("mine")})
	if err != nil {
		t.Fatal(err)
	}
	g.p = loggedIn(t, g.centre, c.Key)
	g.centres = kvtest.Create(t, g.centre, record.Person, `{"full_name":"Vera Centre","church_id":1}`)
	g.laptops = kvtest.Create(t, g.centre, record.Person, `{"full_name":"Quim Laptop","church_id":1}`)
	g.ticket = newTicket(t, g.centre, 1, "CODE", `,"holder_name":"Una First","email":"una@example.org"`)
	g.exchange(t)
	return g
}

// bothWays are databases in their order, and from the last to the first.
func bothWays(names []string) [][]string {
	reversed := slices.Clone(names)
	slices.Reverse(reversed)
	return [][]string{names, reversed}
}

// holderOf is whom a ticket names, and how.
func (g *givenTwice) holderOf(t testing.TB, s *kv.Store) string {
	t.Helper()
	r, err := s.Desk.Retrieve(auth.Operator(), target(record.Ticket, g.ticket))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join([]string{member(r.JSON, "holder_name"), member(r.JSON, "email"), member(r.JSON, "phone"), member(r.JSON, "person_id"), member(r.JSON, "label")}, " ")
}

const toSomebody = `{"holder_name":%q,"email":%q,"phone":%q,"person_id":%d}`

// Two sides have given a ticket to somebody: it is one's with all that was said of that one, and all of the other is listed. Whatever
// comes first, and whoever wins a part.
func TestATicketIsWhollyOneHolders(t *testing.T) {
	for _, order := range bothWays(eventDatabases) {
		for i := range 6 {
			g := newGivenTwice(t)
			g.giveTwice(t, i, order)
			got, word := g.holderOf(t, g.centre), g.has(t)
			if n := strings.Count(strings.ToLower(got), strings.ToLower(word)); n != 3 || strings.Contains(got, "911110001") != (word == "Vera") {
				t.Errorf("the ticket is %s", got)
			}
			if at := g.holderOf(t, g.venue); at != got {
				t.Errorf("the ticket is %s at the laptop, %s at the centre", at, got)
			}
			if other := map[string]string{"Vera": "quim@example.org", "Quim": "vera@example.org"}[word]; !listed(t, g.centre, other) {
				t.Errorf("%s is not listed", other)
			}
			healthy(t, g.centre)
			healthy(t, g.venue)
		}
	}
}

// One side corrects a name, and the other gives the ticket to somebody: the name is that one's.
func TestACorrectedNameIsNotTheNextHolders(t *testing.T) {
	for _, order := range bothWays(eventDatabases) {
		for i := range 4 {
			g := newGivenTwice(t)
			g.gives(t, g.centre, `{"holder_name":%q}`, fmt.Sprintf("Una Corrected %d", i))
			g.gives(t, g.venue, toSomebody, fmt.Sprintf("Quim Laptop %d", i), "quim@example.org", "11 922220002", g.laptops)
			for range 3 {
				g.exchange(t, order...)
			}
			if got := g.holderOf(t, g.centre); strings.Contains(got, "Una") || !strings.HasSuffix(got, `"Quim L."`) || !listed(t, g.centre, "Una Corrected") {
				t.Errorf("the ticket is %s", got)
			}
		}
	}
}

// A holding that was linked with two people at once goes whole with either of them: nothing of it is left on the ticket or in a file.
func TestAHoldingOfTwoGoesWithEither(t *testing.T) {
	for _, erase := range []string{"Vera", "Quim"} {
		for i := range 6 {
			g := newGivenTwice(t)
			g.giveTwice(t, i, eventDatabases)
			person := g.centres
			if erase == "Quim" {
				person = g.laptops
			}
			was := g.has(t)
			erased(t, g.centre, person)
			for range 2 {
				g.tellsErasures(t)
				g.exchange(t)
			}
			g.isNobodys(t, fmt.Sprintf("%s had it, %s is erased", was, erase), erase+" C", erase+" L", strings.ToLower(erase)+"@")
		}
	}
}

// The centre links the holding with a person, who is erased before the laptop is met which has linked it with another one: what comes of
// an erased holding is kept nowhere.
func TestALinkOfAnErasedHoldingIsKeptNowhere(t *testing.T) {
	for i := range 3 {
		g := newGivenTwice(t)
		g.gives(t, g.centre, toSomebody, fmt.Sprintf("Vera Centre %d", i), "vera@example.org", "11 911110001", g.centres)
		g.gives(t, g.venue, toSomebody, fmt.Sprintf("Quim Laptop %d", i), "quim@example.org", "11 922220002", g.laptops)
		g.gives(t, g.venue, `{"type":"VIP"}`)
		erased(t, g.centre, g.centres)
		for range 3 {
			g.tellsErasures(t)
			g.exchange(t)
		}
		g.isNobodys(t, "Vera is erased", "Vera C", "vera@", "Quim Laptop "+fmt.Sprint(i), "quim@")
	}
}

// isNobodys wants the ticket to name nobody anywhere, and no file to have some words.
func (g *givenTwice) isNobodys(t testing.TB, why string, words ...string) {
	t.Helper()
	for name, s := range map[string]*kv.Store{"centre": g.centre, "laptop": g.venue} {
		if got := g.holderOf(t, s); got != `null null null null ""` {
			t.Errorf("%s: the ticket is %s at the %s", why, got, name)
		}
		healthy(t, s)
		b := compactedFile(t, s)
		for _, word := range words {
			if strings.Contains(b, word) {
				t.Errorf("%s: the file of the %s still has %s", why, name, word)
			}
		}
	}
}

// giveTwice has both sides give the ticket to somebody, and then meet.
func (g *givenTwice) giveTwice(t testing.TB, nth int, order []string) {
	t.Helper()
	g.gives(t, g.centre, toSomebody, fmt.Sprintf("Vera Centre %d", nth), "vera@example.org", "11 911110001", g.centres)
	g.gives(t, g.venue, toSomebody, fmt.Sprintf("Quim Laptop %d", nth), "quim@example.org", "11 922220002", g.laptops)
	for range 3 {
		g.exchange(t, order...)
	}
}

// has is who has the ticket.
func (g *givenTwice) has(t testing.TB) string {
	t.Helper()
	if strings.Contains(g.holderOf(t, g.centre), fmt.Sprintf(" %d ", g.centres)) {
		return "Vera"
	}
	return "Quim"
}

// listed tells a value that a conflict has as the other.
func listed(t testing.TB, s *kv.Store, value string) bool {
	t.Helper()
	return slices.ContainsFunc(matters(t, s, auth.Operator(), record.Conflict), func(r entry.Reply) bool { return strings.Contains(member(r.JSON, "other"), value) })
}

// tellsErasures tells the laptop what the centre has erased.
func (c joined) tellsErasures(t testing.TB) {
	t.Helper()
	all, _, err := c.centre.Erasures.Recall.List(c.p, 0)
	if err == nil {
		err = c.venue.Erasures.Recall.Carry(auth.Operator(), all)
	}
	if err != nil {
		t.Fatal(err)
	}
	kv.AwaitErasures(t, c.venue)
}

// compactedFile is a store's file without what was in its free pages.
func compactedFile(t testing.TB, s *kv.Store) string {
	t.Helper()
	if _, err := s.Files.Compact(t.Context(), auth.Operator()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(table.Path(s.Tables.Folder.Dir))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A conflict about a record of a kind that this version does not know, and of the ticket's number, is none of the ticket's.
func TestAConflictOfALaterKindIsNoneOfTheTickets(t *testing.T) {
	g := newGivenTwice(t)
	later := merge.DocWrite{ID: "conflict:01J00000000000000000000000", Path: chain("a"),
		Body: fmt.Appendf(nil, `{"kind":"later","record_id":"%d","field":"full_name","winner":"a","other":"b"}`, g.ticket)}
	results, err := opens(t, g.centre, auth.Operator(), "records").Write([]merge.DocWrite{later})
	if err != nil || results[0].Err != nil {
		t.Fatalf("Write = %+v, %v", results, err)
	}
	g.giveTwice(t, 0, eventDatabases)
	if got := g.holderOf(t, g.centre); !strings.Contains(got, g.has(t)) {
		t.Errorf("the ticket is %s", got)
	}
}
