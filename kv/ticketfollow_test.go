package kv_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/value"
)

// agrees wants a ticket's label and its phone's tail to be those of the name and the phone that stand beside them.
func agrees(t testing.TB, s *kv.Store, id int64) (name, phone string) {
	t.Helper()
	holding := kv.Present(t, s, id)
	read := func(db string, k *record.Kind, field string) string {
		body := bodyOf(t, opens(t, s, auth.Operator(), db), k.DocID(holding))
		return value.Unquote([]byte(member([]byte(body[strings.Index(body, "{"):]), field)))
	}
	name, phone = read("event-1-names", record.HolderName, "full_name"), read("event-1-holders", record.Holder, "phone")
	if r, err := s.Desk.Retrieve(auth.Operator(), target(record.Ticket, id)); err != nil || value.Unquote([]byte(member(r.JSON, "label"))) != names.Label(name) {
		t.Errorf("the ticket of %s is %s, %v", name, r.JSON, err)
	}
	if db, err := s.Docs.Database(auth.Operator(), "event-1-labels"); err == nil && strings.Contains(bodyOf(t, db, record.HolderLabel.DocID(holding)), "{") { // a laptop with names has none
		if got := read("event-1-labels", record.HolderLabel, "label"); got != names.Label(name) {
			t.Errorf("the label of %s is %s", name, got)
		}
	}
	if got := read("event-1-names", record.HolderName, "phone_tail"); got != names.PhoneTail(phone) {
		t.Errorf("the tail of %s is %s", phone, got)
	}
	return name, phone
}

// Both sides change name and phone: whichever parts come first, and whoever wins, the label is the name's and the tail the phone's.
func TestWhatFollowsFromAMergeAgrees(t *testing.T) {
	for _, order := range bothWays(eventDatabases) {
		for i := range 4 { // the revisions decide who wins a part
			c := atOneEvent(t)
			id := newTicket(t, c.centre, 1, "CODE", `,"holder_name":"Ana Souza","phone":"11 987654321"`)
			c.exchange(t)
			form := func(s *kv.Store, body string) {
				t.Helper()
				if _, err := s.Desk.Update(auth.Operator(), target(record.Ticket, id), kvtest.Parse(t, record.TicketForm, body, false)); err != nil {
					t.Fatal(err)
				}
			}
			form(c.centre, fmt.Sprintf(`{"holder_name":"Centro O%d","phone":"11 91111000%d"}`, i, i))
			form(c.venue, fmt.Sprintf(`{"holder_name":"Laptop Alfa%d","phone":"11 92222000%d"}`, i, i))
			c.exchange(t, order...)
			c.exchange(t, order...)
			name, phone := agrees(t, c.centre, id)
			if n, p := agrees(t, c.venue, id); n != name || p != phone {
				t.Errorf("%s, %s at the laptop; %s, %s at the centre", n, p, name, phone)
			}
			healthy(t, c.centre)
			healthy(t, c.venue)
		}
	}
}

// Two laptops of the church change different parts of a ticket. In whatever order they bring them: the label is the name's in the end,
// and the tail the phone's.
func TestWhatFollowsAgreesInWhateverOrderPartsCome(t *testing.T) {
	for _, test := range []struct {
		name     string
		one, two []string // edits
		erased   bool     // the holder: the first laptop hears of it late, the second before it gives the ticket to somebody
		come     [3]bring
		holder   string // who has it in the end
		clash    string // what staff shall look at
	}{
		{"an order and a new holder", []string{`{"order":"A7"}`}, []string{`{"holder_name":"Nova Lima"}`}, false,
			[3]bring{{0, "event-1"}, {1, "event-1"}, {1, "event-1-names"}}, "Nova Lima", ""},
		{"an order from before the holder was erased", []string{`{"order":"A7"}`}, []string{`{"holder_name":"Nova Lima"}`}, true,
			[3]bring{{0, "event-1"}, {1, "event-1"}, {1, "event-1-names"}}, "Nova Lima", `"order"`},
		{"a name of the same label wins", []string{`{"holder_name":"Ana Silva"}`, `{"holder_name":"Ana Sales"}`}, []string{`{"holder_name":"Nova Lima"}`}, false,
			[3]bring{{0, "event-1-names"}, {1, "event-1"}, {1, "event-1-names"}}, "Ana Sales", `"full_name"`},
		{"a name and a phone", []string{`{"holder_name":"Ana Silva"}`}, []string{`{"phone":"11 922220002"}`}, false,
			[3]bring{{0, "event-1-names"}, {1, "event-1-names"}, {1, "event-1-holders"}}, "Ana Silva", ""},
		{"a phone of the same tail wins", []string{`{"phone":"11 922224321"}`, `{"phone":"11 933334321"}`}, []string{`{"phone":"11 922220002"}`}, false,
			[3]bring{{0, "event-1-holders"}, {1, "event-1-names"}, {1, "event-1-holders"}}, "Ana Souza", `"phone"`},
	} {
		for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			t.Run(fmt.Sprint(test.name, order), func(t *testing.T) {
				t.Parallel()
				two := meetingOverATicket(t)
				two.edit(t, 0, test.one)
				if test.erased {
					two.erase(t)
					two.at(1).tells(t)
					two.pulls(t)
				}
				two.edit(t, 1, test.two)
				for _, i := range order {
					pushed(t, two.at(test.come[i].laptop).pair, test.come[i].db)
				}
				two.visit(t)
				two.visit(t)
				if name, _ := agrees(t, two.Store, two.ticket); name != test.holder {
					t.Errorf("the name is %s, want %s", name, test.holder)
				}
				if got := two.clashes(t); got != test.clash {
					t.Errorf("staff shall look at %s, want %s", got, test.clash)
				}
				for i := range two.laptops {
					two.at(i).agrees(t, ticketDBs...)
				}
				healthy(t, two.Store)
			})
		}
	}
}

