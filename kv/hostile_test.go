package kv_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// hostileFact is a fact of an event as a laptop makes it that means no good.
func hostileFact(kind, node string, event int64, more string) merge.DocWrite {
	body := fmt.Sprintf(`{"event_id":%d,"node":%q,"hlc":"0000000000000001","at":"2026-05-01T12:00:00Z","list":"","direction":"in","door":"x"%s}`, event, node, more)
	return merge.DocWrite{ID: kind + ":" + ulid.Make().String(), Path: chain("a"), Body: []byte(body)}
}

// TestALaptopChangesNothingOfAnotherEvent pushes facts of its own event that name what is another's.
func TestALaptopChangesNothingOfAnotherEvent(t *testing.T) {
	s := twoChurches(t)
	used, unused := newTicket(t, s, 1, "USED", ""), newTicket(t, s, 1, "UNUSED", "")
	d := scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "USED", Door: "a"}, outcome.Admitted)
	node := ulid.Make().String()
	db := opens(t, s, enrolled(t, s, "event:2", auth.Venue{Node: node}), "event-2")
	for _, w := range []merge.DocWrite{
		hostileFact("undo", node, 2, fmt.Sprintf(`,"ticket_id":%d,"checkin_id":%q`, used, d.CheckinID)),
		hostileFact("checkin", node, 2, fmt.Sprintf(`,"ticket_id":%d`, unused)),
	} {
		if err := push(t, db, w); err != nil {
			t.Errorf("a fact of its own event: %v", err)
		}
	}
	scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "USED", Door: "b"}, outcome.AlreadyAdmitted)
	scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "UNUSED", Door: "b"}, outcome.Admitted)
	healthy(t, s)
}

// TestValuesTooLongToBeFoundByStopNobody pushes what makes a key that no bucket takes.
func TestValuesTooLongToBeFoundByStopNobody(t *testing.T) {
	s := twoChurches(t)
	newTicket(t, s, 1, "CODE", "")
	node, long := ulid.Make().String(), strings.Repeat("n", 40_000)
	db := opens(t, s, enrolled(t, s, "event:1", auth.Venue{Node: node}), "event-1")
	for _, w := range []merge.DocWrite{
		hostileFact("checkin", node, 1, fmt.Sprintf(`,"nonce":%q`, long)),
		hostileFact("undo", node, 1, fmt.Sprintf(`,"checkin_id":%q`, long)),
	} {
		if err := push(t, db, w); err == nil {
			t.Error("a value that nothing can be found by was taken")
		}
	}
	scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "CODE", Door: "a"}, outcome.Admitted)
	healthy(t, s)
}

// TestNoRevisionIsTheLast pushes the largest generation that a number can say.
func TestNoRevisionIsTheLast(t *testing.T) {
	s := twoChurches(t)
	person := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	db := opens(t, s, kvtest.Login(t, s, "church:1", "*:*"), "church-1")
	w := onTop(t, db, record.Person.DocID(record.Int(person)), `"Ana"`, `"Eva"`)
	w.Path = []rev.ID{{Generation: 1<<64 - 1, Hash: [16]byte{1}}, {Generation: 1<<64 - 2, Hash: [16]byte{1}}}
	if err := push(t, db, w); err == nil {
		t.Error("a revision was taken that none can follow")
	}
	patched(t, s, record.Person, person, `{"full_name":"Bea"}`)
}

// TestARevisionLeavesRoomForThoseThatFollow: of what a laptop brings beside or upon a record, a merge and the next edit go on.
func TestARevisionLeavesRoomForThoseThatFollow(t *testing.T) {
	s := twoChurches(t)
	person := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	db := opens(t, s, enrolled(t, s, "church:1", auth.Venue{}), "church-1")
	for _, generation := range []uint64{rev.MaxGeneration, rev.MaxGeneration - 1, rev.MaxGeneration/2 + 1} {
		for _, id := range []string{record.Person.DocID(record.Int(person)), drawnDoc(record.Person, 1)} {
			w := merge.DocWrite{ID: id, Path: []rev.ID{{Generation: generation, Hash: [16]byte{1}}}, Body: []byte(`{"full_name":"Eva","church_id":1}`)}
			if err := push(t, db, w); kindOf(err) != "forbidden" {
				t.Errorf("%s at generation %d = %v, want forbidden", id, generation, err)
			}
		}
	}
	w := merge.DocWrite{ID: record.Person.DocID(record.Int(person)), Path: []rev.ID{{Generation: rev.MaxGeneration / 2, Hash: [16]byte{1}}}, Body: []byte(`{"full_name":"Eva","church_id":1}`)}
	if err := push(t, db, w); err != nil {
		t.Errorf("the last that is brought = %v", err)
	}
	patched(t, s, record.Person, person, `{"full_name":"Bea"}`)
	healthy(t, s)
}

