package kv_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// The same list was imported at the centre and, before it heard of that, on the laptop: one ticket stays of each two, whoever comes
// in once by its code came in once, and staff see what one of the lists had and the other had not.
func TestAListImportedOnBothSidesIsOne(t *testing.T) {
	c := newPair(t)
	kv.ShareCodeKey(t, c.centre, c.venue)
	c.p = enrolled(t, c.centre, "church:1", auth.Venue{Node: c.venue.Tables.Node(), Names: true})
	names := []string{"church-1", "event-1", "event-1-names", "event-1-holders"}
	exchange := func() {
		t.Helper()
		for _, name := range names {
			there, here := opens(t, c.centre, c.p, name), opens(t, c.venue, auth.Operator(), name)
			if refused := append(replicated(t, here, c.venue.Tables.Node(), there), replicated(t, there, c.centre.Tables.Node(), here)...); refused != nil {
				t.Errorf("%s: refused %v", name, refused)
			}
		}
	}
	exchange()
	list := func(s *kv.Store, more string) {
		t.Helper()
		var rows []entry.Row
		for i := range 3 {
			rows = append(rows, row(t, record.Ticket, 0, fmt.Sprintf(`{"event_id":1,"code":"CODE-%d","external_id":"x%d","holder_name":"Ana %d"%s}`, i, i, i, more)))
		}
		loaded(t, s, rows...)
	}
	list(c.centre, "")
	list(c.venue, `,"email":"a@example.org"`)
	scanned(t, c.venue, auth.Operator(), door.Attempt{Event: 1, Code: "CODE-0", Door: "north"}, table.Admitted)
	scanned(t, c.venue, auth.Operator(), door.Attempt{Event: 1, Code: "CODE-1", Door: "north"}, table.Admitted)
	scanned(t, c.centre, auth.Operator(), door.Attempt{Event: 1, Code: "CODE-1", Door: "south"}, table.Admitted)
	exchange()
	exchange()
	for _, s := range []*kv.Store{c.centre, c.venue} {
		for k, want := range map[*record.Kind]int{record.Ticket: 3, record.TicketCode: 3, record.HolderName: 6, record.Holder: 6} {
			if n := len(liveIDs(t, s, k)); n != want {
				t.Errorf("%d of %s, want %d: one for each guest, and one that is over", n, k.Name, want)
			}
		}
		scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "CODE-0", Door: "west"}, door.AlreadyAdmitted)
		if st, err := s.Door.Status(auth.Operator(), 1); err != nil || st.Admitted != 2 || st.Doubles != 1 {
			t.Errorf("status = %+v, %v, want two admitted and one double entry", st, err)
		}
		patched(t, s, record.Ticket, 1, `{"type":"Adult"}`)
		healthy(t, s)
	}
	page := pageOf(t, c.centre, record.Conflict)
	if page.Count != 6 { // each ticket, and its e-mail
		t.Errorf("%d conflicts, want 6: %s", page.Count, page.Results)
	}
	if whole := pageOf(t, c.centre, record.Refusal); whole.Count != 0 {
		t.Errorf("refused: %s", whole.Results)
	}
}

// liveIDs are the ids of the live records of a kind.
func liveIDs(t testing.TB, s *kv.Store, k *record.Kind) (ids []int64) {
	t.Helper()
	db := opens(t, s, auth.Operator(), "records")
	page, more, err := db.Changes(docs.Feed{Limit: docs.DocPage})
	if err != nil || more {
		t.Fatalf("changes: %v, more: %t", err, more)
	}
	for _, c := range page {
		of, id, ok := record.ParseDocID(c.ID)
		if ok && of == k && !c.Deleted {
			ids = append(ids, id.Int())
		}
	}
	slices.Sort(ids)
	return ids
}

// A drawnTwin is a ticket, or a membership, of which others may be twins.
type drawnTwin struct {
	id        int64
	code, ext int // 0: none
}

func (a drawnTwin) is(b drawnTwin) bool {
	return a.code == b.code && a.code != 0 || a.ext == b.ext && a.ext != 0
}

func drawnTwins(r *rapid.T) (all []drawnTwin) {
	for i := range rapid.IntRange(2, 7).Draw(r, "twins") {
		all = append(all, drawnTwin{int64(i + 1), rapid.IntRange(0, 4).Draw(r, "code"), rapid.IntRange(0, 4).Draw(r, "ext")})
	}
	return all
}

// merged says in the plainest way what becomes of them: each that shares a key with one of a lower id is merged into the lowest such.
func mergedTwins(all []drawnTwin) map[int64]int64 {
	into := map[int64]int64{}
	for _, a := range all {
		for _, b := range all {
			if b.id < a.id && a.is(b) && (into[a.id] == 0 || b.id < into[a.id]) {
				into[a.id] = b.id
			}
		}
	}
	return into
}

