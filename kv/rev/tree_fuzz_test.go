package rev_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"doorward/kv/rev"
)

// FuzzParseTree holds that whatever bytes are a tree are the tree that their own bytes are, and that its methods come to an end.
func FuzzParseTree(f *testing.F) {
	for _, row := range goldenTrees(f) {
		f.Add(row.tree.Append(nil))
	}
	for _, seed := range []string{"", "\x01", "\x02\x00\x00\x00", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x01\x00\x00\xff\xff\xff\xff\x0f", "\x01\x00\x01\xff\xff\x03",
		"\x01\x00\x00\x02\x80\x01\x01a\x88\x01\x01b\x01", "\x01\x00\x00\x01\x80\x01\x01\x00", "\x01\x00\x00\x01\x80\x01\x00",
		"\x01\x00\x00\x01\x80\xcf\xcf\xcf\xcf\xcf\xcf\xcf0\x010"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, err := rev.ParseTree(b)
		if err != nil {
			return
		}
		again, err := rev.ParseTree(tree.Append(nil))
		if err != nil {
			t.Fatalf("ParseTree of its own bytes: %v", err)
		}
		if diff := cmp.Diff(tree.Nodes(), again.Nodes()); diff != "" {
			t.Errorf("the tree differs: %s", diff)
		}
		winner := tree.Winner().Revision
		for _, n := range tree.Nodes() {
			tree.Base(winner, n.Revision)
			if _, err := tree.Graft(tree.Path(n.Revision), n); err != nil && len(tree.Path(n.Revision)) <= rev.MaxPath {
				t.Errorf("Graft of its own path %v: %v", n.Revision, err)
			}
		}
		if diff := cmp.Diff(again.Nodes(), tree.Nodes()); diff != "" {
			t.Errorf("the tree's own paths changed it: %s", diff)
		}
		if tree.Stem(2); tree.Winner().Revision != winner {
			t.Errorf("Stem changed the winner %v to %v", winner, tree.Winner().Revision)
		}
	})
}

func BenchmarkGraftChild(b *testing.B) {
	tree := rev.Tree{}
	last := rev.ID{}
	for range 50 {
		next := rev.Next(last, false, []byte("{}"))
		if _, err := tree.Graft([]rev.ID{next}, rev.Node{At: 1}); err != nil {
			b.Fatal(err)
		}
		last = next
	}
	row := tree.Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		t, err := rev.ParseTree(row)
		if err != nil {
			b.Fatal(err)
		}
		next := rev.Next(last, false, []byte("{}"))
		_, _ = t.Graft([]rev.ID{next, last}, rev.Node{At: 2})
		t.Stem(50)
		t.Append(nil)
	}
}
