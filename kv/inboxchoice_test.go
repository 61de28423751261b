package kv_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/inbox"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// put puts an item into a store's inbox, of all the members that its record has.
func put(t testing.TB, s *kv.Store, k *record.Kind, members string) (it inbox.Item) {
	t.Helper()
	err := s.Tables.Do(func(o *table.Tx) error {
		d, err := k.Decode(record.Body{Shown: []byte(members)})
		if err != nil {
			return err
		}
		it = inbox.Item{Kind: k, ID: table.NewFactID(o.Now)}
		_, err = o.Write(table.Edit{Kind: k, ID: it.ID, Is: d})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// choices are a store for choices about items, and the key of its church 1. Person 1, group 1 and membership 1 are there. Person 2 and
// membership 2 are deleted, so is event 2, and person 3 is erased. Ticket 1 has a holder.
func choices(t testing.TB) (s *kv.Store, church auth.Principal) {
	t.Helper()
	s = twoChurches(t)
	for range 3 {
		kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	}
	for range 2 {
		kvtest.Create(t, s, record.Group, `{"name":"Choir","church_id":1}`)
	}
	kvtest.Create(t, s, record.Membership, `{"person":1,"group_id":1}`)
	kvtest.Create(t, s, record.Membership, `{"person":1,"group_id":2}`)
	err := errors.Join(s.Desk.Delete(auth.Operator(), target(record.Membership, 2)), s.Desk.Delete(auth.Operator(), target(record.Person, 2)), s.Desk.Delete(auth.Operator(), target(record.Event, 2)))
	newTicket(t, s, 1, "CODE", `,"holder_name":"Ana"`)
	if _, failed := s.Erasures.Erase(auth.Operator(), record.Person, record.Int(3)); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return s, kvtest.Login(t, s, "church:1", "admin:*")
}

// What staff may not choose of a conflict is refused, and the conflict stays on the list.
func TestWhatMayBeChosenOfAConflict(t *testing.T) {
	s, church := choices(t)
	other, whole := inbox.Choice{Other: true}, auth.Operator()
	const person = `"kind":"person","winner":null,"at":null,"node":null,"record_id":`
	const membership = `"kind":"membership","winner":null,"at":null,"node":null,"record_id":`
	for _, test := range []struct {
		name, want string
		p          auth.Principal
		choice     inbox.Choice
		conflict   string
	}{
		{"of an unknown kind, kept", "ok", whole, inbox.Choice{}, `"kind":"thing","record_id":"1","field":"","other":null`},
		{"of an unknown kind, taken", "conflict", whole, other, `"kind":"thing","record_id":"1","field":"","other":null`},
		{"of a record that was never here, kept", "ok", whole, inbox.Choice{}, person + `"0000000000000999","field":"email","other":null`},
		{"of an event that is not the church's, kept", "forbidden", church, inbox.Choice{}, `"kind":"event","record_id":"0000000000000003","field":"name","other":"B"`},
		{"of that event's maker", "forbidden", church, other, `"kind":"event","record_id":"0000000000000003","field":"created_by","other":7`},
		{"of an unknown field", "conflict", whole, other, person + `"0000000000000001","field":"star_sign","other":1`},
		{"of a derived field", "conflict", whole, other, person + `"0000000000000001","field":"updated_by","other":1`},
		{"of a field of a deleted record", "conflict", whole, other, person + `"0000000000000002","field":"full_name","other":"Eva"`},
		{"an edit of an event, by the event's key", "forbidden", kvtest.Login(t, s, "event:2", "admin:*"), other, `"kind":"event","record_id":"0000000000000002","field":"","other":{"name":"B","church_id":2}`},
		{"a third value of a holder's name", "ok", whole, inbox.Choice{Value: jsontext.Value(`"Eva"`)}, `"kind":"holder_name","record_id":"` + record.HolderName.FormatID(kv.Present(t, s, 1)) + `","field":"full_name","other":null`},
		{"a third value of what staff do not set", "faults", whole, inbox.Choice{Value: jsontext.Value(`"2026-05-01T12:00:00Z"`)}, person + `"0000000000000001","field":"created_at","other":null`},
		{"the other value of what staff do not set", "ok", whole, other, person + `"0000000000000001","field":"created_at","other":"2026-05-01T12:00:00Z"`},
		{"an edit of a record that is there", "conflict", whole, other, person + `"0000000000000001","field":"","other":{"full_name":"Eva","church_id":1}`},
		{"an edit of a record that was never here", "conflict", whole, other, person + `"0000000000000999","field":"","other":{"full_name":"Eva","church_id":1}`},
		{"an edit that is not held", "conflict", whole, other, person + `"0000000000000002","field":"","other":null`},
		{"an edit of another church", "conflict", church, other, person + `"0000000000000002","field":"","other":{"full_name":"Eva","church_id":2}`},
		{"an edit of no church", "forbidden", church, other, person + `"0000000000000002","field":"","other":{"full_name":"Eva","church_id":null}`},
		{"an edit that would be there twice", "conflict", church, other, membership + `"0000000000000002","field":"","other":{"person":1,"group_id":1}`},
		{"an edit of the church", "ok", church, other, membership + `"0000000000000002","field":"","other":{"person":1,"group_id":2}`},
	} {
		it := put(t, s, record.Conflict, test.conflict)
		if _, err := s.Inbox.Resolve(test.p, it, test.choice); kindOf(err) != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		if _, err := s.Inbox.Find(whole, it); (kindOf(err) == "not found") != (test.want == "ok") {
			t.Errorf("%s: the conflict then: %v", test.name, err)
		}
	}
	if got := nameOf(t, s, 1); got != "Ana" {
		t.Errorf("person 1 is %s, want Ana", got)
	}
	healthy(t, s)
}

// TestMembershipsFollowARestoredPerson: a membership came while the person was deleted, and the person is restored in another church.
func TestMembershipsFollowARestoredPerson(t *testing.T) {
	s, _ := choices(t)
	w := merge.DocWrite{ID: drawnDoc(record.Membership, 1), Path: chain("a"), Body: []byte(`{"person":2,"group_id":1}`)}
	if err := push(t, opens(t, s, auth.Operator(), "church-1"), w); err != nil {
		t.Fatal(err)
	}
	it := put(t, s, record.Conflict, `"kind":"person","winner":null,"at":null,"node":null,"record_id":"0000000000000002","field":"","other":{"full_name":"Eva","church_id":2}`)
	if _, err := s.Inbox.Resolve(auth.Operator(), it, inbox.Choice{Other: true}); err != nil {
		t.Fatal(err)
	}
	if got := bodyOf(t, opens(t, s, auth.Operator(), "church-2"), w.ID); !strings.Contains(got, `"person":2`) {
		t.Errorf("in the database of the new church the membership is %s", got)
	}
	healthy(t, s)
}

// What staff may not write is not applied either, and the refusal stays on the list.
func TestWhatMayBeAppliedOfARefusal(t *testing.T) {
	s, church := choices(t)
	for _, test := range []struct {
		name, want string
		p          auth.Principal
		doc        string
	}{
		{"of an unknown kind", "conflict", auth.Operator(), `"_id":"thing:0000000000000001"`},
		{"a fact", "conflict", auth.Operator(), `"_id":"scan:01J0000000000000000000000A","event_id":1`},
		{"what the server alone writes", "conflict", auth.Operator(), `"_id":"node:0000000000000500","name":"Hall"`},
		{"a person who was erased", "not found", auth.Operator(), `"_id":"person:0000000000000003","full_name":"Ana"`},
		{"the deletion of a part of a ticket", "conflict", auth.Operator(), `"_id":"ticket_code:0000000000000007","_deleted":true`},
		{"a deleted person", "conflict", auth.Operator(), `"_id":"person:0000000000000002","full_name":"Eva"`},
		{"a new ticket", "conflict", auth.Operator(), `"_id":"ticket:0000000000000500","event_id":1`},
		{"a new church, by a church's key", "forbidden", church, `"_id":"church:0000000000000500","name":"C"`},
	} {
		it := put(t, s, record.Refusal, `"db":"church-1","reason":"","key_id":null,"at":null,"doc":{`+test.doc+`}`)
		if _, err := s.Inbox.Resolve(test.p, it, inbox.Choice{Other: true}); kindOf(err) != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		if _, err := s.Inbox.Find(auth.Operator(), it); err != nil {
			t.Errorf("%s: the refusal then: %v", test.name, err)
		}
	}
}

// A key sees what was refused in the databases of its churches and events, and conflicts about the records that it sees. A key without admin
// sees nothing.
func TestWhoSeesAnItem(t *testing.T) {
	s, _ := choices(t)
	var it inbox.Item
	for _, db := range []string{"reference", "church-1", "church-1-finance", "church-2", "event-1", "event-1-names", "event-2", "notes"} {
		it = put(t, s, record.Refusal, `"db":"`+db+`","reason":"","key_id":null,"at":null,"doc":{"_id":"person:0000000000000001"}`)
	}
	for _, about := range []string{"person 1", "person 999", "membership 2", "ticket 1", "event 3", "regional 1", "thing 1"} {
		kind, id, _ := strings.Cut(about, " ")
		put(t, s, record.Conflict, fmt.Sprintf(`"kind":"%s","record_id":"%016s","field":"x","winner":null,"other":null,"at":null,"node":null`, kind, id))
	}
	for level, want := range map[string][2]string{
		"denomination": {"church-1 church-1-finance church-2 event-1 event-1-names event-2 notes reference", "event membership person person regional thing ticket"},
		"regional:1":   {"church-1 church-1-finance event-1 event-1-names", "event membership person ticket"},
		"church:1":     {"church-1 church-1-finance event-1 event-1-names", "event membership person ticket"},
		"church:2":     {"church-2", "event"},
		"event:1":      {"event-1 event-1-names", "ticket"},
	} {
		for i, k := range []*record.Kind{record.Refusal, record.Conflict} {
			var seen []string
			for _, r := range matters(t, s, kvtest.Login(t, s, level, "admin:GET"), k) {
				seen = append(seen, value.Unquote([]byte(member(r.JSON, []string{"db", "kind"}[i]))))
			}
			slices.Sort(seen)
			if got := strings.Join(seen, " "); got != want[i] {
				t.Errorf("%s sees the %ss %s, want %s", level, k.Name, got, want[i])
			}
		}
	}
	if page, err := s.Inbox.List(auth.Operator(), record.Refusal, desk.Part{Offset: 7, Limit: 9}); err != nil || page.Count != 8 || len(page.Items) != 1 {
		t.Errorf("the last refusal is %+v, %v", page, err)
	}
	if page, err := s.Inbox.List(auth.Operator(), record.Refusal, desk.Part{Limit: 3}); err != nil || page.Count != 8 || len(page.Items) != 3 {
		t.Errorf("the first three refusals are %+v, %v", page, err)
	}
	p := kvtest.Login(t, s, "denomination", "people:*")
	_, listed := s.Inbox.List(p, record.Refusal, desk.Part{Limit: 1})
	_, found := s.Inbox.Find(p, it)
	_, resolved := s.Inbox.Resolve(p, it, inbox.Choice{})
	for _, err := range []error{listed, found, resolved, s.Inbox.MayResolve(p, it)} {
		if kindOf(err) != "forbidden" {
			t.Errorf("without admin: %v, want forbidden", err)
		}
	}
}
