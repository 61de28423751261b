package kv_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/inbox"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/outcome"
	"doorward/kv/record"
)

// passedHere is a centre with a ticket that Ana Souza has, who is a person, and a laptop of the church.
type passedHere struct {
	joined
	ana, bia, ticket int64
	first            record.ID // Ana's holding
}

func newPassedHere(t testing.TB) *passedHere {
	t.Helper()
	p := &passedHere{joined: atOneEvent(t)}
	p.ana = kvtest.Create(t, p.centre, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	p.bia = kvtest.Create(t, p.centre, record.Person, `{"full_name":"Bia Lima","church_id":1}`)
	p.ticket = newTicket(t, p.centre, 1, "CODE", fmt.Sprintf(`,"holder_name":"Ana Souza","email":"ana@example.org","phone":"11 987654321","person_id":%d`, p.ana))
	p.first = kv.Present(t, p.centre, p.ticket)
	p.exchange(t)
	return p
}

func (p *passedHere) toBia() string {
	return fmt.Sprintf(`{"holder_name":"Bia Lima","person_id":%d}`, p.bia)
}

// shown are members of the ticket at a store, as they stand in its JSON.
func (p *passedHere) shown(t testing.TB, s *kv.Store, names ...string) string {
	t.Helper()
	r, err := s.Desk.Retrieve(auth.Operator(), target(record.Ticket, p.ticket))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, name := range names {
		all = append(all, member(r.JSON, name))
	}
	return strings.Join(all, " ")
}

// in tells whether a document lives in a database.
func in(t testing.TB, s *kv.Store, db, doc string) bool {
	t.Helper()
	d, err := opens(t, s, auth.Operator(), db).Read(doc, docs.Ask{})
	return err == nil && !d.Deleted
}

// A change of the person passes the ticket on: what the same request does not give starts empty. A person for none is linked in place, and
// all else is an edit.
func TestWhatPassesATicketOn(t *testing.T) {
	for _, test := range []struct {
		name, edit string
		passes     bool
		want       string
	}{
		{"to a person", `{"person_id":2}`, true, `null null null 2 ""`},
		{"to nobody", `{"person_id":null}`, true, `null null null null ""`},
		{"to a person with a name", `{"person_id":2,"holder_name":"Bia Lima"}`, true, `"Bia Lima" null null 2 "Bia L."`},
		{"a corrected name", `{"holder_name":"Ana Sousa"}`, false, `"Ana Sousa" "ana@example.org" "11 987654321" 1 "Ana S."`},
		{"the same person", `{"person_id":1,"email":"a@example.org"}`, false, `"Ana Souza" "a@example.org" "11 987654321" 1 "Ana S."`},
		{"everything but the person", `{"holder_name":"Ana Melo","email":"a@example.org","phone":"11 900000000"}`, false,
			`"Ana Melo" "a@example.org" "11 900000000" 1 "Ana M."`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPassedHere(t)
			patched(t, p.centre, record.Ticket, p.ticket, test.edit)
			if got := p.shown(t, p.centre, "holder_name", "email", "phone", "person_id", "label"); got != test.want {
				t.Errorf("the ticket is %s, want %s", got, test.want)
			}
			if passes := kv.Present(t, p.centre, p.ticket) != p.first; passes != test.passes {
				t.Errorf("passed on: %t, want %t", passes, test.passes)
			}
			if over := !in(t, p.centre, "event-1-names", record.HolderName.DocID(p.first)); over != test.passes {
				t.Errorf("the first holding has left the doors: %t, want %t", over, test.passes)
			}
			healthy(t, p.centre)
		})
	}
}

// An import passes a ticket on where both the name and the contact of a linked holding are others.
func TestWhatAnImportPassesOn(t *testing.T) {
	for _, test := range []struct {
		name, more string
		passes     bool
	}{
		{"another name", `"holder_name":"Bia Lima"`, false},
		{"another contact", `"holder_name":"Ana Souza","email":"bia@example.org"`, false},
		{"another name and e-mail", `"holder_name":"Bia Lima","email":"bia@example.org"`, true},
		{"another name and phone", `"holder_name":"Bia Lima","email":"ana@example.org","phone":"11 900000000"`, true},
		{"another name and e-mail of the same person", `"holder_name":"Bia Lima","email":"bia@example.org","person_id":1`, false},
	} {
		p := newPassedHere(t)
		loaded(t, p.centre, row(t, record.Ticket, 0, `{"event_id":1,"code":"CODE",`+test.more+`}`))
		if passes := kv.Present(t, p.centre, p.ticket) != p.first; passes != test.passes {
			t.Errorf("%s: passed on: %t, want %t", test.name, passes, test.passes)
		}
		healthy(t, p.centre)
	}
}

