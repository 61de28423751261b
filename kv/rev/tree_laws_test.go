package rev_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"doorward/kv/rev"
	"doorward/kv/rev/revtest"
)

func TestTreeIsTheUnionOfItsPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := revtest.AnyHistory().Draw(t, "history")
		deliveries := revtest.AnyDeliveries(history).Draw(t, "deliveries")
		tree := &rev.Tree{}
		for i, d := range deliveries {
			isNew, err := tree.Graft(d.Path, d.Leaf)
			known := slices.ContainsFunc(union(deliveries[:i]), func(n rev.Node) bool { return n.Revision == d.Path[0] })
			if err != nil || isNew == known {
				t.Fatalf("Graft(%v) = %t, %v; known before: %t", d.Path, isNew, err, known)
			}
		}
		if diff := cmp.Diff(union(deliveries), tree.Nodes()); diff != "" {
			t.Errorf("the tree is not the union: %s", diff)
		}
	})
}

func TestGraftCommutesAndIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := revtest.AnyHistory().Draw(t, "history")
		deliveries := revtest.AnyDeliveries(history).Draw(t, "deliveries")
		tree := revtest.Grafted(t, deliveries)
		other := revtest.Grafted(t, rapid.Permutation(append(deliveries, deliveries...)).Draw(t, "order"))
		if !bytes.Equal(tree.Append(nil), other.Append(nil)) {
			t.Errorf("the order makes a difference: %s", cmp.Diff(tree.Nodes(), other.Nodes()))
		}
		if diff := cmp.Diff(tree.Winner(), other.Winner()); diff != "" {
			t.Errorf("the winner differs: %s", diff)
		}
	})
}

func TestWinnerIsTheBestLeaf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := anyTree(t)
		want := leavesOf(tree.Nodes())
		slices.SortFunc(want, func(a, b rev.Node) int { // the rule as it is written: live, generation, hash
			for _, n := range []int{boolean(a.Deleted) - boolean(b.Deleted), b.Revision.Compare(a.Revision)} {
				if n != 0 {
					return n
				}
			}
			return 0
		})
		if diff := cmp.Diff(want, tree.Leaves()); diff != "" {
			t.Fatalf("Leaves differ: %s", diff)
		}
		losers := append(append([]rev.Node{tree.Winner()}, tree.Conflicts()...), tree.DeletedConflicts()...)
		if diff := cmp.Diff(want, losers); diff != "" {
			t.Errorf("winner, conflicts and deleted conflicts differ: %s", diff)
		}
		if open := tree.Open(); slices.ContainsFunc(open, func(n rev.Node) bool { return n.Ended }) {
			t.Errorf("an ended branch is open: %v", open)
		}
	})
}

func TestTreeBytesReadThemselvesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := anyTree(t)
		b := tree.Append([]byte("x"))[1:]
		back, err := rev.ParseTree(b)
		if err != nil {
			t.Fatalf("ParseTree(%x): %v", b, err)
		}
		if diff := cmp.Diff(tree.Nodes(), back.Nodes()); diff != "" {
			t.Errorf("the tree differs: %s", diff)
		}
		for cut := range b {
			if _, err := rev.ParseTree(b[:cut]); err == nil {
				t.Errorf("ParseTree takes %d of %d bytes", cut, len(b))
			}
		}
	})
}

func TestStemKeepsLeavesAndWinner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := anyTree(t)
		limit := rapid.IntRange(-1, 6).Draw(t, "limit")
		before, _ := rev.ParseTree(tree.Append(nil))
		forgotten := tree.Stem(limit)
		limit = max(limit, 1)

		near := map[rev.ID]bool{}
		for _, leaf := range before.Leaves() {
			path := before.Path(leaf.Revision)
			for _, rev := range path[:min(limit, len(path))] {
				near[rev] = true
			}
		}
		for _, n := range before.Nodes() {
			if tree.Has(n.Revision) != near[n.Revision] || slices.Contains(forgotten, n.Revision) == near[n.Revision] {
				t.Errorf("%v: kept %t, forgotten %t, near a leaf %t", n.Revision, tree.Has(n.Revision), slices.Contains(forgotten, n.Revision), near[n.Revision])
			}
			want := n.Parent
			if !near[n.Parent] {
				want = rev.ID{}
			}
			if got := tree.Find(n.Revision).Parent; near[n.Revision] && got != want {
				t.Errorf("%v: parent is %v, want %v", n.Revision, got, want)
			}
		}
		names := func(nodes []rev.Node) (out []string) {
			for _, n := range nodes {
				out = append(out, n.Revision.String())
			}
			return out
		}
		if diff := cmp.Diff(names(before.Leaves()), names(tree.Leaves())); diff != "" {
			t.Errorf("the leaves differ: %s", diff)
		}
		if _, err := rev.ParseTree(tree.Append(nil)); err != nil {
			t.Errorf("a stemmed tree does not read itself back: %v", err)
		}
	})
}

func TestTreeKnowsAncestors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := anyTree(t)
		a := rapid.SampledFrom(tree.Nodes()).Draw(t, "a").Revision
		b := rapid.SampledFrom(tree.Nodes()).Draw(t, "b").Revision
		var nearest, held rev.Node
		for _, rev := range tree.Path(a) {
			n := tree.Find(rev)
			if !slices.Contains(tree.Path(b), rev) {
				continue
			}
			if nearest.Revision.Generation == 0 {
				nearest = n
			}
			if held.Revision.Generation == 0 && n.Held {
				held = n
			}
		}
		for name, pair := range map[string][2]rev.Node{
			"Ancestor": {nearest, tree.Ancestor(a, b)}, "Ancestor, turned": {nearest, tree.Ancestor(b, a)},
			"Base": {held, tree.Base(a, b)}, "Base, turned": {held, tree.Base(b, a)},
		} {
			if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
				t.Errorf("%s(%v, %v) differs: %s", name, a, b, diff)
			}
		}
	})
}

// anyTree draws a tree.
func anyTree(t *rapid.T) *rev.Tree {
	history := revtest.AnyHistory().Draw(t, "history")
	return revtest.Grafted(t, revtest.AnyDeliveries(history).Draw(t, "deliveries"))
}

// union is what a tree of some deliveries must be: sets, without any cleverness.
func union(deliveries []revtest.Delivery) []rev.Node {
	told := map[rev.ID]rev.Node{}
	parents := map[rev.ID]rev.ID{}
	for _, d := range deliveries {
		for i, revision2 := range d.Path {
			if i+1 < len(d.Path) {
				parents[revision2] = d.Path[i+1]
			}
			if _, known := told[revision2]; !known {
				told[revision2] = rev.Node{}
			}
		}
		told[d.Path[0]] = d.Leaf
	}
	var out []rev.Node
	for rev, n := range told {
		n.Revision, n.Parent = rev, parents[rev]
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b rev.Node) int { return a.Revision.Compare(b.Revision) })
	return out
}

// leavesOf returns the nodes that no other node has as its parent.
func leavesOf(nodes []rev.Node) (leaves []rev.Node) {
	for _, n := range nodes {
		if !slices.ContainsFunc(nodes, func(o rev.Node) bool { return o.Parent == n.Revision }) {
			leaves = append(leaves, n)
		}
	}
	return leaves
}
