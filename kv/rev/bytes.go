package rev

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"
)

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
				nodes = binary.AppendUvarint(nodes, tables.field(name))
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

func (s *treeTables) field(name string) uint64 { return placeIn(&s.fields, name) }

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
	if n.Revision.Generation == 0 || !ascends {
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
