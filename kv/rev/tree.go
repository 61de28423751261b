package rev

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"
)

// MaxPath is the largest number of revisions in a path.
const MaxPath = 1000

// ErrPath is returned for a list of revisions that is no path: newest first, each the parent of the one before.
var ErrPath = errors.New("not a path of revisions")

// Tree is all known revisions of one document, as CouchDB has them. It has several roots if histories are unrelated or were cut
// (Stem), a branch for each change of the same revision, and leaves, of which one is the winner. The zero Tree is empty.
//
// A revision's hash is over deleted, parent and body, so a known revision never changes. A tree is the union of the grafted paths:
// neither their order nor their number makes a difference. Hashes are not verified on receipt: if a path contradicts the tree, the
// tree stands.
//
// Methods that only read may be called at the same time. A copy shares its nodes with the original.
type Tree struct {
	nodes nodes
}

// Node is one revision of a Tree. At, Key, Node and Fields tell of the change that made it. They are zero if only a path named the
// revision.
type Node struct {
	Revision ID
	Parent   ID // zero: this is a first revision, or the earlier ones are not known
	Deleted  bool
	Ended    bool      // deleted to end a losing branch, not to delete the record (Ending)
	Into     int64     // id of the record that a deleted one was merged into; 0 none
	Held     bool      // its body is in the store
	At       int64     // microseconds since 1970
	Key      int64     // id of the author's api key; 0 none
	Node     ulid.ULID // the node that made it; zero: this store
	Fields   []string  // names of the fields that changed
}

// isNews reports whether more is known of the node than its place.
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

// Best returns the winner among some leaves, of which there is at least one, in any order.
func Best(leaves []Node) Node { return slices.MinFunc(leaves, better) }

// Graft adds a path: at most MaxPath revisions, newest first as _revisions gives them, generations descending by one. leaf tells of
// the first revision; its Revision and Parent are not read. The path joins the tree at each revision that the tree has. If there is
// none, the path becomes one more root. isNew reports that the tree did not have the first revision. If the tree had only its name,
// the node takes what leaf tells. Graft returns ErrPath, and changes nothing, if the path is none.
func (t *Tree) Graft(path []ID, leaf Node) (isNew bool, err error) {
	if !isPath(path) {
		return false, ErrPath
	}
	if leaf.Revision = path[0]; len(path) > 1 {
		leaf.Parent = path[1]
	} else {
		leaf.Parent = ID{}
	}
	known := t.nodes.find(path[0])
	fresh := t.link(path)
	switch {
	case known == nil:
		fresh[0] = leaf
	case !known.isNews():
		leaf.Parent = known.Parent
		*known = leaf
	}
	t.nodes = t.nodes.with(fresh)
	return known == nil, nil
}