// A laptop hears that a ticket was passed on before it hears that the label is gone: a search by that label does not show the next holder.
func TestALabelOfAHoldingThatIsOverFindsNoTicket(t *testing.T) {
	p := newPassedHere(t)
	p.p = enrolled(t, p.centre, "event:1", auth.Venue{Node: p.venue.Tables.Identity.Node()})
	p.exchange(t, "event-1-labels")
	if hits := found(t, p.venue, auth.Operator(), 1, "ana"); len(hits) != 1 {
		t.Fatalf("by the present label: %+v, want one", hits)
	}
	patched(t, p.centre, record.Ticket, p.ticket, p.toBia())
	p.exchange(t, "event-1")
	if hits := found(t, p.venue, auth.Operator(), 1, "ana"); len(hits) != 0 {
		t.Errorf("by the label of before: %+v, want none", hits)
	}
}

// A holding that is over is in no database of the doors, no search of theirs finds it, and the church sees it in the ticket's history.
func TestAHoldingThatIsOverLeavesTheDoors(t *testing.T) {
	p := newPassedHere(t)
	patched(t, p.centre, record.Ticket, p.ticket, p.toBia())
	p.exchange(t)
	for _, s := range []*kv.Store{p.centre, p.venue} {
		for db, want := range map[string]bool{"event-1-names": false, "event-1-holders": true} {
			if got := in(t, s, db, record.HolderName.DocID(p.first)); got != want {
				t.Errorf("the first name is in %s: %t, want %t", db, got, want)
			}
		}
		if hits := found(t, s, auth.Operator(), 1, "ana souza"); len(hits) != 0 {
			t.Errorf("a search finds %+v by the first name", hits)
		}
		if hits := found(t, s, auth.Operator(), 1, "bia"); len(hits) != 1 || hits[0].Label != "Bia L." {
			t.Errorf("a search finds %+v by the second name, want the ticket", hits)
		}
		healthy(t, s)
	}
	if in(t, p.centre, "event-1-labels", record.HolderLabel.DocID(p.first)) {
		t.Error("the first label is there still")
	}
	for level, want := range map[string]bool{"church:1": true, "event:1": false} {
		key := kvtest.Login(t, p.centre, level, "admin:GET", "event:GET")
		all, err := p.centre.Desk.History(key, target(record.Ticket, p.ticket), true)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(all, func(past desk.Past) bool { return strings.Contains(string(past.Body), "Ana Souza") })
		if got != want {
			t.Errorf("%s sees the first holder in the history: %t, want %t", level, got, want)
		}
	}
}

// Nobody but the root says what the labels are.
func TestALabelThatIsPushedIsRefused(t *testing.T) {
	p := newPassedHere(t)
	doc := record.HolderLabel.DocID(p.first)
	for name, who := range map[string]auth.Principal{
		"a laptop of the church": enrolled(t, p.centre, "church:1", auth.Venue{}),
		"a laptop of the event":  enrolled(t, p.centre, "event:1", auth.Venue{}),
		"a key of everything":    kvtest.Login(t, p.centre, "denomination", "*:*"),
	} {
		w := onTop(t, opens(t, p.centre, auth.Operator(), "event-1-labels"), doc, `"Ana S."`, `"Eva X."`)
		if err := push(t, opens(t, p.centre, who, "event-1-labels"), w); kindOf(err) != "forbidden" {
			t.Errorf("%s: %v, want forbidden", name, err)
		}
	}
	if got := p.shown(t, p.centre, "label"); got != `"Ana S."` {
		t.Errorf("the label is %s", got)
	}
}

// What an operator's file says of a label is derived anew.
func TestALabelOfAFileIsDerivedAnew(t *testing.T) {
	p := newPassedHere(t)
	db := opens(t, p.centre, auth.Operator(), "event-1-labels")
	if err := push(t, db, onTop(t, db, record.HolderLabel.DocID(p.first), `"Ana S."`, `"Eva X."`)); err != nil {
		t.Fatal(err)
	}
	if body := bodyOf(t, db, record.HolderLabel.DocID(p.first)); !strings.Contains(body, `"Ana S."`) {
		t.Errorf("the label is %s", body)
	}
	healthy(t, p.centre)
}

