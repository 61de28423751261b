package rev

import (
	"errors"
	"slices"

	"github.com/oklog/ulid/v2"
)

// MaxPath is how many revisions a path may name.
const MaxPath = 1000

// ErrPath is a list of revisions that is not one path, newest first, each the parent of the one before.
var ErrPath = errors.New("not a path of revisions")

// Tree is what is known of all revisions of one record, as CouchDB has it: several roots where histories are unrelated or
// were cut (Stem), branches where replicas changed the same revision, and the leaves, one of which is the winner. The zero
// Tree knows none.
//
// A revision's hash is over deleted, parent and body, so what is known of one never changes. A tree is the union of the paths
// that were grafted: their order, and how often each came, make no difference. Hashes are not verified on receipt: where a
// path contradicts the tree, the tree stands.
//
// The methods that only read may be called at the same time; a copy shares its nodes with the original.
type Tree struct {
	nodes []Node // by generation, then hash: parents before children
}

// Node is one revision of a Tree. At, Key, Node and Fields tell of the change that made it; they are zero where only a path
// named the revision.
type Node struct {
	Revision ID
	Parent   ID // zero: a first revision, or the ones before are not known
	Deleted  bool
	Ended    bool      // deleted to end a losing branch, not to delete the record (Ending)
	Into     int64     // of a deleted one: it was the same thing as this record, which stays (MergedInto); 0: it was not
	Held     bool      // its body is in the store
	At       int64     // microseconds since 1970
	Key      int64     // id of the author's api key; 0 none
	Node     ulid.ULID // where it was made; zero: in this store
	Fields   []string  // names of the fields that changed
}

// isNews tells a node of which more is known than its place.
func (n *Node) isNews() bool {
	return n.Deleted || n.Held || n.At != 0 || n.Key != 0 || n.Node != ulid.ULID{} || len(n.Fields) > 0
}

// better orders leaves, the winner first: live before deleted, then the higher revision.
func better(a, b Node) int {
	switch {
	case a.Deleted == b.Deleted:
		return b.Revision.Compare(a.Revision)
	case a.Deleted:
		return 1
	}
	return -1
}

// Best is the node that wins among some leaves, in whatever order they stand. There is at least one.
func Best(leaves []Node) Node { return slices.MinFunc(leaves, better) }

// Graft adds a path, newest first as _revisions gives it, of at most MaxPath revisions, generations descending by one; leaf
// tells of its first revision (Revision and Parent in it are not read). A path is joined to the tree wherever it names a
// revision that the tree has; otherwise it becomes one more root. isNew tells that the tree did not have the first revision
// before; of one that it knew only by name it learns what leaf tells, Held too. ErrPath changes nothing.
func (t *Tree) Graft(path []ID, leaf Node) (isNew bool, err error) {
	if !isPath(path) {
		return false, ErrPath
	}
	if leaf.Revision = path[0]; len(path) > 1 {
		leaf.Parent = path[1]
	} else {
		leaf.Parent = ID{}
	}
	known := t.find(path[0])
	fresh := t.link(path)
	switch {
	case known == nil:
		fresh[0] = leaf
	case !known.isNews():
		leaf.Parent = known.Parent
		*known = leaf
	}
	t.insert(fresh)
	return known == nil, nil
}

// link gives roots that the path knows a parent of their parent, and answers the revisions that the tree does not have.
func (t *Tree) link(path []ID) (fresh []Node) {
	for i, rev := range path {
		var parent ID
		if i+1 < len(path) {
			parent = path[i+1]
		}
		n := t.find(rev)
		switch {
		case n == nil:
			fresh = append(fresh, Node{Revision: rev, Parent: parent})
		case n.Parent == ID{}:
			n.Parent = parent
		case n.Parent != parent:
			return fresh // the path ends here, or contradicts the tree
		}
	}
	return fresh
}

// insert puts nodes where they belong; mostly it is one.
func (t *Tree) insert(fresh []Node) {
	switch {
	case len(fresh) == 0:
	case len(t.nodes) == 0 && len(fresh) == 1:
		t.nodes = fresh
	case len(fresh) == 1:
		i, _ := t.index(fresh[0].Revision)
		t.nodes = slices.Insert(t.nodes, i, fresh[0])
	default:
		t.nodes = append(t.nodes, fresh...)
		slices.SortFunc(t.nodes, func(a, b Node) int { return a.Revision.Compare(b.Revision) })
	}
}

func isPath(path []ID) bool {
	if len(path) == 0 || len(path) > MaxPath || path[0].Generation > MaxGeneration {
		return false
	}
	for i, rev := range path {
		if rev.Generation == 0 || rev.Generation != path[0].Generation-uint64(i) {
			return false
		}
	}
	return true
}

// find is a revision's node; nil where the tree has none. It is good until the next Graft or Stem.
func (t *Tree) find(rev ID) *Node {
	if i, ok := t.index(rev); ok {
		return &t.nodes[i]
	}
	return nil
}

// index is where a revision stands, or would. Everything asks it: it compares in place, nodes being large.
func (t *Tree) index(rev ID) (i int, known bool) {
	i, after := 0, len(t.nodes)
	for i < after {
		middle := int(uint(i+after) >> 1)
		if t.nodes[middle].Revision.Compare(rev) < 0 {
			i = middle + 1
		} else {
			after = middle
		}
	}
	return i, i < len(t.nodes) && t.nodes[i].Revision == rev
}

// Hold notes that a revision's body is in the store, or no longer.
func (t *Tree) Hold(rev ID, held bool) {
	if n := t.find(rev); n != nil {
		n.Held = held
	}
}

// Stem forgets what is more than limit revisions from every leaf, the leaf counted, and answers the revisions that it forgot.
// Leaves and winner stay what they are. A limit below 1 is 1.
func (t *Tree) Stem(limit int) (forgotten []ID) {
	if len(t.nodes) <= max(limit, 1) {
		return nil
	}
	near := make([]int, len(t.nodes)) // how many revisions are kept from this one on; 0: not kept
	inner := t.inner()
	for leaf := range t.nodes {
		if inner[leaf] {
			continue
		}
		i, known := leaf, true
		for left := max(limit, 1); known && near[i] < left; left-- {
			near[i] = left
			i, known = t.index(t.nodes[i].Parent)
		}
	}
	kept := make([]Node, 0, len(t.nodes))
	for i, n := range t.nodes {
		if near[i] == 0 {
			forgotten = append(forgotten, n.Revision)
			continue
		}
		if p, known := t.index(n.Parent); known && near[p] == 0 {
			n.Parent = ID{}
		}
		kept = append(kept, n)
	}
	t.nodes = kept
	return forgotten
}

// Prune forgets a leaf and what leads to it alone, down to the first revision that stays by itself, and answers the revisions that it
// forgot: none where the revision is no leaf.
func (t *Tree) Prune(leaf ID, stays func(Node) bool) (forgotten []ID) {
	children := map[ID]int{}
	for i := range t.nodes {
		children[t.nodes[i].Parent]++
	}
	for n := t.find(leaf); n != nil && children[n.Revision] == 0 && !stays(*n); n = t.find(n.Parent) {
		forgotten = append(forgotten, n.Revision)
		children[n.Parent]--
	}
	kept := make([]Node, 0, len(t.nodes)) // a copy shares the others
	for _, n := range t.nodes {
		if !slices.Contains(forgotten, n.Revision) {
			kept = append(kept, n)
		}
	}
	t.nodes = kept
	return forgotten
}