// link gives a root its parent if the path names one, and returns a node for each revision that the tree does not have.
func (t *Tree) link(path []ID) (fresh []Node) {
	for i, rev := range path {
		var parent ID
		if i+1 < len(path) {
			parent = path[i+1]
		}
		n := t.nodes.find(rev)
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

// Hold notes whether a revision's body is in the store.
func (t *Tree) Hold(rev ID, held bool) {
	if n := t.nodes.find(rev); n != nil {
		n.Held = held
	}
}

// Stem removes the revisions that are more than limit revisions away from every leaf, the leaf counted, and returns them. Leaves and
// winner stay. A limit below 1 is 1.
func (t *Tree) Stem(limit int) (forgotten []ID) {
	if len(t.nodes) <= max(limit, 1) {
		return nil
	}
	near := make([]int, len(t.nodes)) // number of revisions that are kept from this one on; 0: not kept
	inner := t.nodes.inner()
	for leaf := range t.nodes {
		if inner[leaf] {
			continue
		}
		i, known := leaf, true
		for left := max(limit, 1); known && near[i] < left; left-- {
			near[i] = left
			i, known = t.nodes.index(t.nodes[i].Parent)
		}
	}
	kept := make([]Node, 0, len(t.nodes))
	for i, n := range t.nodes {
		if near[i] == 0 {
			forgotten = append(forgotten, n.Revision)
			continue
		}
		if p, known := t.nodes.index(n.Parent); known && near[p] == 0 {
			n.Parent = ID{}
		}
		kept = append(kept, n)
	}
	t.nodes = kept
	return forgotten
}

// Prune removes a leaf and the revisions that lead to no other leaf, down to the first one for which stays is true, and returns them.
// It removes nothing if the revision is no leaf.
func (t *Tree) Prune(leaf ID, stays func(Node) bool) (forgotten []ID) {
	children := map[ID]int{}
	for i := range t.nodes {
		children[t.nodes[i].Parent]++
	}
	for n := t.nodes.find(leaf); n != nil && children[n.Revision] == 0 && !stays(*n); n = t.nodes.find(n.Parent) {
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

// Leaves returns the revisions without a child, the winner first: live before deleted, then the higher generation, then the higher
// hash.
func (t *Tree) Leaves() []Node {
	inner := t.nodes.inner()
	leaves := make([]Node, 0, 1)
	for i, n := range t.nodes {
		if !inner[i] {
			leaves = append(leaves, n)
		}
	}
	slices.SortFunc(leaves, better)
	return leaves
}

// Winner returns the leaf that every replica shows. It is the zero Node if the tree is empty.
func (t *Tree) Winner() Node {
	if len(t.nodes) == 0 {
		return Node{}
	}
	return t.Leaves()[0]
}

// Conflicts returns the live leaves without the winner, the highest first.
func (t *Tree) Conflicts() []Node { return t.losers(false) }

// DeletedConflicts returns the deleted leaves without the winner, the highest first.
func (t *Tree) DeletedConflicts() []Node { return t.losers(true) }

// losers returns the leaves behind the winner that are deleted, or those that are not.
func (t *Tree) losers(deleted bool) []Node {
	if len(t.nodes) < 2 {
		return nil
	}
	return slices.DeleteFunc(t.Leaves()[1:], func(n Node) bool { return n.Deleted != deleted })
}

// Open returns the leaves, the winner first, without those that only end a branch (Ending). If there is more than one, the root has a
// conflict to resolve.
func (t *Tree) Open() []Node {
	return slices.DeleteFunc(t.Leaves(), func(n Node) bool { return n.Ended })
}

// Len returns the number of revisions.
func (t *Tree) Len() int { return len(t.nodes) }

// Nodes returns all revisions, the lowest first. The caller must not write to the list.
func (t *Tree) Nodes() []Node { return t.nodes }

// Has reports whether the tree has a revision.
func (t *Tree) Has(rev ID) bool { return t.nodes.find(rev) != nil }

// Find returns a revision's node. It is the zero Node if the tree has none.
func (t *Tree) Find(rev ID) Node {
	if n := t.nodes.find(rev); n != nil {
		return *n
	}
	return Node{}
}

// Path returns a revision and its known ancestors, newest first, as _revisions lists them. It is nil if the tree does not have the
// revision.
func (t *Tree) Path(rev ID) (path []ID) {
	for n := t.nodes.find(rev); n != nil; n = t.nodes.find(n.Parent) {
		path = append(path, n.Revision)
	}
	return path
}

// Missing answers _revs_diff: it returns the revisions that the tree does not have, each once, in the order asked for. If there are
// any, possibleAncestors are the leaves, deleted ones too, of a lower generation than one of them, the winner first.
func (t *Tree) Missing(revs []ID) (missing, possibleAncestors []ID) {
	seen := make(map[ID]bool, len(revs))
	highest := uint64(0)
	for _, rev := range revs {
		if t.Has(rev) || seen[rev] {
			continue
		}
		seen[rev] = true
		missing = append(missing, rev)
		highest = max(highest, rev.Generation)
	}
	if len(missing) == 0 {
		return nil, nil
	}
	for _, leaf := range t.Leaves() {
		if leaf.Revision.Generation < highest {
			possibleAncestors = append(possibleAncestors, leaf.Revision)
		}
	}
	return missing, possibleAncestors
}

// Ancestor returns the nearest common revision of two: the older one itself if the other follows from it. It is the zero Node if the
// tree knows none.
func (t *Tree) Ancestor(a, b ID) Node {
	x, y := t.nodes.find(a), t.nodes.find(b)
	for x != nil && y != nil && x != y {
		if x.Revision.Generation >= y.Revision.Generation {
			x = t.nodes.find(x.Parent)
		} else {
			y = t.nodes.find(y.Parent)
		}
	}
	if x == nil || y == nil {
		return Node{}
	}
	return *x
}

// Base returns the nearest common revision of two that has its body held. It is the zero Node if there is none.
func (t *Tree) Base(a, b ID) Node {
	n := t.Ancestor(a, b)
	for n.Revision != (ID{}) && !n.Held {
		n = t.Find(n.Parent)
	}
	return n
}

// nodes are a tree's nodes, by generation and then by hash, so that a parent stands before its children.
type nodes []Node

// find returns a revision's node, or nil. The node is good until the nodes change.
func (ns nodes) find(rev ID) *Node {
	if i, ok := ns.index(rev); ok {
		return &ns[i]
	}
	return nil
}

// index returns the place of a revision, or the place that it would have. Most of a tree's time is spent here. It compares in place,
// because nodes are large.
func (ns nodes) index(rev ID) (i int, known bool) {
	i, after := 0, len(ns)
	for i < after {
		middle := int(uint(i+after) >> 1)
		if ns[middle].Revision.Compare(rev) < 0 {
			i = middle + 1
		} else {
			after = middle
		}
	}
	return i, i < len(ns) && ns[i].Revision == rev
}

// with returns the nodes with some more. Mostly it is one more.
func (ns nodes) with(fresh []Node) nodes {
	switch {
	case len(fresh) == 0:
		return ns
	case len(ns) == 0 && len(fresh) == 1:
		return fresh
	case len(fresh) == 1:
		i, _ := ns.index(fresh[0].Revision)
		return slices.Insert(ns, i, fresh[0])
	}
	ns = append(ns, fresh...)
	slices.SortFunc(ns, func(a, b Node) int { return a.Revision.Compare(b.Revision) })
	return ns
}

// inner reports, by place, the revisions that have a child.
func (ns nodes) inner() []bool {
	inner := make([]bool, len(ns))
	for i := range ns {
		if p, known := ns.index(ns[i].Parent); known {
			inner[p] = true
		}
	}
	return inner
}

// ErrTree is returned for bytes that are no tree.
var ErrTree = errors.New("not a revision tree")

// treeFormat is the first byte of every tree.
const treeFormat = 1

// Each bit of a node tells a property, or that more of the node follows, in this order.
const (
	treeDeleted = 1 << iota
	treeEnded
	treeHeld
	treeParent // distance to its parent
	treeAuthor // at, key, node
	treeFields // changed fields
	treeInto   // the record that it was merged into
	treeText   // its hash is a text
	treeBits   = iota
)

// leastNode is the smallest size of a node: bits, generation, length of a hash's text and one byte of it.
const leastNode = 1 + 1 + 1 + 1

// Append appends the tree's stored form. All numbers are uvarints; only at is a varint:
//
//	1                                  format
//	n, n × 16 bytes                    ULIDs of nodes
//	n, n × (length, bytes)             names of fields
//	n, n × node                        by generation, then hash
//
//	node: bits                         deleted 1, ended 2, held 4, has a parent 8, an author 16, fields 32, merged 64, text 128
//	      generation                   beyond that of the node before
//	      hash                         16 bytes, or of one that is a text its length and bytes
//	      [distance]                   how many nodes before this one its parent stands
//	      [at, key, node]              at: beyond the at before; node: 0 = this store, else 1 + its place among the ULIDs
//	      [n, n × field]               places among the names
//	      [id]                         of the record that it was merged into
//
// Equal trees have equal bytes.
func (t *Tree) Append(dst []byte) []byte {
	var tables treeTables
	var last Node
	var room [256]byte
	nodes := room[:0]
	for i := range t.nodes {
		n := &t.nodes[i]
		bits, distance := t.nodes.bits(i)
		nodes = binary.AppendUvarint(append(nodes, bits), n.Revision.Generation-last.Revision.Generation)
		nodes = appendHash(nodes, n.Revision)
		if bits&treeParent != 0 {
			nodes = binary.AppendUvarint(nodes, uint64(distance))
		}
		if bits&treeAuthor != 0 {
			nodes = binary.AppendVarint(nodes, n.At-last.At)
			nodes = binary.AppendUvarint(nodes, uint64(n.Key))
			nodes = binary.AppendUvarint(nodes, tables.node(n.Node))
			last.At = n.At
		}
		if bits&treeFields != 0 {
			nodes = binary.AppendUvarint(nodes, uint64(len(n.Fields)))
			for _, name := range n.Fields {
				nodes = binary.AppendUvarint(nodes, placeIn(&tables.fields, name))
			}
		}
		if bits&treeInto != 0 {
			nodes = binary.AppendUvarint(nodes, uint64(n.Into))
		}
		last.Revision = n.Revision
	}
	dst = tables.append(append(dst, treeFormat))
	return append(binary.AppendUvarint(dst, uint64(len(t.nodes))), nodes...)
}

// bits returns the bits of a node, and how many places before it its parent stands.
func (ns nodes) bits(i int) (bits byte, distance int) {
	n := &ns[i]
	parent, known := ns.index(n.Parent)
	for bit, set := range [treeBits]bool{n.Deleted, n.Ended, n.Held, known,
		n.At != 0 || n.Key != 0 || n.Node != ulid.ULID{}, len(n.Fields) > 0, n.Into != 0, n.Revision.Text != ""} {
		if set {
			bits |= 1 << bit
		}
	}
	return bits, i - parent
}

// appendHash appends a revision's hash as a stored node has it.
func appendHash(dst []byte, rev ID) []byte {
	if rev.Text == "" {
		return append(dst, rev.Hash[:]...)
	}
	return append(binary.AppendUvarint(dst, uint64(len(rev.Text))), rev.Text...)
}

// treeTables are the ULIDs and names that the nodes of a tree share.
type treeTables struct {
	nodes  []ulid.ULID
	fields []string
}

// node returns the place of a node's ULID, from 1 on. This store has 0.
func (s *treeTables) node(id ulid.ULID) uint64 {
	if (id == ulid.ULID{}) {
		return 0
	}
	return placeIn(&s.nodes, id) + 1
}

// placeIn returns the place of a text in a table. A new text is appended.
func placeIn[T comparable](table *[]T, text T) uint64 {
	at := slices.Index(*table, text)
	if at < 0 {
		at = len(*table)
		*table = append(*table, text)
	}
	return uint64(at)
}

func (s *treeTables) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s.nodes)))
	for _, id := range s.nodes {
		dst = append(dst, id[:]...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.fields)))
	for _, name := range s.fields {
		dst = append(binary.AppendUvarint(dst, uint64(len(name))), name...)
	}
	return dst
}

