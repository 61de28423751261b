package kv_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// What a newer laptop brings of a kind that this version does not know is relayed to the next one as it came.
func TestUnknownKindsAreRelayed(t *testing.T) {
	c := table.Config{Dir: folder(t)}
	s := reopenable(t, c)
	kvtest.Create(t, s, record.Church, `{"name":"A"}`)
	event := newEvent(t, s, `,"church_id":1`)
	kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	p := enrolled(t, s, "church:1", auth.Venue{})
	db := opens(t, s, p, "church-1")
	for _, w := range []merge.DocWrite{
		{ID: "psalm:0000000000000001", Path: chain("a"), Body: []byte(`{"verse":1.50,"of":{"b":1,"a":[]}}`)},
		{ID: "psalm:0000000000000001", Path: chain("ba"), Body: []byte(`{"verse":2.50}`)},
		{ID: "psalm:0000000000000001", Path: chain("ca"), Body: []byte(`{"verse":3.50}`)},
		{ID: "psalm:0000000000000001", Path: chain("a"), Body: []byte(`{"verse":"again"}`)},
		{ID: "hymn:0000000000000001", Path: chain("a"), Body: []byte(`{}`)},
		{ID: "hymn:0000000000000002", Path: chain("a"), Body: []byte(`{}`)},
		{ID: "hymn:0000000000000002", Path: chain("ba"), Deleted: true},
	} {
		if err := push(t, db, w); err != nil {
			t.Fatalf("push %s: %v", w.ID, err)
		}
	}
	healthy(t, s)
	closed(t, s)
	s = kvtest.OpenConfig(t, c)
	db = opens(t, s, auth.Operator(), "church-1")
	if info, err := db.Info(); err != nil || info.Docs != 4 || info.Deleted != 1 {
		t.Errorf("Info = %+v, %v, want the event, the person, a psalm and a hymn, and one deleted", info, err)
	}
	ids, err := db.List(docs.Range{Limit: 10})
	if want := []string{record.Event.DocID(record.Int(event)), "hymn:0000000000000001", "person:0000000000000001", "psalm:0000000000000001"}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("List = %v, %v, want %v", ids, err, want)
	}
	other := kvtest.Open(t)
	there := opens(t, other, auth.Operator(), "church-1")
	if refused := replicated(t, db, s.Tables.Identity.Node(), there); refused != nil {
		t.Errorf("the next replica refuses %v", refused)
	}
	a, err := db.Read("psalm:0000000000000001", docs.Ask{Leaves: true})
	b, failed := there.Read("psalm:0000000000000001", docs.Ask{Leaves: true})
	if err != nil || failed != nil || len(a.Revisions) != 2 || string(a.Revisions[0].Body) != string(b.Revisions[0].Body) || string(b.Revisions[0].Body) != `{"verse":3.50}` {
		t.Errorf("the psalm is %+v, %v here, and %+v, %v there", a.Revisions, err, b.Revisions, failed)
	}
	healthy(t, s)
	healthy(t, other)
	key := kvtest.Login(t, s, "church:1", "*:*")
	if err := push(t, opens(t, s, key, "church-1"), merge.DocWrite{ID: "psalm:2", Path: chain("a")}); kindOf(err) != "forbidden" {
		t.Errorf("a key pushes an unknown kind: %v", err)
	}
	for name, w := range map[string]merge.DocWrite{
		"an edit":             {Body: []byte(`{}`)},
		"one without a path":  {Path: []rev.ID{}, Body: []byte(`{}`)},
		"one that is large":   {Path: chain("a"), Body: fmt.Appendf(nil, `{"verse":%q}`, strings.Repeat("x", entry.MaxRecordDoc))},
		"one of long numbers": {Path: chain("a"), Body: fmt.Appendf(nil, `{"verse":%s}`, strings.Repeat("1", 65))},
	} {
		w.ID = "psalm:3"
		if err := push(t, opens(t, s, p, "church-1"), w); kindOf(err) != "forbidden" {
			t.Errorf("a laptop pushes %s of an unknown kind: %v, want forbidden", name, err)
		}
	}
}

