package record_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/rev/revtest"
	"doorward/kv/value"
)

// bodied is a record of some members; nil of "-".
func bodied(tb testing.TB, k *record.Kind, members string) *record.Doc {
	tb.Helper()
	if members == "-" {
		return nil
	}
	d, err := k.Decode(record.Body{Shown: []byte(members)})
	if err != nil {
		tb.Fatalf("Decode(%s): %v", members, err)
	}
	return d
}

// told writes clashes as a table's row has them.
func told(clashes []record.Clash) string {
	var out []string
	for _, c := range clashes {
		out = append(out, fmt.Sprintf("%s %s %s over %s", c.Rule, c.Field, c.Winner, c.Other))
	}
	return strings.Join(out, "; ")
}

const (
	may, june, july = `"2026-05-01"`, `"2026-06-01"`, `"2026-07-01"`
	early           = `"created_at":"2026-05-01T12:00:00Z"`
	late            = `"created_at":"2026-05-01T12:00:00.5Z"`
)

// What a merge makes of one or two fields is what two roots must agree on. Rows may be added and must never be changed.
func TestGoldenMerges(t *testing.T) {
	person, entry, ticket, membership := record.Person, record.FinancialEntry, record.Ticket, record.Membership
	for _, row := range []struct {
		name                string
		kind                *record.Kind
		base, winner, other string
		want, clashes       string
	}{
		{"pick: the winner changed it", person, `"email":"a"`, `"email":"b"`, `"email":"a"`, `"email":"b"`, ""},
		{"pick: the other changed it", person, `"email":"a"`, `"email":"a"`, `"email":"b"`, `"email":"b"`, ""},
		{"pick: both, to the same", person, `"email":"a"`, `"email":"b"`, `"email":"b"`, `"email":"b"`, ""},
		{"pick: both", person, `"email":"a"`, `"email":"b"`, `"email":"c"`, `"email":"b"`, `pick email "b" over "c"`},
		{"pick: set and cleared", person, `"email":"a"`, `"email":"b"`, `"email":null`, `"email":"b"`, `pick email "b" over null`},
		{"pick: different fields", person, `"email":"a","phone":"1"`, `"email":"b","phone":"1"`, `"email":"a","phone":"2"`, `"email":"b","phone":"2"`, ""},
		{"pick: no base", person, "-", `"email":"a","phone":"1"`, `"email":null,"phone":"1"`, `"email":"a","phone":"1"`, `pick email "a" over null`},
		{"pick: objects are their members", person, `"location":{"a":1,"b":2}`, `"location":{"b":2,"a":1}`, `"location":{"a":1,"b":3}`, `"location":{"a":1,"b":3}`, ""},
		{"pick: lists are one value", person, `"role_ids":[1]`, `"role_ids":[1,2]`, `"role_ids":[1,3]`, `"role_ids":[1,2]`, `pick role_ids [1,2] over [1,3]`},

		{"first: one has it", entry, `"original_due_date":null`, `"original_due_date":null`, `"original_due_date":` + may, `"original_due_date":` + may, ""},
		{"first: the earlier date", entry, `"original_due_date":null`, `"original_due_date":` + july, `"original_due_date":` + june, `"original_due_date":` + june, ""},
		{"first: base is older than all", entry, `"original_due_date":` + july, `"original_due_date":` + june, `"original_due_date":` + may, `"original_due_date":` + july, ""},
		{"first: cleared comes back", entry, `"original_due_date":` + july, `"original_due_date":null`, `"original_due_date":` + july, `"original_due_date":` + july, ""},
		{"first: the earlier moment, fractions too", entry, "-", late, early, early, `first created_at "2026-05-01T12:00:00Z" over "2026-05-01T12:00:00.5Z"`},
		{"first: by whom goes with when", person, "-", late + `,"created_by":1`, early + `,"created_by":2`, early + `,"created_by":2`,
			`first created_at "2026-05-01T12:00:00Z" over "2026-05-01T12:00:00.5Z"; first created_by 2 over 1`},
		{"first: at the same moment, the lower", person, "-", early + `,"created_by":10`, early + `,"created_by":9`, early + `,"created_by":9`, `first created_by 9 over 10`},

		{"strict: paid, and untouched", ticket, `"state":"unpaid"`, `"state":"unpaid"`, `"state":"valid"`, `"state":"valid"`, ""},
		{"strict: cancelled over refunded", ticket, `"state":"valid"`, `"state":"refunded"`, `"state":"cancelled"`, `"state":"cancelled"`, ""},
		{"strict: refunded over blocked", ticket, `"state":"valid"`, `"state":"refunded"`, `"state":"blocked"`, `"state":"refunded"`, ""},
		{"strict: blocked over unpaid", ticket, `"state":"valid"`, `"state":"unpaid"`, `"state":"blocked"`, `"state":"blocked"`, ""},
		{"strict: blocked over a payment, which is told", ticket, `"state":"unpaid"`, `"state":"valid"`, `"state":"blocked"`, `"state":"blocked"`, `strict state "blocked" over "valid"`},
		{"strict: cancelled over a lifted block, which is told", ticket, `"state":"blocked"`, `"state":"cancelled"`, `"state":"unpaid"`, `"state":"cancelled"`, `strict state "cancelled" over "unpaid"`},
		{"strict: no base", ticket, "-", `"state":"valid"`, `"state":"unpaid"`, `"state":"unpaid"`, `strict state "unpaid" over "valid"`},
		{"strict: what a newer version says", ticket, `"state":"valid"`, `"state":"cancelled"`, `"state":"void"`, `"state":"void"`, ""},
		{"strict: null is least", ticket, `"state":"valid"`, `"state":null`, `"state":"unpaid"`, `"state":"unpaid"`, `strict state "unpaid" over null`},

		{"derived: one made a new code", ticket, `"code_hash":"a","label":"x"`, `"code_hash":"a","label":"y"`, `"code_hash":"b","label":"x"`, `"code_hash":"b","label":"y"`, ""},
		{"derived: both, and nobody is asked", ticket, `"code_hash":"a"`, `"code_hash":"b"`, `"code_hash":"c"`, `"code_hash":"b"`, ""},
		{"derived: no secret is listed", record.APIKey, "-", `"secret_hash":"a"`, `"secret_hash":"b"`, `"secret_hash":"a"`, ""},

		{"unknown: merged like pick", person, `"n":1,"o":1`, `"n":2,"o":1`, `"n":1,"o":2`, `"n":2,"o":2`, ""},
		{"unknown: both", person, `"n":1`, `"n":2`, `"n":{"a":3}`, `"n":2`, `pick n 2 over {"a":3}`},
		{"unknown: new on either side", person, ``, `"n":1`, `"o":2`, `"n":1,"o":2`, ""},
		{"unknown: taken away", person, `"n":1,"o":1`, `"n":1`, `"n":1,"o":1`, `"n":1`, ""},
		{"unknown: taken away and changed", person, `"n":1`, ``, `"n":2`, ``, `pick n null over 2`},
		{"unknown: no base", person, "-", ``, `"n":2`, ``, `pick n null over 2`},
		{"unknown: by name, however it is written", person, `"né":1`, `"n\u00e9":1`, `"né":2`, `"n\u00e9":2`, ""},

		{"own rules: no approval, no date of it", membership, `"is_approved":true,"approval_date":"2026-05-01T12:00:00Z",` + early,
			`"is_approved":true,"approval_date":"2026-05-02T12:00:00Z",` + early, `"is_approved":false,"approval_date":null,` + early,
			`"is_approved":false,"approval_date":null,"joined_at":"2026-05-01T12:00:00Z",` + early, `pick approval_date "2026-05-02T12:00:00Z" over null`},
	} {
		merged, clashes := record.Merge(row.kind, bodied(t, row.kind, row.base), bodied(t, row.kind, row.winner), bodied(t, row.kind, row.other))
		want := bodied(t, row.kind, row.want)
		if diff := cmp.Diff(want.Encode(), merged.Encode()); diff != "" {
			t.Errorf("%s: merged differs: %s", row.name, diff)
		}
		if diff := cmp.Diff(row.clashes, told(clashes)); diff != "" {
			t.Errorf("%s: clashes differ: %s", row.name, diff)
		}
	}
}