// ticketDocs are the documents of a drawn ticket and its holding.
func (a drawnTwin) ticketDocs() (docs []drawnPart) {
	body, ext := `{"event_id":1`, ""
	if a.ext != 0 {
		ext = fmt.Sprintf(`,"external_id":"x%d"`, a.ext)
	}
	hash := ""
	if a.code != 0 {
		hash = fmt.Sprintf(`,"code_hash":"%032d","normal_hash":"%032d"`, a.code, a.code)
	}
	add := func(db string, k *record.Kind, more string) {
		docs = append(docs, drawnPart{db, merge.DocWrite{ID: drawnDoc(k, a.id), Path: chain(string(rune('a' + a.id))), Body: []byte(body + more + "}")}})
	}
	add("event-1", record.Ticket, hash+ext+fmt.Sprintf(`,"type":"T%d","holding":%q`, a.id, record.Holder.FormatID(idDrawn(record.Holder, a.id))))
	of := fmt.Sprintf(`,"ticket_id":%d`, record.FirstDrawn+a.id)
	add("event-1-names", record.HolderName, of+fmt.Sprintf(`,"full_name":"N%d"`, a.id))
	add("event-1-holders", record.Holder, of)
	add("event-1-holders", record.TicketCode, fmt.Sprintf(`,"code":"C%d"`, a.id))
	return docs
}

// drawnPart is a document of a drawn ticket.
type drawnPart struct {
	db string
	w  merge.DocWrite
}

// TestTwinsBecomeOneInAnyOrder brings drawn tickets, in parts and in any order: what stays, what each other one says, and what staff
// are told of them is what a plain comparison of all with all says.
func TestTwinsBecomeOneInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := twoChurches(t)
		p := enrolled(t, s, "church:1", auth.Venue{})
		twins := drawnTwins(r)
		var parts []drawnPart
		for _, a := range twins {
			parts = append(parts, a.ticketDocs()...)
		}
		for _, a := range rapid.Permutation(parts).Draw(r, "order") {
			if err := push(t, opens(t, s, p, a.db), a.w); err != nil {
				r.Fatalf("push %s: %v", a.w.ID, err)
			}
		}
		into := mergedTwins(twins)
		for _, a := range twins {
			for _, part := range a.ticketDocs() {
				db, w := part.db, part.w
				k, _, _ := record.ParseDocID(w.ID)
				if k.OfHolding() {
					checkDrawnHolding(r, s, a, into)
					continue
				}
				doc, err := opens(t, s, auth.Operator(), db).Read(w.ID, docs.Ask{})
				if err != nil || doc.Deleted != (into[a.id] != 0) {
					r.Fatalf("%s of %+v is deleted: %t, %v, want %t", w.ID, a, doc.Deleted, err, into[a.id] != 0)
				}
				if want := record.Tombstone(k, record.FirstDrawn+into[a.id]); doc.Deleted && string(doc.Revisions[0].Body) != want {
					r.Errorf("the tombstone of %s is %s, want %s", w.ID, doc.Revisions[0].Body, want)
				}
			}
		}
		checkListedTwins(r, s, into)
		if report, err := s.Files.Verify(auth.Operator(), nil); err != nil || report.Damaged > 0 {
			r.Errorf("Verify = %+v, %v", report, err)
		}
	})
}

// checkDrawnHolding wants a holding to be the present one of its ticket or, where that was merged, over at a ticket that stays.
func checkDrawnHolding(r *rapid.T, s *kv.Store, a drawnTwin, into map[int64]int64) {
	r.Helper()
	at := desk.Target{Surface: record.Admin, Kind: record.HolderName, ID: idDrawn(record.HolderName, a.id)}
	name, err := s.Desk.Retrieve(auth.Operator(), at)
	ticket := value.Int([]byte(member(name.JSON, "ticket_id"))) - record.FirstDrawn
	if err != nil || into[ticket] != 0 || into[a.id] == 0 && ticket != a.id {
		r.Errorf("the name of %+v is %s, %v, want it to be of a ticket that stays", a, name.JSON, err)
	}
	db := "event-1-holders"
	if into[a.id] == 0 {
		db = "event-1-names"
	}
	all, err := s.Docs.Database(auth.Operator(), db)
	if err != nil {
		r.Fatalf("%s: %v", db, err)
	}
	if _, err := all.Read(record.HolderName.DocID(at.ID), docs.Ask{}); err != nil {
		r.Errorf("the name of %+v is not in %s: %v", a, db, err)
	}
}