// TestARecordHasRevisionsOfItsOwn pushes paths that a free database takes, or that hold nothing.
func TestARecordHasRevisionsOfItsOwn(t *testing.T) {
	s := twoChurches(t)
	named := []rev.ID{{Generation: 1, Text: "mine"}}
	for _, test := range []struct {
		name string
		w    merge.DocWrite
		want error
	}{
		{"a revision that is no hash", merge.DocWrite{Path: named}, merge.ErrRevision},
		{"an edit of one", merge.DocWrite{Parent: named[0]}, merge.ErrRevision},
		{"an empty path", merge.DocWrite{Path: []rev.ID{}}, merge.ErrDocument},
	} {
		test.w.ID, test.w.Body = drawnDoc(record.Person, 1), []byte(`{"full_name":"Eva","church_id":1}`)
		if err := push(t, opens(t, s, auth.Operator(), "church-1"), test.w); !errors.Is(err, test.want) {
			t.Errorf("%s = %v, want %v", test.name, err, test.want)
		}
	}
}

// TestARevisionHasAHash: to a row that is merged or edited upon it, a parent of hash zero is none.
func TestARevisionHasAHash(t *testing.T) {
	s := twoChurches(t)
	person := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	db := opens(t, s, enrolled(t, s, "church:1", auth.Venue{}), "church-1")
	for _, path := range [][]rev.ID{{{Generation: 2}}, {{Generation: 3, Hash: [16]byte{1}}, {Generation: 2}}} {
		w := merge.DocWrite{ID: record.Person.DocID(record.Int(person)), Path: path, Body: []byte(`{"full_name":"Eva","church_id":1}`)}
		if err := push(t, db, w); kindOf(err) != "forbidden" {
			t.Errorf("%v = %v, want forbidden", path, err)
		}
	}
	patched(t, s, record.Person, person, `{"full_name":"Bea"}`)
	healthy(t, s)
}

// TestAHoldingHasAnID: the ULID zero stands for no holding, so a name under it would be the name of every ticket without a holder.
func TestAHoldingHasAnID(t *testing.T) {
	s := twoChurches(t)
	for _, code := range []string{"B", "C"} {
		newTicket(t, s, 2, code, `,"order":"ORDER"`)
	}
	ticket := newTicket(t, s, 1, "A", "")
	db := opens(t, s, enrolled(t, s, "church:1", auth.Venue{Names: true}), "event-1-names")
	w := merge.DocWrite{ID: "holder_name:00000000000000000000000000", Path: chain("a"),
		Body: fmt.Appendf(nil, `{"event_id":1,"ticket_id":%d,"full_name":"Forged","phone_tail":"4711"}`, ticket)}
	if err := push(t, db, w); kindOf(err) != "forbidden" {
		t.Errorf("a name of no holding = %v, want forbidden", err)
	}
	d := scanned(t, s, auth.Operator(), door.Attempt{Event: 2, Code: "B"}, outcome.Admitted)
	hits, err := s.Door.Family(auth.Operator(), 2, d.CheckinID)
	if err != nil || len(hits) != 1 || hits[0].PhoneTail != "" {
		t.Errorf("the ticket of another church is shown as %+v, %v", hits, err)
	}
	healthy(t, s)
}

// TestAnErasedPersonIsInNoRefusal pushes somebody who was erased in ways that are refused for other reasons.
func TestAnErasedPersonIsInNoRefusal(t *testing.T) {
	s := twoChurches(t)
	person := kvtest.Create(t, s, record.Person, `{"full_name":"Zacarias","church_id":1}`)
	if _, err := s.Erasures.Erase(auth.Operator(), record.Person, record.Int(person)); err != nil {
		t.Fatal(err)
	}
	db := opens(t, s, kvtest.Login(t, s, "church:1", "*:*"), "church-1")
	for name, w := range map[string]merge.DocWrite{
		"too large":          {Body: []byte(`{"full_name":"Zacarias","more":"` + strings.Repeat("x", 1<<20) + `"}`)},
		"with an attachment": {Body: []byte(`{"full_name":"Zacarias"}`), Attachments: []merge.Attachment{{Name: "a", Type: "b/c"}}},
	} {
		w.ID, w.Path = record.Person.DocID(record.Int(person)), chain("b")
		if err := push(t, db, w); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	if n := pageOf(t, s, record.Refusal).Count; n > 0 {
		t.Errorf("%d refusals keep somebody who was erased", n)
	}
}