// What a ticket says of its code, its order and its holding is one side's: of the side that has given it another holding, and never of a
// side without one. The holding that is not taken is over.
func TestATicketIsMergedWithItsHolding(t *testing.T) {
	ulid := func(last string) string { return "01J0000000000000000000000" + last }
	ticket := func(holding, order string, ended ...string) *record.Doc {
		d := record.Ticket.NewDoc()
		if holding != "" {
			d.Set("holding", value.Quote(ulid(holding)))
		}
		for i := range ended {
			ended[i] = ulid(ended[i])
		}
		d.Set("ended", value.Texts(ended...))
		d.Set("order", value.Quote(order))
		return d
	}
	for _, row := range []struct {
		name                string
		base, winner, other *record.Doc
		want                *record.Doc
		clashes             string
	}{
		{"passed on at one side", ticket("A", "x"), ticket("A", "x"), ticket("B", "x", "A"), ticket("B", "x", "A"), ""},
		{"passed on at both", ticket("A", "x"), ticket("B", "x", "A"), ticket("C", "x", "A"), ticket("B", "x", "A", "C"), "holding"},
		{"passed on beside an order", ticket("A", "x"), ticket("A", "y"), ticket("B", "x", "A"), ticket("B", "x", "A"), "order"},
		{"an order alone", ticket("A", "x"), ticket("A", "x"), ticket("A", "y"), ticket("A", "y"), ""},
		{"none loses, though it wins", ticket("", "x"), ticket("", "y"), ticket("B", "x"), ticket("B", "x"), "order"},
		{"none loses to what another side has given", ticket("A", "x"), ticket("", "x"), ticket("B", "x", "A"), ticket("B", "x", "A"), ""},
		{"without a common past", nil, ticket("B", "x"), ticket("C", "x", "A"), ticket("B", "x", "A", "C"), "holding"},
		{"without a common past, none loses", nil, ticket("", "x"), ticket("C", "x"), ticket("C", "x"), ""},
	} {
		merged, clashes := record.Merge(record.Ticket, row.base, row.winner, row.other)
		if diff := cmp.Diff(string(row.want.Canonical()), string(merged.Canonical())); diff != "" {
			t.Errorf("%s: merged differs: %s", row.name, diff)
		}
		var fields []string
		for _, c := range clashes {
			fields = append(fields, c.Field)
		}
		if got := strings.Join(fields, " "); got != row.clashes {
			t.Errorf("%s: clashes about %q, want %q", row.name, got, row.clashes)
		}
	}
}

