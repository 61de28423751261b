package kv_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// TestWhatIsRefusedFillsNoDisk: the oldest are kept, the first beyond is said, the others are counted; another key keeps its own.
func TestWhatIsRefusedFillsNoDisk(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	s := kvtest.OpenConfig(t, kv.Config{Clock: clock.Now})
	kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	kv.LimitRefusals(s, 5, 1_000)
	hostile, other := enrolled(t, s, "church:1", auth.Venue{}), enrolled(t, s, "church:1", auth.Venue{})
	serial := int64(0)
	brings := func(p auth.Principal, times int, name string) {
		t.Helper()
		for range times {
			serial++
			w := merge.DocWrite{ID: drawnDoc(record.Person, serial), Path: chain("a"), Body: fmt.Appendf(nil, `{"full_name":%q,"church_id":2}`, name)}
			if err := push(t, opens(t, s, p, "church-1"), w); kindOf(err) != "forbidden" {
				t.Fatalf("push = %v, want forbidden", err)
			}
		}
	}
	for _, c := range []struct {
		name  string
		bring func()
		want  int
	}{
		{"as many as are kept", func() { brings(hostile, 5, "Ana") }, 5},
		{"one more", func() { brings(hostile, 1, "Ana") }, 6},
		{"many more", func() { brings(hostile, 20, "Ana") }, 6},
		{"of another key", func() { brings(other, 1, "Ana") }, 7},
		{"long ones, of which one is kept", func() { brings(other, 4, fmt.Sprintf("%0600d", 1)) }, 9},
		{"a month later", func() { clock.Move(30 * 24 * time.Hour); brings(hostile, 7, "Ana") }, 15},
	} {
		c.bring()
		if n := kv.Rows(t, s, "kind:refusal"); n != c.want {
			t.Errorf("%s: %d refusals are kept, want %d", c.name, n, c.want)
		}
	}
	healthy(t, s)
}

// TestWhoeverIsRefusedIsToldWhetherItIsKept: what is not, may be the only copy.
func TestWhoeverIsRefusedIsToldWhetherItIsKept(t *testing.T) {
	s := kvtest.Open(t)
	kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	kv.LimitRefusals(s, 2, 1_000)
	db := opens(t, s, enrolled(t, s, "church:1", auth.Venue{}), "church-1")
	for i, want := range []bool{true, true, false, false, true} { // the first that is not kept leaves a note; the last is the first again
		w := merge.DocWrite{ID: drawnDoc(record.Person, int64(i%4)), Path: chain("a"), Body: []byte(`{"full_name":"Ana","church_id":2}`)}
		results, err := db.Write([]merge.DocWrite{w})
		if err != nil || kindOf(results[0].Err) != "forbidden" || results[0].Kept != want {
			t.Errorf("write %d = %+v, %v, want it refused and kept: %t", i, results, err, want)
		}
	}
}