// ParseTree reads what Append wrote. The tree shares nothing with the bytes. For any bytes it returns a tree or ErrTree, and takes
// memory in proportion to their number.
func ParseTree(b []byte) (Tree, error) {
	r := treeReader{Cutter: Cutter{Rest: b}}
	if format := r.Byte(); format != treeFormat {
		return Tree{}, fmt.Errorf("%w: format %d", ErrTree, format)
	}
	r.tables()
	n := r.count(leastNode)
	t := Tree{nodes: slices.Grow([]Node(nil), n)}
	for range n {
		t.nodes = append(t.nodes, r.node(t.nodes))
		if r.Short {
			break
		}
	}
	if r.Short || len(r.Rest) > 0 {
		return Tree{}, fmt.Errorf("%w: %d bytes, wrong at %d", ErrTree, len(b), len(b)-len(r.Rest))
	}
	return t, nil
}

// treeReader reads a tree's bytes.
type treeReader struct {
	Cutter
	at     int64 // At of the last node that has one
	nodes  []ulid.ULID
	fields []string
}

// fail notes that the bytes are wrong: each later read returns zero.
func (r *treeReader) fail() { r.Short, r.Rest = true, nil }

// count reads the number of things that follow, each of at least size bytes.
func (r *treeReader) count(size int) int {
	n := r.Uvarint()
	if n > uint64(len(r.Rest)/size) {
		r.fail()
		return 0
	}
	return int(n)
}