// A holding that was linked with two people is one side's, by the greater mark, and was linked with both.
func TestAHoldingOfTwoIsOneSides(t *testing.T) {
	holder := func(members string) *record.Doc { return bodied(t, record.Holder, members) }
	base := holder(`"email":"una@x.org","person_id":null,"persons":[],"link":null`)
	lesser := holder(`"email":"una@x.org","person_id":1,"persons":[1],"link":"01J00000000000000000000001"`)
	greater := holder(`"email":"quim@x.org","person_id":2,"persons":[2],"link":"01J00000000000000000000002"`)
	want := holder(`"email":"quim@x.org","person_id":2,"persons":[1,2],"link":"01J00000000000000000000002"`)
	for _, sides := range [][2]*record.Doc{{lesser, greater}, {greater, lesser}} {
		merged, clashes := record.Merge(record.Holder, base, sides[0], sides[1])
		if diff := cmp.Diff(string(want.Canonical()), string(merged.Canonical())); diff != "" {
			t.Errorf("merged differs: %s", diff)
		}
		if len(clashes) != 1 || clashes[0].Field != "person_id" || string(clashes[0].Other) != "1" {
			t.Errorf("clashes = %+v, want the other person", clashes)
		}
	}
}

func TestFieldsHaveTheirRules(t *testing.T) {
	for name, want := range map[string]rev.Rule{"email": rev.Pick, "created_at": rev.First, "created_by": rev.First,
		"updated_at": rev.Derived, "church": rev.Derived, "role_ids": rev.Pick} {
		if f, _ := record.Person.Field(name); f.Rule() != want {
			t.Errorf("%s has the rule %s, want %s", name, f.Rule(), want)
		}
	}
	for name, want := range map[string]rev.Rule{"state": rev.Strict, "code_hash": rev.Derived, "ended": rev.Union} {
		if f, _ := record.Ticket.Field(name); f.Rule() != want {
			t.Errorf("ticket's %s has the rule %s, want %s", name, f.Rule(), want)
		}
	}
}

// conflict is a tree of a group with a name for each leaf, and the bodies by revision. Names are of bodies: "a" is common.
func conflict(t *testing.T, paths ...string) (*rev.Tree, func(rev.ID) (*record.Doc, error)) {
	return revtest.Tree(t, paths...), func(rev rev.ID) (*record.Doc, error) {
		return bodied(t, record.Church, fmt.Sprintf(`"name":"n%x","external_id":%q,%s`, rev.Hash[:1], fmt.Sprint(rev.Generation), early)), nil
	}
}