// TestNobodyMakesOthersWait: what every decision or push reads is bounded.
func TestNobodyMakesOthersWait(t *testing.T) {
	s := twoChurches(t)
	kv.LimitReads(s, 3)
	p := enrolled(t, s, "church:1", auth.Venue{})
	db := opens(t, s, p, "church-1")
	at := func(id string, gen, n int) merge.DocWrite {
		w := merge.DocWrite{ID: id, Body: []byte(`{"full_name":"Ana","church_id":1}`)}
		for g := gen; g > 0; g-- {
			w.Path = append(w.Path, rev.ID{Generation: uint64(g), Hash: [16]byte{byte(n), byte(min(g, 2))}})
		}
		return w
	}
	if err := kv.SetLeaf(s); err != nil { // who merges ends branches
		t.Fatal(err)
	}
	for _, id := range []string{drawnDoc(record.Person, 1), "psalm:1"} {
		for n := range 3 {
			if err := push(t, db, at(id, 1, n)); err != nil {
				t.Fatalf("leaf %d of %s: %v", n, id, err)
			}
		}
		if err := push(t, db, at(id, 1, 9)); kindOf(err) != "forbidden" {
			t.Errorf("a leaf too many of %s: %v, want forbidden", id, err)
		}
		if err := push(t, db, at(id, 2, 1)); err != nil {
			t.Errorf("a revision upon a leaf of %s: %v", id, err)
		}
	}
	gate := opens(t, s, p, "event-1")
	brings := func(hash string) error {
		body := fmt.Appendf(nil, `{"event_id":1,"code_hash":%q,"node":%q,"list":"","direction":"in",`+
			`"hlc":"0000000000000001","at":"2026-05-01T12:00:00Z"}`, hash, p.Node())
		return push(t, gate, merge.DocWrite{ID: "checkin:" + ulid.Make().String(), Path: chain("a"), Body: body})
	}
	const one, two = "00112233445566778899aabbccddeeff", "ff112233445566778899aabbccddeeff"
	for range 3 {
		if err := brings(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := brings(one); kindOf(err) != "forbidden" {
		t.Errorf("a check-in too many of a code: %v, want forbidden", err)
	}
	if err := brings(two); err != nil {
		t.Errorf("another code's check-in: %v", err)
	}
	for i := range 3 {
		if _, err := db.PutLocal(fmt.Sprint(i), []byte(`{}`), docs.Whatever); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.PutLocal("3", []byte(`{}`), docs.Whatever); kindOf(err) != "forbidden" {
		t.Errorf("a local document too many: %v, want forbidden", err)
	}
	if _, err := db.PutLocal("2", []byte(`{"n":1}`), docs.Whatever); err != nil {
		t.Errorf("one that is there, written again: %v", err)
	}
	if _, err := gate.PutLocal("3", []byte(`{}`), docs.Whatever); err != nil {
		t.Errorf("one in another database: %v", err)
	}
	healthy(t, s)
}

// TestAFreeDocumentsHashesAreBounded: every edit writes a document's whole tree, so long hashes may be few.
func TestAFreeDocumentsHashesAreBounded(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	page := by(s, kvtest.Login(t, s, "denomination", "*:*"), "notes")
	at := func(branch string) (w merge.DocWrite) {
		w.ID = "a"
		for g := range uint64(table.RevsLimit) {
			w.Path = append(w.Path, rev.ID{Generation: table.RevsLimit - g, Text: branch + strings.Repeat("x", rev.MaxHashText-1)})
		}
		return w
	}
	for _, step := range []struct{ branch, kind string }{{"1", "ok"}, {"2", "ok"}, {"3", "forbidden"}, {"2", "ok"}} {
		if err := push(t, page, at(step.branch)); kindOf(err) != step.kind {
			t.Errorf("branch %s: %v, want %s", step.branch, err, step.kind)
		}
	}
	healthy(t, s)
}

// TestAFreeDocumentBranchesNotForEver: what lies upon a leaf is taken, and what is known, and all that the store itself brings.
func TestAFreeDocumentBranchesNotForEver(t *testing.T) {
	s := withNotes(t)
	kv.LimitReads(s, 3)
	at := func(gen uint64, n byte) merge.DocWrite {
		w := merge.DocWrite{ID: "a"}
		for ; gen > 0; gen-- {
			w.Path = append(w.Path, rev.ID{Generation: gen, Hash: [16]byte{n, byte(gen)}})
		}
		return w
	}
	page := by(s, kvtest.Login(t, s, "denomination", "*:*"), "notes")
	for _, step := range []struct {
		what string
		by   *docs.Database
		merge.DocWrite
		kind string
	}{
		{"a first leaf", page, at(1, 1), "ok"}, {"a second", page, at(1, 2), "ok"}, {"a third", page, at(2, 3), "ok"},
		{"one too many", page, at(1, 4), "forbidden"}, {"one too many on a branch", page, at(3, 5), "forbidden"},
		{"one that is known", page, at(1, 2), "ok"}, {"what is no leaf any more", page, at(1, 3), "ok"}, {"one upon a leaf", page, at(2, 1), "ok"},
		{"another document", page, merge.DocWrite{ID: "b", Path: chain("a")}, "ok"}, {"the store's own", of(s), at(1, 6), "ok"},
	} {
		if err := push(t, step.by, step.DocWrite); kindOf(err) != step.kind {
			t.Errorf("%s: %v, want %s", step.what, err, step.kind)
		}
	}
	if doc, err := of(s).Read("a", docs.Ask{Leaves: true}); err != nil || len(doc.Revisions) != 4 {
		t.Errorf("the document has %d leaves, %v, want three and the store's own", len(doc.Revisions), err)
	}
	healthy(t, s)
}

func TestACodeIsNotUndoneForEver(t *testing.T) {
	s := twoChurches(t)
	newTicket(t, s, 1, "CODE", "")
	kv.LimitReads(s, 3)
	var err error
	for n := 0; err == nil && n < 9; n++ {
		d := scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "CODE"}, outcome.Admitted)
		if _, err = s.Door.Undo(auth.Operator(), door.Undoing{Event: 1, CheckinID: d.CheckinID}); err != nil && n != 2 {
			t.Errorf("undone %d times: %v, want two", n, err)
		}
	}
	if kindOf(err) != "forbidden" {
		t.Errorf("the last undo = %v, want forbidden", err)
	}
	scanned(t, s, auth.Operator(), door.Attempt{Event: 1, Code: "CODE"}, outcome.AlreadyAdmitted)
}

// TestAKeyIsGivenSoManyRangesOfIDs: what it is refused takes no ids, and another key has its own.
func TestAKeyIsGivenSoManyRangesOfIDs(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	s := kvtest.OpenConfig(t, kv.Config{Clock: clock.Now})
	kv.LimitLeases(s, 2)
	greedy, other := kvtest.Login(t, s, "denomination", "*:*"), kvtest.Login(t, s, "denomination", "*:*")
	for _, c := range []struct {
		name string
		p    auth.Principal
		from int64 // 0 = forbidden
	}{{"one", greedy, 1}, {"two", greedy, 11}, {"a third", greedy, 0}, {"another key's", other, 21}, {"a month later", greedy, 31}} {
		if c.name == "a month later" {
			clock.Move(30 * 24 * time.Hour)
		}
		l, err := s.Venues.Lease(c.p, record.Person, 10, "")
		if l.From != c.from && c.from != 0 || (c.from == 0) != (kindOf(err) == "forbidden") || c.from != 0 && err != nil {
			t.Errorf("%s = %+v, %v, want a range from %d", c.name, l, err, c.from)
		}
	}
	healthy(t, s)
}
