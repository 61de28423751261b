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
	r := treeReader{rest: b}
	if format := r.byte(); format != treeFormat {
		return Tree{}, fmt.Errorf("%w: format %d", ErrTree, format)
	}
	r.tables()
	n := r.count(leastNode)
	t := Tree{nodes: slices.Grow([]Node(nil), n)}
	for range n {
		t.nodes = append(t.nodes, r.node(t.nodes))
		if r.bad {
			break
		}
	}
	if r.bad || len(r.rest) > 0 {
		return Tree{}, fmt.Errorf("%w: %d bytes, wrong at %d", ErrTree, len(b), len(b)-len(r.rest))
	}
	return t, nil
}