// bring is a database that one of two laptops pushes.
type bring struct {
	laptop int
	db     string
}

// meeting are two laptops of a church, and their centre.
type meeting struct {
	*known
	laptops [2]joined
}

// meetingOverATicket are two laptops that know of one ticket.
func meetingOverATicket(t testing.TB) *meeting {
	t.Helper()
	k := &known{Store: twoChurches(t)}
	k.person = kvtest.Create(t, k.Store, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	k.ticket = newTicket(t, k.Store, 1, "CODE", fmt.Sprintf(`,"holder_name":"Ana Souza","phone":"11 987654321","person_id":%d`, k.person))
	m := &meeting{known: k}
	for i := range m.laptops {
		m.laptops[i] = k.another(t)
		k.pulls(t)
	}
	return m
}

// at is the meeting as one of the laptops has it.
func (m *meeting) at(laptop int) *known {
	m.pair = m.laptops[laptop]
	return m.known
}

func (m *meeting) edit(t testing.TB, laptop int, edits []string) {
	t.Helper()
	for _, body := range edits {
		patched(t, m.laptops[laptop].venue, record.Ticket, m.ticket, body)
	}
}

// visit has both laptops push all that they have of the event, and pull it.
func (m *meeting) visit(t testing.TB) {
	t.Helper()
	for i := range m.laptops {
		if refused := m.at(i).pushes(t); refused != nil {
			t.Errorf("refused %v", refused)
		}
		m.pulls(t)
	}
}

// clashes are the fields that staff shall look at.
func (m *meeting) clashes(t testing.TB) string {
	t.Helper()
	var fields []string
	for _, r := range matters(t, m.Store, auth.Operator(), record.Conflict) {
		fields = append(fields, member(r.JSON, "field"))
	}
	slices.Sort(fields)
	return strings.Join(slices.Compact(fields), " ")
}

// A ticket that is new, or has a new holder or phone, keeps the revisions that its laptop has given its parts, whichever come first.
func TestWhatAgreesIsNotWrittenAgain(t *testing.T) {
	for _, order := range bothWays(ticketDBs) {
		c := atOneEvent(t)
		id := newTicket(t, c.venue, 1, "CODE", `,"holder_name":"Ana Souza","phone":"11 987654321"`)
		for _, edit := range []string{`{}`, `{"holder_name":"Eva Ferreira"}`, `{"phone":"11 922220002"}`} {
			patched(t, c.venue, record.Ticket, id, edit)
			for _, db := range order {
				pushed(t, c, db)
			}
			for _, db := range ticketDBs {
				if got, want := leavesOf(t, c.centre, db), leavesOf(t, c.venue, db); !maps.Equal(got, want) {
					t.Errorf("after %s the centre has made\n%v of\n%v", edit, got, want)
				}
			}
		}
	}
}

// The centre changes a part of a ticket that a laptop of the event has made: what else the laptop changes is refused there, and its
// so are its name and its phone. As long as the centre has changed nothing it makes no revision either, which would shut the laptop out.
func TestTheLabelOfANameThatAGuestBrings(t *testing.T) {
	for _, blocked := range []bool{false, true} {
		c := newPair(t)
		c.p = enrolled(t, c.centre, "event:1", auth.Venue{Node: c.venue.Tables.Identity.Node(), Names: true})
		kv.ShareCodeKey(t, c.centre, c.venue)
		c.exchange(t, "event-1")
		id := newTicket(t, c.venue, 1, "CODE", `,"holder_name":"Ana Souza","phone":"11 987654321"`)
		parts := []string{"event-1-holders", "event-1-names", "event-1"}
		push := func() (refused []string) {
			for _, name := range parts {
				refused = append(refused, pushed(t, c, name)...)
			}
			return refused
		}
		if refused := push(); refused != nil {
			t.Fatalf("refused %v", refused)
		}
		want, holder := 0, "Eva Ferreira"
		if blocked {
			want, holder = 2, "Ana Souza"
			patched(t, c.centre, record.Ticket, id, `{"state":"blocked"}`)
		}
		form := kvtest.Parse(t, record.TicketForm, `{"holder_name":"Eva Ferreira","phone":"11 911112222"}`, false)
		if _, err := c.venue.Desk.Update(auth.Operator(), target(record.Ticket, id), form); err != nil {
			t.Fatal(err)
		}
		if refused := push(); len(refused) != want {
			t.Errorf("refused %v, want %d", refused, want)
		}
		if name, _ := agrees(t, c.centre, id); name != holder {
			t.Errorf("the name is %s, want %s", name, holder)
		}
		healthy(t, c.centre)
	}
}

// pushed brings one of a laptop's databases to the centre, whose it may write and not read, and answers what was refused.
func pushed(t testing.TB, c joined, name string) []string {
	t.Helper()
	here, err := c.venue.Docs.Database(auth.Operator(), name)
	if err != nil {
		t.Fatal(err)
	}
	there, err := c.centre.Docs.Database(c.p, name)
	if err != nil {
		t.Fatal(err)
	}
	return replicated(t, here, c.venue.Tables.Identity.Node(), there)
}