// place reads a place in a table of n.
func (r *treeReader) place(n int) int {
	at := r.Uvarint()
	if at >= uint64(n) {
		r.fail()
		return -1
	}
	return int(at)
}

// tables reads the ULIDs and names that the nodes share.
func (r *treeReader) tables() {
	r.nodes = make([]ulid.ULID, r.count(16))
	for i := range r.nodes {
		copy(r.nodes[i][:], r.Bytes(16))
		if (r.nodes[i] == ulid.ULID{}) {
			r.fail() // this store is in no table
		}
	}
	r.fields = make([]string, r.count(1))
	for i := range r.fields {
		r.fields[i] = r.text()
	}
}

// node reads the node that follows the given ones.
func (r *treeReader) node(before []Node) (n Node) {
	bits := r.Byte()
	n.Deleted, n.Ended, n.Held = bits&treeDeleted != 0, bits&treeEnded != 0, bits&treeHeld != 0
	n.Revision.Generation = r.Uvarint()
	if len(before) > 0 {
		n.Revision.Generation += before[len(before)-1].Revision.Generation
	}
	r.hash(&n.Revision, bits&treeText != 0)
	ascends := len(before) == 0 || n.Revision.Compare(before[len(before)-1].Revision) > 0
	if n.Revision.Generation == 0 || n.Revision.Generation > MaxGeneration || !ascends {
		r.fail()
	}
	if bits&treeParent != 0 {
		n.Parent = r.parent(n.Revision, before)
	}
	if bits&treeAuthor != 0 {
		r.author(&n)
	}
	if bits&treeFields != 0 {
		n.Fields = r.names()
	}
	if bits&treeInto != 0 {
		n.Into = r.into()
	}
	return n
}

