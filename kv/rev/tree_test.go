package rev_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"

	"doorward/kv/rev"
	"doorward/kv/rev/revtest"
)

// The winners of this table are what CouchDB, PouchDB and every version of this program must agree on. Rows may be added and
// must never be changed.
func TestGoldenWinners(t *testing.T) {
	for _, row := range []struct {
		name            string
		paths           []string
		winner          string
		conflicts, dead string
	}{
		{"nothing", nil, "", "", ""},
		{"one revision", []string{"1-a"}, "1-a", "", ""},
		{"a chain", []string{"3-c 2-b 1-a"}, "3-c", "", ""},
		{"a chain that came in pieces, last first", []string{"3-c 2-b", "1-a", "2-b 1-a"}, "3-c", "", ""},
		{"equal generations: the higher hash", []string{"2-b 1-a", "2-c 1-a", "2-a 1-a"}, "2-c", "2-b 2-a", ""},
		{"hashes are bytes, not numbers", []string{"2-9f 1-a", "2-a1 1-a"}, "2-a1", "2-9f", ""},
		{"the longer branch, whatever its hash", []string{"2-f 1-a", "3-1 2-0 1-a"}, "3-1", "2-f", ""},
		{"generations are numbers, not texts", []string{"9-f 8-a", "10-1 9-0 8-a"}, "10-1", "9-f", ""},
		{"a live leaf before a longer deleted one", []string{"2-b 1-a", "!5-f 4-e 3-d 2-c 1-a"}, "2-b", "", "5-f"},
		{"all deleted: the highest", []string{"!2-b 1-a", "!3-1 2-c 1-a"}, "3-1", "", "2-b"},
		{"all deleted, equal generations", []string{"!2-b 1-a", "!2-c 1-a"}, "2-c", "", "2-b"},
		{"deleted and written again", []string{"!2-b 1-a", "3-c 2-b 1-a"}, "3-c", "", ""},
		{"a deleted loser", []string{"3-c 2-b 1-a", "2-d 1-a", "!3-f 2-d 1-a"}, "3-c", "", "3-f"},
		{"an ended loser", []string{"3-c 2-b 1-a", "2-d 1-a", "x3-f 2-d 1-a"}, "3-c", "", "3-f"},
		{"histories that are not related", []string{"1-a", "1-b"}, "1-b", "1-a", ""},
		{"cut histories", []string{"51-a 50-a", "51-b 50-b"}, "51-b", "51-a", ""},
		{"an inner revision is not a leaf again", []string{"3-c 2-b 1-a", "2-b 1-a", "1-a"}, "3-c", "", ""},
		{"a path that contradicts the tree", []string{"3-c 2-b", "3-c 2-f", "4-d 3-c 2-f"}, "4-d", "", ""},
	} {
		tree := revtest.Tree(t, row.paths...)
		got := []string{revtest.Short(tree.Winner().Revision), revtest.Shorts(tree.Conflicts()), revtest.Shorts(tree.DeletedConflicts())}
		if diff := cmp.Diff([]string{row.winner, row.conflicts, row.dead}, got); diff != "" {
			t.Errorf("%s: winner, conflicts and deleted conflicts differ: %s", row.name, diff)
		}
	}
}

type goldenTree struct {
	name string
	tree *rev.Tree
	hex  string
}

// goldenTrees are trees and their bytes. They may be added to; a change of one needs a new format byte.
func goldenTrees(tb testing.TB) []goldenTree {
	one, grown := &rev.Tree{}, revtest.Tree(tb, "x3-cc 2-c 1-a")
	venue, at := ulid.MustParse("01HZX3Q0000000000000000000"), int64(1_777_636_800_123_456)
	for _, g := range []struct {
		tree *rev.Tree
		path []rev.ID
		leaf rev.Node
	}{
		{one, revtest.Revisions(tb, "1-a"), rev.Node{At: at, Key: 7, Held: true}},
		{grown, revtest.Revisions(tb, "2-b", "1-a"), rev.Node{At: at, Key: 300, Node: venue, Held: true, Fields: []string{"email", "née"}}},
		{grown, revtest.Revisions(tb, "300-d", "299-d"), rev.Node{At: at + 1, Node: venue, Deleted: true, Fields: []string{"née"}}},
		{grown, revtest.Revisions(tb, "3-e", "2-b"), rev.Node{At: at - 1, Fields: []string{"phone"}}},
	} {
		if _, err := g.tree.Graft(g.path, g.leaf); err != nil {
			tb.Fatal(err)
		}
	}
	return []goldenTree{
		{"empty", &rev.Tree{}, "01000000"},
		{"one revision", one, goldenOne},
		{"two branches and a root", grown, goldenGrown},
	}
}