// checkListedTwins wants each merged ticket to be listed once, whole.
func checkListedTwins(r *rapid.T, s *kv.Store, into map[int64]int64) {
	r.Helper()
	listed := map[string]int{}
	for _, line := range conflicts(r, s) {
		if member(line, "field") == `""` {
			listed[member(line, "record_id")]++
		}
	}
	want := map[string]int{}
	for id := range into {
		want[fmt.Sprintf("%q", record.Ticket.FormatID(record.Int(record.FirstDrawn+id)))] = 1
	}
	if !maps.Equal(listed, want) {
		r.Errorf("listed are %v, want %v", listed, want)
	}
}

// conflicts are all records of conflicts.
func conflicts(t rapid.TB, s *kv.Store) (all [][]byte) {
	t.Helper()
	db, err := s.Docs.Database(auth.Operator(), "records")
	if err != nil {
		t.Fatalf("records: %v", err)
	}
	page, _, err := db.Changes(docs.Feed{Limit: docs.DocPage, Bodies: true})
	if err != nil {
		t.Fatalf("changes: %v", err)
	}
	for _, c := range page {
		if k, _, ok := record.ParseDocID(c.ID); ok && k == record.Conflict {
			all = append(all, c.Winner.Body)
		}
	}
	return all
}

// People who were made twice are one, and so are their memberships; tickets go over to the one who stays.
func TestPeopleMadeTwiceAreOne(t *testing.T) {
	c := newPair(t)
	group := kvtest.Create(t, c.centre, record.Group, `{"name":"Choir","church_id":1}`)
	replicated(t, opens(t, c.centre, c.p, "reference"), c.centre.Tables.Node(), opens(t, c.venue, auth.Operator(), "reference"))
	c.sync(t)
	for _, s := range []*kv.Store{c.centre, c.venue} {
		loaded(t, s, row(t, record.Person, 0, `{"full_name":"Ana","church_id":1,"external_id":"p1"}`))
		person := liveIDs(t, s, record.Person)[0]
		loaded(t, s, row(t, record.Membership, 0, fmt.Sprintf(`{"person":%d,"group_id":%d}`, person, group)))
	}
	stays := liveIDs(t, c.centre, record.Person)[0]
	late := liveIDs(t, c.venue, record.Person)[0]
	for range 2 {
		if refused := c.sync(t); refused != nil {
			t.Fatalf("refused: %v", refused)
		}
	}
	for _, s := range []*kv.Store{c.centre, c.venue} {
		if got := liveIDs(t, s, record.Person); !slices.Equal(got, []int64{stays}) {
			t.Errorf("people are %v, want %d alone", got, stays)
		}
		if got := liveIDs(t, s, record.Membership); len(got) != 1 {
			t.Errorf("memberships are %v, want one", got)
		}
		healthy(t, s)
	}
	// what names the merged person comes to name the one who stays
	w := merge.DocWrite{ID: drawnDoc(record.Holder, 1), Path: chain("a"), Body: fmt.Appendf(nil, `{"event_id":1,"ticket_id":1,"person_id":%d,"persons":[%d]}`, late, late)}
	if err := push(t, opens(t, c.centre, c.p, "event-1-holders"), w); err != nil {
		t.Fatal(err)
	}
	body := bodyOf(t, opens(t, c.centre, auth.Operator(), "event-1-holders"), w.ID)
	if got := member([]byte(body[len("2-")+32:]), "person_id"); got != fmt.Sprint(stays) {
		t.Errorf("the ticket is of person %s, want %d", got, stays)
	}
	healthy(t, c.centre)
}

// Nobody but the root says that two are one: what a laptop's tombstone says of it is not kept.
func TestALaptopMergesNothing(t *testing.T) {
	c := newPair(t)
	for i := range 2 {
		kvtest.Create(t, c.centre, record.Person, fmt.Sprintf(`{"full_name":"P%d","church_id":1}`, i))
	}
	doc := record.Person.DocID(record.Int(2))
	db := opens(t, c.centre, c.p, "church-1")
	w := onTop(t, db, doc, `{`, `{`)
	w.Deleted, w.Body = true, []byte(record.Tombstone(record.Person, 1))
	if err := push(t, db, w); err != nil {
		t.Fatal(err)
	}
	if got, err := db.Read(doc, docs.Ask{}); err != nil || !got.Deleted || string(got.Revisions[0].Body) != "{}" {
		t.Errorf("the tombstone is %s, %v, want an empty one", got.Revisions[0].Body, err)
	}
	healthy(t, c.centre)
}