// text reads a length and as many bytes.
func (r *treeReader) text() string {
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) { // before it is an int of 32 bits
		r.fail()
		return ""
	}
	return string(r.Bytes(int(n)))
}

// hash reads a revision's hash. It fails for a text that FromHash would store in another form.
func (r *treeReader) hash(rev *ID, isText bool) {
	if !isText {
		copy(rev.Hash[:], r.Bytes(16))
		return
	}
	rev.Text = r.text()
	if again, ok := FromHash(rev.Generation, rev.HashText()); !ok || again != *rev {
		r.fail()
	}
}

// parent reads which of the earlier nodes is a revision's parent.
func (r *treeReader) parent(rev ID, before []Node) ID {
	distance := r.Uvarint()
	if distance == 0 || distance > uint64(len(before)) {
		r.fail()
		return ID{}
	}
	parent := before[uint64(len(before))-distance].Revision
	if parent.Generation+1 != rev.Generation {
		r.fail()
	}
	return parent
}

// author reads At, Key and Node.
func (r *treeReader) author(n *Node) {
	n.At = r.at + r.Varint()
	n.Key = int64(r.Uvarint())
	if at := r.place(len(r.nodes) + 1); at > 0 {
		n.Node = r.nodes[at-1]
	}
	r.at = n.At
}

// names reads Fields.
func (r *treeReader) names() []string {
	names := make([]string, r.count(1))
	if len(names) == 0 {
		r.fail()
	}
	for i := range names {
		if at := r.place(len(r.fields)); at >= 0 {
			names[i] = r.fields[at]
		}
	}
	return names
}

// maxInto is the largest id of a record.
const maxInto = 1<<53 - 1

// into reads Into.
func (r *treeReader) into() int64 {
	n := r.Uvarint()
	if n == 0 || n > maxInto {
		r.fail()
		return 0
	}
	return int64(n)
}