// Two sides pass one ticket on: one holding stands and the other is over and listed. Staff may have the ticket go to that one.
func TestATicketThatTwoSidesPassOn(t *testing.T) {
	for i := range 4 {
		p := newPassedHere(t)
		caio := kvtest.Create(t, p.centre, record.Person, `{"full_name":"Caio Reis","church_id":1}`)
		p.exchange(t)
		patched(t, p.centre, record.Ticket, p.ticket, p.toBia())
		for range i {
			patched(t, p.venue, record.Ticket, p.ticket, `{"order":"A7"}`) // the longer branch wins
		}
		patched(t, p.venue, record.Ticket, p.ticket, fmt.Sprintf(`{"holder_name":"Caio Reis","person_id":%d}`, caio))
		p.exchange(t)
		p.exchange(t)
		stands := p.shown(t, p.centre, "holder_name")
		if at := p.shown(t, p.venue, "holder_name"); at != stands || stands != `"Bia Lima"` && stands != `"Caio Reis"` {
			t.Errorf("the ticket is %s's at the centre, %s's at the laptop", stands, at)
		}
		all := matters(t, p.centre, auth.Operator(), record.Conflict)
		at := slices.IndexFunc(all, func(r entry.Reply) bool { return member(r.JSON, "field") == `"holding"` })
		if at < 0 {
			t.Fatalf("nothing is listed of the holding: %+v", all)
		}
		if _, err := p.centre.Inbox.Resolve(auth.Operator(), inbox.Item{Kind: record.Conflict, ID: all[at].ID}, inbox.Choice{Other: true}); err != nil {
			t.Fatal(err)
		}
		if got := p.shown(t, p.centre, "holder_name"); got == stands || got == `"Ana Souza"` {
			t.Errorf("staff have chosen the other, and the ticket is %s's", got)
		}
		for _, name := range []string{"Bia Lima", "Caio Reis"} {
			hits, is := found(t, p.centre, auth.Operator(), 1, name), p.shown(t, p.centre, "holder_name") == strconv.Quote(name)
			if is != (len(hits) == 1) {
				t.Errorf("the ticket is %s's: %t, and a door finds %+v by the name", name, is, hits)
			}
		}
		p.exchange(t)
		if a, b := p.shown(t, p.centre, "holder_name", "label"), p.shown(t, p.venue, "holder_name", "label"); a != b {
			t.Errorf("the ticket is %s at the centre, %s at the laptop", a, b)
		}
		healthy(t, p.centre)
		healthy(t, p.venue)
	}
}