// Memberships go where their person goes, whichever of them comes first.
func TestMembershipsFollowAPersonThatComes(t *testing.T) {
	s, other := twoChurches(t), twoChurches(t)
	person := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	kvtest.Create(t, s, record.Group, `{"name":"All"}`)
	kvtest.Create(t, s, record.Membership, `{"person":1,"group_id":1}`)
	patched(t, s, record.Person, person, `{"full_name":"Ana Souza"}`) // now the membership stands before its person in the feed
	to := opens(t, other, auth.Operator(), "church-1")
	replicated(t, opens(t, s, auth.Operator(), "church-1"), s.Tables.Identity.Node(), to)
	if n := len(rowsOfKind(t, to, "membership")); n != 1 {
		t.Errorf("%d memberships came, want one", n)
	}
	patched(t, s, record.Person, person, `{"church_id":2}`)
	into := opens(t, other, auth.Operator(), "church-2")
	broughtOver(t, opens(t, s, auth.Operator(), "church-2"), s.Tables.Identity.Node(), into, "person:0000000000000001")
	if n := len(rowsOfKind(t, into, "membership")); n != 1 {
		t.Errorf("%d memberships went along with their person, want one", n)
	}
	if left := rowsOfKind(t, to, "membership"); len(left) != 1 || !left[0].Removed {
		t.Errorf("the church before has %+v, want that the membership has left", left)
	}
	healthy(t, other)
}

// rowsOfKind are a feed's rows of one kind.
func rowsOfKind(t testing.TB, db *docs.Database, kind string) (of []docs.DocChange) {
	t.Helper()
	page, _, err := db.Changes(docs.Feed{Since: 1, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range page {
		if len(c.ID) > len(kind) && c.ID[:len(kind)] == kind {
			of = append(of, c)
		}
	}
	return of
}

// TestAFreeDocumentAndOneOfAnUnknownKindAreOne draws revisions of a document, brings them to a free database and to the database of a
// church, and wants the same of both: tree, winner, bodies, changes, and what is missing.
func TestAFreeDocumentAndOneOfAnUnknownKindAreOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s, err := kv.Open(kv.Config{Dir: t.TempDir()})
		if err != nil {
			r.Fatal(err)
		}
		defer func() { closed(t, s) }()
		kvtest.Create(t, s, record.Church, `{"name":"A"}`)
		newNotes(t, s)
		both := [2]*docs.Database{of(s), opens(t, s, auth.Operator(), "church-1")}
		const id = "psalm:1"
		paths := [][]rev.ID{nil}
		for i := range rapid.IntRange(1, 40).Draw(r, "revisions") {
			from := paths[max(0, len(paths)-1-rapid.IntRange(0, 3).Draw(r, "back"))]
			revision := rev.ID{Generation: uint64(len(from) + 1), Hash: [16]byte{byte(rapid.IntRange(0, 255).Draw(r, "hash")), 1: byte(i + 1)}}
			w := merge.DocWrite{ID: id, Path: append([]rev.ID{revision}, from...), Body: fmt.Appendf(nil, `{"n":%d}`, i)}
			w.Deleted = rapid.IntRange(0, 5).Draw(r, "deleted") == 0
			paths = append(paths, w.Path)
			for _, db := range both {
				if err := push(t, db, w); err != nil {
					r.Fatal(err)
				}
			}
		}
		asked := merge.Revs{ID: id, Revisions: []rev.ID{{Generation: 2, Hash: [16]byte{15: 1}}}}
		for _, path := range paths[1:] {
			asked.Revisions = append(asked.Revisions, path[0])
		}
		if diff := cmp.Diff(seenOf(r, both[0], asked), seenOf(r, both[1], asked)); diff != "" {
			r.Fatalf("the free document is another: %s", diff)
		}
		healthy(t, s)
	})
}

// seenDoc is all that a database tells of a document.
type seenDoc struct {
	Nodes    []rev.Node
	Doc      []docs.DocRevision
	Leaves   []docs.DocRevision
	Missing  docs.MissingRevs
	Rows     []rev.ID
	Changes  []docs.DocRevision
	Branches [][]rev.Node
}

// seenOf reads a document in each way that there is.
func seenOf(r *rapid.T, db *docs.Database, asked merge.Revs) (seen seenDoc) {
	must := func(err error) {
		if err != nil {
			r.Fatal(err)
		}
	}
	doc, err := db.Read(asked.ID, docs.Ask{Revisions: asked.Revisions})
	must(err)
	seen.Nodes, seen.Doc = doc.Tree.Nodes(), doc.Revisions
	doc, err = db.Read(asked.ID, docs.Ask{Leaves: true})
	must(err)
	seen.Leaves = doc.Revisions
	missing, err := db.Missing([]merge.Revs{asked})
	must(err)
	seen.Missing = missing[0]
	rows, err := db.List(docs.Range{From: asked.ID, Limit: 1})
	must(err)
	for _, id := range rows {
		listed, err := db.Read(id, docs.Ask{})
		must(err)
		seen.Rows = append(seen.Rows, listed.Revisions[0].Revision)
	}
	for _, f := range []docs.Feed{{Limit: 9, IDs: []string{asked.ID}}, {Limit: 1, Descending: true}} {
		f.Bodies = true
		page, _, err := db.Changes(f)
		must(err)
		for _, c := range page {
			seen.Changes, seen.Branches = append(seen.Changes, c.Winner), append(seen.Branches, c.Leaves)
		}
	}
	return seen
}
