package kv_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"

	"doorward/api"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/value"
)

// TestRaceForTwoTicketsOfOneCode lets many clients bring codes that two tickets each have, as replicas may have written them
// apart from each other: of all clients exactly one is let in by each code.
func TestRaceForTwoTicketsOfOneCode(t *testing.T) {
	const clients, codes = 32, 40
	s := kvtest.Open(t)
	event := newEvent(t, s, "")
	for i := range codes {
		code := fmt.Sprintf("TWIN-%02d", i)
		newTicket(t, s, event, code, "")
		form := kvtest.Parse(t, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":%q}`, event, code), true)
		if _, err := kv.DuplicateTicket(s, form); err != nil {
			t.Fatal(err)
		}
	}
	d := newDoorOver(t, s, event)
	var mu sync.Mutex
	admitted := map[string]int{}
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			for i := range codes {
				code := fmt.Sprintf("TWIN-%02d", i)
				status := d.checkIn([]string{code, strings.ToLower(code)}[(i+n)%2])
				mu.Lock()
				switch status {
				case http.StatusNoContent:
					admitted[code]++
				case http.StatusConflict:
				default:
					t.Errorf("%s = %d", code, status)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for i := range codes {
		if code := fmt.Sprintf("TWIN-%02d", i); admitted[code] != 1 {
			t.Errorf("%s was admitted %d times, want once", code, admitted[code])
		}
	}
	if n := pageOf(t, s, record.Checkin).Count; n != codes {
		t.Errorf("%d admissions, want %d", n, codes)
	}
	healthy(t, s)
}

// overHTTP is a door that asks over HTTP.
type overHTTP struct {
	testing.TB
	url         string
	key, secret string
	client      *http.Client
}

func newDoorOver(t testing.TB, s *kv.Store, event int64) *overHTTP {
	t.Helper()
	server, err := api.New(api.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(server.Handler())
	t.Cleanup(srv.Close)
	d := &overHTTP{TB: t, url: fmt.Sprintf("%s/v1/event/%d/checkin/", srv.URL, event),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
	t.Cleanup(d.client.CloseIdleConnections)
	d.key, d.secret = kvtest.Key(t, s, fmt.Sprintf("event:%d", event), "checkin:*")
	return d
}

// checkIn answers the status; 0 where no answer came.
func (d *overHTTP) checkIn(code string) int {
	r, err := http.NewRequest("POST", d.url, strings.NewReader(fmt.Sprintf(`{"code":%q}`, code)))
	if err != nil {
		d.Error(err)
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth(d.key, d.secret)
	resp, err := d.client.Do(r)
	if err != nil {
		d.Error(err)
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		d.Error(err)
	}
	return resp.StatusCode
}

// A cancelled ticket stays cancelled for whoever came in by the duplicate that was merged with it.
func TestACheckInFollowsAMergedTicket(t *testing.T) {
	s := twoChurches(t)
	kv1 := drawnDuplicate{id: 1, code: 1}
	p := enrolled(t, s, "church:1", auth.Venue{})
	db := opens(t, s, p, "event-1")
	second := drawnDuplicate{id: 2, code: 1}
	for _, w := range []merge.DocWrite{second.ticketDocs()[0].w, kv1.ticketDocs()[0].w} {
		if err := push(t, db, w); err != nil {
			t.Fatal(err)
		}
	}
	f := drawnFact{kind: record.Checkin, id: record.FromULID(ulid.Make()), ticket: int(record.FirstDrawn + 2), code: 1, direction: "in", hlc: 5}
	f.put(t, s, 1)
	if got := toldBy(t, s, 1); got.Admitted != 1 || len(got.Doubles) != 0 {
		t.Errorf("the event is %+v, want one admitted", got)
	}
	patched(t, s, record.Ticket, record.FirstDrawn+1, `{"state":"cancelled"}`)
	if got := toldBy(t, s, 1); len(got.Doubles) != 1 {
		t.Errorf("double entries are %v, want the admission by the merged ticket", got.Doubles)
	}
	healthy(t, s)
}

// The same list was imported at the centre and, before it heard of that, on the laptop: one ticket stays of each two, whoever comes
// in once by its code came in once, and staff see what one of the lists had and the other had not.
func TestAListImportedOnBothSidesIsOne(t *testing.T) {
	c := newPair(t)
	kv.ShareCodeKey(t, c.centre, c.venue)
	c.p = enrolled(t, c.centre, "church:1", auth.Venue{Node: c.venue.Tables.Identity.Node(), Names: true})
	names := []string{"church-1", "event-1", "event-1-names", "event-1-holders"}
	exchange := func() {
		t.Helper()
		for _, name := range names {
			there, here := opens(t, c.centre, c.p, name), opens(t, c.venue, auth.Operator(), name)
			if refused := append(replicated(t, here, c.venue.Tables.Identity.Node(), there), replicated(t, there, c.centre.Tables.Identity.Node(), here)...); refused != nil {
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
	scanned(t, c.venue, auth.Operator(), door.Attempt{Event: 1, Code: "CODE-0", Door: "north"}, outcome.Admitted)
	scanned(t, c.venue, auth.Operator(), door.Attempt{Event: 1, Code: "CODE-1", Door: "north"}, outcome.Admitted)
	scanned(t, c.centre, auth.Operator(), door.Attempt{Event: 1, Code: "CODE-1", Door: "south"}, outcome.Admitted)
	exchange()
	exchange()
	for _, s := range []*kv.Store{c.centre, c.venue} {
		for k, want := range map[*record.Kind]int{record.Ticket: 3, record.TicketCode: 3, record.HolderName: 6, record.Holder: 6} {
			if n := len(liveIDs(t, s, k)); n != want {
				t.Errorf("%d of %s, want %d: one for each guest, and one that is over", n, k.Name, want)
			}
		}
		scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "CODE-0", Door: "west"}, outcome.AlreadyAdmitted)
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
	for _, name := range []string{"event-1-holders", "event-1-names", "event-1"} {
		released(t, c.venue, name)
		healthy(t, c.venue)
	}
	if n := kv.Rows(t, c.venue, "twin"); n != 0 {
		t.Errorf("%d rows lead to merged records that the laptop has handed over", n)
	}
}

// A ticket that two lists gave with different states is as strict as the stricter one, wherever that one came from: a guest that one side has
// refunded does not come in by the older list of the other side. Staff see the other state.
func TestATicketMadeTwiceHasTheStricterState(t *testing.T) {
	for _, states := range [][2]string{{"valid", "unpaid"}, {"unpaid", "valid"}, {"refunded", "valid"}, {"valid", "cancelled"}, {"unpaid", "blocked"}} {
		t.Run(states[0]+" and "+states[1], func(t *testing.T) {
			c := newPair(t)
			kv.ShareCodeKey(t, c.centre, c.venue)
			c.p = enrolled(t, c.centre, "church:1", auth.Venue{Node: c.venue.Tables.Identity.Node(), Names: true})
			exchange := func() {
				t.Helper()
				for _, name := range []string{"church-1", "event-1", "event-1-names", "event-1-holders"} {
					there, here := opens(t, c.centre, c.p, name), opens(t, c.venue, auth.Operator(), name)
					if refused := append(replicated(t, here, c.venue.Tables.Identity.Node(), there), replicated(t, there, c.centre.Tables.Identity.Node(), here)...); refused != nil {
						t.Errorf("%s: refused %v", name, refused)
					}
				}
			}
			exchange()
			for i, s := range []*kv.Store{c.centre, c.venue} {
				loaded(t, s, row(t, record.Ticket, 0, fmt.Sprintf(`{"event_id":1,"code":"CODE-1","holder_name":"Ana","state":%q}`, states[i])))
				if states[i] == "valid" {
					scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "CODE-1", Door: "north"}, outcome.Admitted)
				}
			}
			exchange()
			exchange()
			strict, loose := states[0], states[1]
			if slices.Index(ranked, loose) > slices.Index(ranked, strict) {
				strict, loose = loose, strict
			}
			for _, s := range []*kv.Store{c.centre, c.venue} {
				scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "CODE-1", Door: "west"}, outcome.Outcome(strict))
				healthy(t, s)
			}
			if st, err := c.centre.Door.Status(auth.Operator(), 1); err != nil || strict == "cancelled" && st.Doubles != 1 {
				t.Errorf("status = %+v, %v, want who came in on a cancelled ticket to be listed", st, err)
			}
			var listed []string
			for _, line := range conflicts(t, c.centre) {
				if member(line, "field") == `"state"` {
					listed = append(listed, member(line, "winner")+" over "+member(line, "other")+" of "+member(line, "node"))
				}
			}
			writer := c.centre
			if loose == states[1] {
				writer = c.venue
			}
			if want := []string{fmt.Sprintf("%q over %q of %q", strict, loose, writer.Tables.Identity.Node())}; !slices.Equal(listed, want) {
				t.Errorf("listed are %v, want %v", listed, want)
			}
		})
	}
}

// A laptop that has not heard that its ticket was merged changes the ticket's state. The ticket that stays becomes as strict, wherever the edit
// makes it stricter. An edit of another field does not bring back a state that staff have loosened since.
func TestAnEditOfAMergedTicketTightensTheOneThatStays(t *testing.T) {
	for _, test := range []struct{ name, made, edit, loosen, want string }{
		{"a refund", "valid", `{"state":"refunded"}`, "", "refunded"},
		{"a payment", "unpaid", `{"state":"valid"}`, "", "unpaid"},
		{"a type", "unpaid", `{"type":"Adult"}`, `{"state":"valid"}`, "admitted"},
		{"a stricter state", "unpaid", `{"state":"blocked"}`, `{"state":"valid"}`, "blocked"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newPair(t)
			kv.ShareCodeKey(t, c.centre, c.venue)
			c.p = enrolled(t, c.centre, "church:1", auth.Venue{Node: c.venue.Tables.Identity.Node(), Names: true})
			push := func(from, to *kv.Store, reader, writer auth.Principal) {
				t.Helper()
				for _, name := range []string{"church-1", "event-1", "event-1-names", "event-1-holders"} {
					if refused := replicated(t, opens(t, from, reader, name), from.Tables.Identity.Node(), opens(t, to, writer, name)); refused != nil {
						t.Errorf("%s: refused %v", name, refused)
					}
				}
			}
			up := func() { push(c.venue, c.centre, auth.Operator(), c.p) }
			down := func() { push(c.centre, c.venue, c.p, auth.Operator()) }
			down()
			for _, s := range []*kv.Store{c.centre, c.venue} {
				loaded(t, s, row(t, record.Ticket, 0, fmt.Sprintf(`{"event_id":1,"code":"CODE-1","holder_name":"Ana","state":%q}`, test.made)))
			}
			made := liveIDs(t, c.venue, record.Ticket)[0]
			up() // the centre merges; the laptop does not hear of it
			stays := liveIDs(t, c.centre, record.Ticket)
			if len(stays) != 1 || stays[0] == made {
				t.Fatalf("the centre has tickets %v; that of the laptop is %d", stays, made)
			}
			if test.loosen != "" {
				patched(t, c.centre, record.Ticket, stays[0], test.loosen)
			}
			patched(t, c.venue, record.Ticket, made, test.edit)
			up()
			down()
			for _, s := range []*kv.Store{c.centre, c.venue} {
				scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "CODE-1", Door: "west"}, outcome.Outcome(test.want))
				healthy(t, s)
			}
		})
	}
}

// An event's laptop may not change a ticket that the centre has changed. Its edit of a ticket that was merged is refused and kept for staff.
func TestAnEventLaptopsEditOfAMergedTicketIsRefused(t *testing.T) {
	c := newPair(t)
	kv.ShareCodeKey(t, c.centre, c.venue)
	c.p = enrolled(t, c.centre, "event:1", auth.Venue{Node: c.venue.Tables.Identity.Node(), Names: true})
	up := func() (refused []string) {
		t.Helper()
		for _, name := range []string{"event-1", "event-1-names", "event-1-holders"} {
			refused = append(refused, replicated(t, opens(t, c.venue, auth.Operator(), name), c.venue.Tables.Identity.Node(), opens(t, c.centre, c.p, name))...)
		}
		return refused
	}
	replicated(t, opens(t, c.centre, c.p, "event-1"), c.centre.Tables.Identity.Node(), opens(t, c.venue, auth.Operator(), "event-1"))
	for _, s := range []*kv.Store{c.centre, c.venue} {
		loaded(t, s, row(t, record.Ticket, 0, `{"event_id":1,"code":"CODE-1","holder_name":"Ana"}`))
	}
	made := liveIDs(t, c.venue, record.Ticket)[0]
	if refused := up(); refused != nil {
		t.Fatalf("the sale is refused: %v", refused)
	}
	patched(t, c.venue, record.Ticket, made, `{"state":"refunded"}`)
	if refused := up(); len(refused) != 1 || !strings.Contains(refused[0], "somebody else has changed the ticket") {
		t.Errorf("refused = %v, want the refund", refused)
	}
	healthy(t, c.centre)
}

// ranked are the states of a ticket, the strictest last.
var ranked = []string{"valid", "unpaid", "blocked", "refunded", "cancelled"}

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

// A drawnDuplicate is a ticket, or a membership, of which others may be duplicates.
type drawnDuplicate struct {
	id        int64
	code, ext int // 0: none
}

func (a drawnDuplicate) is(b drawnDuplicate) bool {
	return a.code == b.code && a.code != 0 || a.ext == b.ext && a.ext != 0
}

func drawnDuplicates(r *rapid.T) (all []drawnDuplicate) {
	for i := range rapid.IntRange(2, 7).Draw(r, "duplicates") {
		all = append(all, drawnDuplicate{int64(i + 1), rapid.IntRange(0, 4).Draw(r, "code"), rapid.IntRange(0, 4).Draw(r, "ext")})
	}
	return all
}

// mergedDuplicates says in the plainest way what becomes of them: each that shares a key with one of a lower id is merged into the lowest such.
func mergedDuplicates(all []drawnDuplicate) map[int64]int64 {
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
func (a drawnDuplicate) ticketDocs() (docs []drawnPart) {
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

// TestDuplicatesBecomeOneInAnyOrder brings drawn tickets, in parts and in any order: what stays, what each other one says, and what staff
// are told of them is what a plain comparison of all with all says.
func TestDuplicatesBecomeOneInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := twoChurches(t)
		p := enrolled(t, s, "church:1", auth.Venue{})
		duplicates := drawnDuplicates(r)
		var parts []drawnPart
		for _, a := range duplicates {
			parts = append(parts, a.ticketDocs()...)
		}
		for _, a := range rapid.Permutation(parts).Draw(r, "order") {
			if err := push(t, opens(t, s, p, a.db), a.w); err != nil {
				r.Fatalf("push %s: %v", a.w.ID, err)
			}
		}
		into := mergedDuplicates(duplicates)
		for _, a := range duplicates {
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
		checkListedDuplicates(r, s, into)
		if report, err := s.Files.Verify(auth.Operator(), nil); err != nil || report.Damaged > 0 {
			r.Errorf("Verify = %+v, %v", report, err)
		}
	})
}

// checkDrawnHolding wants a holding to be the present one of its ticket or, where that was merged, over at a ticket that stays.
func checkDrawnHolding(r *rapid.T, s *kv.Store, a drawnDuplicate, into map[int64]int64) {
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

// checkListedDuplicates wants each merged ticket to be listed once, whole.
func checkListedDuplicates(r *rapid.T, s *kv.Store, into map[int64]int64) {
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
	replicated(t, opens(t, c.centre, c.p, "reference"), c.centre.Tables.Identity.Node(), opens(t, c.venue, auth.Operator(), "reference"))
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