// The holding that stands is erased before staff have chosen: the ticket goes to the other one, and that was its only one.
func TestATicketOfAnErasedHolderGoesToTheOther(t *testing.T) {
	p := newPassedHere(t)
	caio := kvtest.Create(t, p.centre, record.Person, `{"full_name":"Caio Reis","church_id":1}`)
	p.exchange(t)
	patched(t, p.centre, record.Ticket, p.ticket, p.toBia())
	patched(t, p.venue, record.Ticket, p.ticket, fmt.Sprintf(`{"holder_name":"Caio Reis","person_id":%d}`, caio))
	p.exchange(t)
	p.exchange(t)
	stands, other := p.bia, `"Caio Reis"`
	if p.shown(t, p.centre, "holder_name") == other {
		stands, other = caio, `"Bia Lima"`
	}
	erased(t, p.centre, stands)
	for _, r := range matters(t, p.centre, auth.Operator(), record.Conflict) {
		if _, err := p.centre.Inbox.Resolve(auth.Operator(), inbox.Item{Kind: record.Conflict, ID: r.ID}, inbox.Choice{Other: true}); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.shown(t, p.centre, "holder_name"); got != other {
		t.Errorf("the ticket is %s's, want %s", got, other)
	}
	if body := bodyOf(t, opens(t, p.centre, auth.Operator(), "event-1"), record.Ticket.DocID(record.Int(p.ticket))); strings.Contains(body, `""`) {
		t.Errorf("the ticket is %s, want each ended holding to have an id", body)
	}
}

// The name of a holding that is over may come before its ticket: no door is shown it.
func TestANameOfTheHoldersBeforeItsTicketStaysWithThem(t *testing.T) {
	p := newPassedHere(t)
	doc := record.HolderName.DocID(drawnID(1))
	w := merge.DocWrite{ID: doc, Path: chain("a"), Body: []byte(`{"event_id":1,"ticket_id":99,"full_name":"Eva Melo"}`)}
	if err := push(t, opens(t, p.centre, p.p, "event-1-holders"), w); err != nil {
		t.Fatal(err)
	}
	for db, want := range map[string]bool{"event-1-holders": true, "event-1-names": false} {
		if got := in(t, p.centre, db, doc); got != want {
			t.Errorf("the name is in %s: %t, want %t", db, got, want)
		}
	}
}

// A ticket that was passed on stays so, whatever else another side has changed of it.
func TestATicketIsPassedOnBesideAnotherChange(t *testing.T) {
	for i := range 4 {
		p := newPassedHere(t)
		patched(t, p.centre, record.Ticket, p.ticket, p.toBia())
		for n := range i + 1 {
			patched(t, p.venue, record.Ticket, p.ticket, fmt.Sprintf(`{"order":"A%d"}`, n))
		}
		p.exchange(t)
		p.exchange(t)
		if got := p.shown(t, p.centre, "holder_name"); got != `"Bia Lima"` {
			t.Errorf("the ticket is %s's", got)
		}
		if !listed(t, p.centre, fmt.Sprintf("A%d", i)) {
			t.Error("the order of the other side is not listed")
		}
	}
}

// What a laptop makes of a holding that is over merges within it.
func TestAnEditOfAHoldingThatIsOver(t *testing.T) {
	p := newPassedHere(t)
	patched(t, p.centre, record.Ticket, p.ticket, p.toBia())
	patched(t, p.venue, record.Ticket, p.ticket, `{"holder_name":"Ana Sousa","email":"sousa@example.org"}`)
	p.exchange(t)
	p.exchange(t)
	for _, s := range []*kv.Store{p.centre, p.venue} {
		if got := p.shown(t, s, "holder_name", "email"); got != `"Bia Lima" null` {
			t.Errorf("the ticket is %s", got)
		}
		if body := bodyOf(t, opens(t, s, auth.Operator(), "event-1-holders"), record.HolderName.DocID(p.first)); !strings.Contains(body, "Ana Sousa") {
			t.Errorf("the first name is %s, want the laptop's", body)
		}
		healthy(t, s)
	}
}

// A holding that names an erased person is erased as it comes: nothing of it is kept, its ticket has none, and the ledger says so.
func TestAHoldingOfAnErasedPersonIsErasedAsItComes(t *testing.T) {
	p := newPassedHere(t)
	patched(t, p.venue, record.Ticket, p.ticket, fmt.Sprintf(`{"holder_name":"Zulmira Lima","email":"zulmira@example.org","person_id":%d}`, p.bia))
	holding := kv.Present(t, p.venue, p.ticket)
	erased(t, p.centre, p.bia)
	for _, name := range eventDatabases[1:] {
		pushed(t, p.joined, name)
	}
	kv.AwaitErasures(t, p.centre)
	for db, k := range map[string]*record.Kind{"event-1-names": record.HolderName, "event-1-holders": record.Holder} {
		d, err := opens(t, p.centre, p.p, db).Read(k.DocID(holding), docs.Ask{})
		if err == nil && (!d.Deleted || string(d.Revisions[0].Body) != "{}") {
			t.Errorf("%s is %s", k.DocID(holding), d.Revisions[0].Body)
		}
	}
	if got := p.shown(t, p.centre, "holder_name", "email", "person_id", "label"); got != `null null null ""` {
		t.Errorf("the ticket is %s", got)
	}
	want := kv.HashErased(p.centre, record.Holder, holding)
	if at := (desk.Target{Surface: record.Admin, Kind: record.Erasure, ID: record.FromULID(want)}); true {
		if _, err := p.centre.Desk.Retrieve(auth.Operator(), at); err != nil {
			t.Errorf("the erasure of the holding: %v", err)
		}
	}
	p.lacksErased(t)
}

// lacksErased wants a sound centre, and its file to have nothing of who is erased.
func (p *passedHere) lacksErased(t testing.TB) {
	t.Helper()
	if b := compactedFile(t, p.centre); strings.Contains(b, "Zulmira") || strings.Contains(b, "zulmira@") {
		t.Error("the file has who is erased")
	}
	healthy(t, p.centre)
}

// An old laptop brings no erased holding back, and what it says of it is not kept for staff.
func TestAnOldLaptopRevivesNoErasedHolding(t *testing.T) {
	p := newPassedHere(t)
	patched(t, p.venue, record.Ticket, p.ticket, `{"holder_name":"Zulmira Souza","email":"zulmira@example.org","order":"A7"}`)
	erased(t, p.centre, p.ana)
	for range 2 {
		for _, name := range eventDatabases[1:] {
			pushed(t, p.joined, name)
		}
	}
	for db, k := range map[string]*record.Kind{"event-1-names": record.HolderName, "event-1-holders": record.Holder} { // though the centre wants none of it
		d, err := opens(t, p.venue, auth.Operator(), db).Read(k.DocID(p.first), docs.Ask{})
		if err != nil {
			t.Fatal(err)
		}
		w := merge.DocWrite{ID: d.ID, Path: d.Tree.Path(d.Revisions[0].Revision), Body: d.Revisions[0].Body}
		if err := push(t, opens(t, p.centre, p.p, db), w); kindOf(err) != "forbidden" {
			t.Errorf("%s is pushed: %v, want forbidden", d.ID, err)
		}
	}
	if got := p.shown(t, p.centre, "holder_name", "email", "person_id", "label", "order"); got != `null null null "" "A7"` {
		t.Errorf("the ticket is %s", got)
	}
	if !kv.Present(t, p.centre, p.ticket).IsZero() {
		t.Error("the ticket names the holding that is erased")
	}
	if n := len(matters(t, p.centre, auth.Operator(), record.Refusal)); n != 0 {
		t.Errorf("%d refusals are kept", n)
	}
	p.lacksErased(t)
}

// Who came in is told of an admission, whoever has the ticket since.
func TestAnAdmissionIsOfWhoCame(t *testing.T) {
	p := newPassedHere(t)
	scanned(t, p.centre, auth.Operator(), door.Attempt{Event: 1, Code: "CODE", Door: "north"}, outcome.Admitted)
	patched(t, p.centre, record.Ticket, p.ticket, p.toBia())
	d := scanned(t, p.centre, auth.Operator(), door.Attempt{Event: 1, Code: "CODE", Door: "north"}, outcome.AlreadyAdmitted)
	if d.Holder == nil || *d.Holder != "Ana Souza" || d.Label != "Ana S." {
		t.Errorf("already admitted is %v, %q, want Ana", d.Holder, d.Label)
	}
	patched(t, p.centre, record.Ticket, p.ticket, `{"state":"cancelled"}`)
	page, err := p.centre.Door.DoubleEntries(auth.Operator(), 1, desk.Part{Limit: 10})
	if err != nil || len(page.Items) != 1 || page.Items[0].Holder != "Ana Souza" {
		t.Errorf("double entries are %+v, %v, want Ana's", page.Items, err)
	}
}

// A laptop of the event sells and corrects names. It passes no ticket on, and once the centre has changed any record of a ticket it changes
// nothing more of it, though it may not read what was changed.
func TestWhatALaptopOfTheEventChanges(t *testing.T) {
	c := newPair(t)
	person := kvtest.Create(t, c.centre, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	c.p = enrolled(t, c.centre, "event:1", auth.Venue{Node: c.venue.Tables.Identity.Node(), Names: true})
	kv.ShareCodeKey(t, c.centre, c.venue)
	c.exchange(t, "event-1")
	id := newTicket(t, c.venue, 1, "CODE", `,"holder_name":"Ana Souza","email":"ana@example.org"`)
	brings := func() (refused []string) {
		for _, name := range []string{"event-1", "event-1-names", "event-1-holders"} {
			refused = append(refused, pushed(t, c, name)...)
		}
		return refused
	}
	if refused := brings(); refused != nil {
		t.Fatalf("refused: %v", refused)
	}
	patched(t, c.venue, record.Ticket, id, `{"holder_name":"Ana Sousa"}`)
	if refused := brings(); refused != nil {
		t.Errorf("a corrected name is refused: %v", refused)
	}
	there := opens(t, c.centre, c.p, "event-1")
	w := onTop(t, there, record.Ticket.DocID(record.Int(id)), record.Holder.FormatID(kv.Present(t, c.centre, id)), "01J00000000000000000000009")
	if err := push(t, there, w); kindOf(err) != "forbidden" {
		t.Errorf("a laptop of the event passes a ticket on: %v, want forbidden", err)
	}
	patched(t, c.centre, record.Ticket, id, fmt.Sprintf(`{"person_id":%d}`, person))
	patched(t, c.venue, record.Ticket, id, `{"holder_name":"Eva"}`)
	if refused := brings(); len(refused) == 0 {
		t.Error("a name is taken of a ticket that the centre has changed")
	}
	replicated(t, opens(t, c.centre, c.p, "event-1"), c.centre.Tables.Identity.Node(), opens(t, c.venue, auth.Operator(), "event-1"))
	if body := bodyOf(t, opens(t, c.venue, auth.Operator(), "event-1"), record.Ticket.DocID(record.Int(id))); !strings.Contains(body, `"taken_over":true`) {
		t.Errorf("the ticket at the laptop is %s, want that it says so", body)
	}
	healthy(t, c.centre)
}

// The connection of a laptop broke off after the ticket of a sale: the name and the code still come, though the centre has changed the
// ticket by then.
func TestTheNameOfASaleComesAfterItsTicket(t *testing.T) {
	c := newPair(t)
	c.p = enrolled(t, c.centre, "event:1", auth.Venue{Node: c.venue.Tables.Identity.Node(), Names: true})
	kv.ShareCodeKey(t, c.centre, c.venue)
	c.exchange(t, "event-1")
	id := newTicket(t, c.venue, 1, "CODE", `,"holder_name":"Ana Souza"`)
	if refused := pushed(t, c, "event-1"); refused != nil {
		t.Fatalf("refused: %v", refused)
	}
	patched(t, c.centre, record.Ticket, id, `{"order":"A-7"}`)
	for _, name := range []string{"event-1-names", "event-1-holders"} {
		if refused := pushed(t, c, name); refused != nil {
			t.Errorf("%s is refused: %v", name, refused)
		}
	}
	shown, err := c.centre.Desk.Retrieve(auth.Operator(), target(record.Ticket, id))
	if err != nil || member(shown.JSON, "holder_name") != `"Ana Souza"` || member(shown.JSON, "code") != `"CODE"` {
		t.Errorf("the centre shows %s, %v, want the name and the code of the sale", shown.JSON, err)
	}
	healthy(t, c.centre)
}

// The code in clear is the one that the door admits by, whichever side a merge takes.
func TestTheCodeFollowsItsTicket(t *testing.T) {
	for _, order := range bothWays(eventDatabases) {
		for i := range 4 {
			p := newPassedHere(t)
			patched(t, p.centre, record.Ticket, p.ticket, fmt.Sprintf(`{"code":"CENTRE-%d"}`, i))
			patched(t, p.venue, record.Ticket, p.ticket, fmt.Sprintf(`{"code":"LAPTOP-%d"}`, i))
			for n, side := range []string{"CENTRE", "LAPTOP"} { // of another record with the ticket's number: it stays as it is
				w := merge.DocWrite{ID: record.Conflict.DocID(drawnID(uint64(n + 1))), Path: chain("a"),
					Body: fmt.Appendf(nil, `{"kind":"later","record_id":"%d","field":"code","winner":"first","other":"%s-%d"}`, p.ticket, side, i)}
				if err := push(t, opens(t, p.centre, auth.Operator(), "records"), w); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				p.exchange(t, order...)
			}
			for n := range 2 {
				if body := bodyOf(t, opens(t, p.centre, auth.Operator(), "records"), record.Conflict.DocID(drawnID(uint64(n+1)))); !strings.Contains(body, `"winner":"first"`) {
					t.Errorf("the conflict of the other record is %s", body)
				}
			}
			for _, s := range []*kv.Store{p.centre, p.venue} {
				code := strings.Trim(p.shown(t, s, "code"), `"`)
				scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: code, Ticket: 0}, outcome.Admitted)
				healthy(t, s)
			}
		}
	}
}

// Of equally good tickets a door is shown those with the lowest ids, though their holdings were made in one moment.
func TestEquallyGoodHitsComeInTheOrderOfTickets(t *testing.T) {
	s, _ := opened(t)
	event := newEvent(t, s, "")
	var rows []entry.Row
	for i := range 60 {
		rows = append(rows, row(t, record.Ticket, 0, fmt.Sprintf(`{"event_id":%d,"code":"CODE-%d","holder_name":"Maria Silva"}`, event, i)))
	}
	loaded(t, s, rows...)
	for i, h := range found(t, s, auth.Operator(), event, "maria silva") {
		if h.Ticket.Int() != int64(i+1) {
			t.Fatalf("hit %d is ticket %d", i, h.Ticket.Int())
		}
	}
}