const (
	goldenOne   = "01000001" + "1401a0000000000000000000000000000000" + "80c996a08ab0a8060700"
	goldenGrown = "0101" + "018ffa3b800000000000000000000000" + "03" + "05656d61696c" + "046ec3a965" + "0570686f6e65" + "07" +
		"0001a0000000000000000000000000000000" +
		"3c01b0000000000000000000000000000000" + "01" + "80c996a08ab0a806ac0201" + "020001" +
		"0800c0000000000000000000000000000000" + "02" +
		"1f01cc000000000000000000000000000000" + "01" + "fdc896a08ab0a8060000" +
		"3800e0000000000000000000000000000000" + "03" + "fcc896a08ab0a8060000" + "0102" +
		"00a802d0000000000000000000000000000000" +
		"3901d0000000000000000000000000000000" + "01" + "04000101" + "01"
)

func TestGoldenTrees(t *testing.T) {
	for _, row := range goldenTrees(t) {
		b := row.tree.Append(nil)
		if got := hex.EncodeToString(b); got != row.hex {
			t.Errorf("%s: Append = %s, want %s", row.name, got, row.hex)
		}
		back, err := rev.ParseTree(b)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
		if diff := cmp.Diff(row.tree.Nodes(), back.Nodes()); diff != "" {
			t.Errorf("%s differs: %s", row.name, diff)
		}
	}
	if one := goldenTrees(t)[1]; len(one.hex)/2 > 16+24 {
		t.Errorf("a record of one revision has a tree of %d bytes", len(one.hex)/2)
	}
}

func TestParseTreeRefuses(t *testing.T) {
	const rest = "a0000000000000000000000000000000"
	for name, text := range map[string]string{
		"no bytes":                    "",
		"another format":              "02000000",
		"bytes after the end":         "0100000000",
		"more nodes than bytes":       "0100000200" + "01" + rest,
		"bits of a newer version":     "01000001" + "4001" + rest,
		"generation 0":                "01000001" + "0000" + rest,
		"a revision twice":            "01000002" + "0001" + rest + "0000" + rest,
		"a parent that is itself":     "01000001" + "0801" + rest + "00",
		"a parent that is not there":  "01000001" + "0801" + rest + "01",
		"a parent two generations up": "01000002" + "0001" + rest + "0802" + rest + "01",
		"a node without a ULID":       "01000001" + "1001" + rest + "000001",
		"a field without a name":      "01000001" + "2001" + rest + "0100",
		"no fields":                   "0100010161" + "01" + "2001" + rest + "00",
		"this store among the ULIDs":  "0101" + strings.Repeat("00", 16) + "0000",
		"a generation beyond 64 bits": "01000002" + "00ffffffffffffffffff01" + rest + "0001" + rest,
		"an endless number":           "01" + strings.Repeat("ff", 12),
	} {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if tree, err := rev.ParseTree(b); !errors.Is(err, rev.ErrTree) {
			t.Errorf("%s: ParseTree = %v, %v", name, tree.Nodes(), err)
		}
	}
}

func TestGraftRefusesWhatIsNoPath(t *testing.T) {
	long := make([]rev.ID, rev.MaxPath+1)
	for i := range long {
		long[i].Generation = uint64(2*rev.MaxPath - i)
	}
	for name, path := range map[string][]rev.ID{
		"nothing":           nil,
		"no revision":       {{}},
		"oldest first":      revtest.Revisions(t, "1-a", "2-b"),
		"a gap":             revtest.Revisions(t, "3-c", "1-a"),
		"one generation":    revtest.Revisions(t, "2-c", "2-a"),
		"before the first":  append(revtest.Revisions(t, "1-a"), rev.ID{}),
		"around the corner": {{Generation: 1}, {Generation: 0}, {Generation: 1<<64 - 1}},
		"too long":          long,
	} {
		tree := revtest.Tree(t, "1-a")
		if _, err := tree.Graft(path, rev.Node{}); !errors.Is(err, rev.ErrPath) || tree.Len() != 1 {
			t.Errorf("%s: Graft = %v, the tree has %d revisions", name, err, tree.Len())
		}
	}
	if _, err := revtest.Tree(t).Graft(long[1:], rev.Node{}); err != nil {
		t.Errorf("the longest path: %v", err)
	}
}