// The revisions of this table are what every root must compute. Rows may be added and must never be changed.
func TestGoldenResolutions(t *testing.T) {
	for _, row := range []struct {
		name  string
		paths []string
		want  string
	}{
		{"no conflict", []string{"2-b 1-a"}, "none"},
		{"nothing but an ended branch", []string{"2-b 1-a", "2-c 1-a", "x3-d 2-c"}, "none"},
		{"a plain deletion", []string{"!2-b 1-a"}, "none"},
		{"two changes", []string{"1-a", "2-b 1-a", "2-c 1-a"},
			`2-c on 2-c; []; ends 2-b; pick name "nc0" over "nb0"`},
		{"histories that are not related", []string{"1-a", "3-b"},
			`3-b on 3-b; []; ends 1-a; pick name "nb0" over "na0", pick external_id "3" over "1"`},
		{"a longer branch", []string{"1-a", "3-b 2-b 1-a", "2-c 1-a"},
			`3-b on 3-b; []; ends 2-c; pick name "nb0" over "nc0", pick external_id "3" over "2"`},
		{"deleted against changed", []string{"1-a", "!2-b 1-a", "2-c 1-a"},
			` on ; []; ends 2-c 2-b; delete  null over {"created_at":"2026-05-01T12:00:00Z","created_by":null,"external_id":"2","name":"nc0","regional_id":null}`},
		{"deleted twice", []string{"1-a", "!2-b 1-a", "!2-c 1-a"}, ` on ; []; ends 2-c 2-b; `},
		{"written again on an ended branch", []string{"1-a", "2-c 1-a", "!2-b 1-a", "x3-b 2-b 1-a", "x3-c 2-c 1-a", "4-d 3-c"}, "none"},
	} {
		tree, body := conflict(t, row.paths...)
		r, err := record.Resolve(record.Church, tree, body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row.want, outline(r)); diff != "" {
			t.Errorf("%s differs: %s", row.name, diff)
		}
	}
}

// outline writes a resolution as a table's row has it.
func outline(r *record.Resolution) string {
	if r == nil {
		return "none"
	}
	ended := make([]string, len(r.Ended))
	for i, rev := range r.Ended {
		ended[i] = revtest.Short(rev)
	}
	return fmt.Sprintf("%s on %s; %v; ends %s; %s", revtest.Short(r.Revision), revtest.Short(r.Parent), r.Fields, strings.Join(ended, " "),
		strings.ReplaceAll(told(r.Clashes), ";", ","))
}

// threeWay is a person changed at the centre and at two venues, each in a field of its own, and all in one more.
func threeWay(t *testing.T) (*rev.Tree, map[rev.ID]*record.Doc) {
	bodies := map[rev.ID]*record.Doc{}
	for rev, members := range map[string]string{
		"1-a": `"email":"a","phone":"1","rg":"1","cpf":"1","o":1`,
		"2-d": `"email":"b","phone":"1","rg":"1","cpf":"2","o":1`,
		"2-c": `"email":"a","phone":"2","rg":"1","cpf":"3","o":1`,
		"2-b": `"email":"a","phone":"1","rg":"2","cpf":"4","n":1`,
	} {
		bodies[revtest.Revision(t, rev)] = bodied(t, record.Person, members+","+early)
	}
	return revtest.Tree(t, "1-a", "2-d 1-a", "2-c 1-a", "2-b 1-a"), bodies
}

func TestResolveMergesAllLeaves(t *testing.T) {
	tree, bodies := threeWay(t)
	r, err := record.Resolve(record.Person, tree, func(rev rev.ID) (*record.Doc, error) { return bodies[rev], nil })
	if err != nil {
		t.Fatal(err)
	}
	expect(t, r.Doc, map[string]string{"email": `"b"`, "phone": `"2"`, "rg": `"2"`, "cpf": `"2"`, "n": "1"})
	if diff := cmp.Diff([]string{"rg", "phone", "profile_change_date", "n", "o"}, r.Fields); diff != "" {
		t.Errorf("Fields differ: %s", diff)
	}
	want := []string{"cpf 2-c", "cpf 2-b"}
	var got []string
	for _, c := range r.Clashes {
		got = append(got, c.Field+" "+revtest.Short(c.Leaf))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Clashes differ: %s", diff)
	}
	if got := r.Revision.String(); got != goldenThreeWay || r.Revision != rev.Next(revtest.Revision(t, "2-d"), false, r.Doc.Canonical()) {
		t.Errorf("Revision = %s, want %s", got, goldenThreeWay)
	}
	open := tree.Open()
	slices.Reverse(open)
	if got := record.MergedRevision(open, r.Doc); got != r.Revision {
		t.Errorf("MergedRevision of the leaves in another order = %v, want %v", got, r.Revision)
	}
}