func TestGraftLearnsOfARevisionOnlyOnce(t *testing.T) {
	tree := revtest.Tree(t)
	for _, g := range []struct {
		path string
		leaf rev.Node
	}{
		{"2-b 1-a", rev.Node{At: 2, Key: 5}},
		{"1-a", rev.Node{At: 1, Held: true}},
		{"2-b 1-a", rev.Node{At: 9, Key: 6, Deleted: true}},
		{"1-a", rev.Node{At: 9, Deleted: true}},
	} {
		if _, err := tree.Graft(revtest.Revisions(t, strings.Fields(g.path)...), g.leaf); err != nil {
			t.Fatal(err)
		}
	}
	want := []rev.Node{{Revision: revtest.Revision(t, "1-a"), At: 1, Held: true},
		{Revision: revtest.Revision(t, "2-b"), Parent: revtest.Revision(t, "1-a"), At: 2, Key: 5}}
	if diff := cmp.Diff(want, tree.Nodes()); diff != "" {
		t.Errorf("the nodes differ: %s", diff)
	}
	tree.Hold(revtest.Revision(t, "1-a"), false)
	tree.Hold(revtest.Revision(t, "9-f"), true)
	if tree.Find(revtest.Revision(t, "1-a")).Held || tree.Len() != 2 {
		t.Error("Hold did not let go")
	}
}

// As CouchDB answers _revs_diff: possible ancestors are leaves, deleted ones too, below the highest missing revision.
func TestPrune(t *testing.T) {
	own := func(rev.Node) bool { return false }
	below := func(generation uint64) func(rev.Node) bool {
		return func(n rev.Node) bool { return n.Revision.Generation <= generation }
	}
	for _, row := range []struct {
		name            string
		paths           []string
		leaf            string
		stays           func(rev.Node) bool
		forgotten, left string
	}{
		{"down to where it branches off", []string{"4-d 3-c 2-b 1-a", "2-f 1-a"}, "4-d", own, "4-d 3-c 2-b", "1-a 2-f"},
		{"down to what stays", []string{"4-d 3-c 2-b 1-a"}, "4-d", below(2), "4-d 3-c", "1-a 2-b"},
		{"all", []string{"2-b 1-a"}, "2-b", own, "2-b 1-a", ""},
		{"no leaf", []string{"3-c 2-b 1-a"}, "2-b", own, "", "1-a 2-b 3-c"},
		{"a leaf that stays", []string{"2-b 1-a", "2-c 1-a"}, "2-b", below(2), "", "1-a 2-b 2-c"},
		{"unknown", []string{"2-b 1-a"}, "2-c", own, "", "1-a 2-b"},
		{"another root", []string{"2-b 1-a", "2-d 1-c"}, "2-d", own, "2-d 1-c", "1-a 2-b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree := revtest.Tree(t, row.paths...)
			copied := *tree
			var forgotten []string
			for _, rev := range tree.Prune(revtest.Revision(t, row.leaf), row.stays) {
				forgotten = append(forgotten, revtest.Short(rev))
			}
			if got := strings.Join(forgotten, " "); got != row.forgotten || revtest.Shorts(tree.Nodes()) != row.left {
				t.Errorf("Prune(%s) = %q and leaves %q, want %q and %q", row.leaf, got, revtest.Shorts(tree.Nodes()), row.forgotten, row.left)
			}
			if want := revtest.Tree(t, row.paths...); revtest.Shorts(copied.Nodes()) != revtest.Shorts(want.Nodes()) {
				t.Errorf("a copy is %q now", revtest.Shorts(copied.Nodes()))
			}
		})
	}
}

func TestMissingNamesPossibleAncestors(t *testing.T) {
	tree := revtest.Tree(t, "4-d 3-c 2-b 1-a", "!3-f 2-b 1-a", "2-e 1-a")
	for _, row := range []struct{ ask, missing, ancestors string }{
		{"", "", ""},
		{"1-a 3-c 4-d 3-f", "", ""},
		{"1-a 5-f 3-c 5-f", "5-f", "4-d 2-e 3-f"},
		{"4-9", "4-9", "2-e 3-f"},
		{"3-9 2-9", "3-9 2-9", "2-e"},
		{"1-f", "1-f", ""},
	} {
		missing, ancestors := tree.Missing(revtest.Revisions(t, strings.Fields(row.ask)...))
		got := [2]string{}
		for i, revs := range [][]rev.ID{missing, ancestors} {
			for _, rev := range revs {
				got[i] = strings.TrimSpace(got[i] + " " + revtest.Short(rev))
			}
		}
		if want := [2]string{row.missing, row.ancestors}; got != want {
			t.Errorf("Missing(%s) = %q, want %q", row.ask, got, want)
		}
	}
	if missing, ancestors := revtest.Tree(t).Missing(revtest.Revisions(t, "2-b")); len(missing) != 1 || ancestors != nil {
		t.Errorf("Missing of an empty tree = %v, %v", missing, ancestors)
	}
}