const goldenThreeWay = "3-78150303865a267e49dec39e944fb5e5"

func TestResolveGoesBackToABodyThatIsHeld(t *testing.T) {
	_, bodies := threeWay(t)
	older := revtest.Tree(t, "2-a 1-9", "3-d 2-a", "3-c 2-a", "1-9")
	older.Hold(revtest.Revision(t, "2-a"), false)
	for to, from := range map[string]string{"1-9": "1-a", "3-d": "2-d", "3-c": "2-c"} {
		bodies[revtest.Revision(t, to)] = bodies[revtest.Revision(t, from)]
	}
	r, err := record.Resolve(record.Person, older, func(rev rev.ID) (*record.Doc, error) { return bodies[rev], nil })
	if err != nil || told(r.Clashes) != `pick cpf "2" over "3"` {
		t.Errorf("a held ancestor two back: %s, %v", outline(r), err)
	}
}

func TestResolveWithoutABody(t *testing.T) {
	tree, bodies := threeWay(t)
	body := func(rev rev.ID) (*record.Doc, error) { return bodies[rev], nil }
	delete(bodies, revtest.Revision(t, "1-a"))
	r, err := record.Resolve(record.Person, tree, body)
	if err != nil || len(r.Clashes) != 8 {
		t.Errorf("without the ancestor: %v, %v", outline(r), err)
	}
	tree.Hold(revtest.Revision(t, "1-a"), false)
	if r, err = record.Resolve(record.Person, tree, body); err != nil || len(r.Clashes) != 8 {
		t.Errorf("with an ancestor that is not held: %v, %v", outline(r), err)
	}
	delete(bodies, revtest.Revision(t, "2-c"))
	if _, err := record.Resolve(record.Person, tree, body); !errors.Is(err, record.ErrNotHeld) {
		t.Errorf("without a leaf: %v, want %v", err, record.ErrNotHeld)
	}
	tree.Hold(revtest.Revision(t, "1-a"), true)
	broken := errors.New("broken")
	for at := range 4 {
		calls := 0
		_, err := record.Resolve(record.Person, tree, func(rev.ID) (*record.Doc, error) {
			if calls++; calls > at {
				return nil, broken
			}
			return record.Person.NewDoc(), nil
		})
		if !errors.Is(err, broken) {
			t.Errorf("the store fails at body %d: %v", at, err)
		}
	}
}

// CouchDB's clients resolve a conflict by deleting the leaf that they do not want.
func TestWhoDeletesOneBranchAndKeepsAnother(t *testing.T) {
	venue := ulid.MustParse("01HZX3Q0000000000000000000")
	for _, row := range []struct {
		name          string
		deleted, live rev.Node
		path          string // of the deletion
		stays         bool   // deleted
	}{
		{"the same person keeps the other one", rev.Node{Key: 7, Node: venue}, rev.Node{Key: 7, Node: venue}, "3-f 2-b 1-a", false},
		{"another person", rev.Node{Key: 8, Node: venue}, rev.Node{Key: 7, Node: venue}, "3-f 2-b 1-a", true},
		{"another node", rev.Node{Key: 7}, rev.Node{Key: 7, Node: venue}, "3-f 2-b 1-a", true},
		{"nobody known", rev.Node{}, rev.Node{}, "3-f 2-b 1-a", true},
		{"what both had", rev.Node{Key: 7}, rev.Node{Key: 7}, "2-f 1-a", true},
	} {
		tree := revtest.Tree(t, "1-a")
		row.deleted.Deleted = true
		for path, leaf := range map[string]rev.Node{row.path: row.deleted, "2-c 1-a": row.live} {
			if _, err := tree.Graft(revtest.Revisions(t, strings.Fields(path)...), leaf); err != nil {
				t.Fatal(err)
			}
		}
		_, body := conflict(t)
		r, err := record.Resolve(record.Church, tree, body)
		if err != nil || (r.Doc == nil) != row.stays || len(r.Ended) != 1+boolean(row.stays) {
			t.Errorf("%s: %s, %v", row.name, outline(r), err)
		}
	}
}
