package rev

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"
)

// ErrTree is bytes that are no tree.
var ErrTree = errors.New("not a revision tree")

// treeFormat is the first byte of every tree.
const treeFormat = 1

// What follows about a node, in the order of the bits.
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

// leastNode is the bytes that the least node takes: bits, generation, and of a hash that is a text its length and a byte.
const leastNode = 1 + 1 + 1 + 1

// Append appends the tree's stored form. All numbers are uvarints, but at, which is a varint:
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
// The same revisions, of which the same is known, have the same bytes.
func (t *Tree) Append(dst []byte) []byte {
	var tables treeTables
	var last Node
	var room [256]byte
	nodes := room[:0]
	for i := range t.nodes {
		n := &t.nodes[i]
		bits, distance := t.bits(i)
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

// bits says what follows about a node, and how far before it its parent stands.
func (t *Tree) bits(i int) (bits byte, distance int) {
	n := &t.nodes[i]
	parent, known := t.index(n.Parent)
	for bit, set := range [treeBits]bool{n.Deleted, n.Ended, n.Held, known,
		n.At != 0 || n.Key != 0 || n.Node != ulid.ULID{}, len(n.Fields) > 0, n.Into != 0, n.Revision.Text != ""} {
		if set {
			bits |= 1 << bit
		}
	}
	return bits, i - parent
}

// appendHash appends a revision's hash as a node has it.
func appendHash(dst []byte, rev ID) []byte {
	if rev.Text == "" {
		return append(dst, rev.Hash[:]...)
	}
	return append(binary.AppendUvarint(dst, uint64(len(rev.Text))), rev.Text...)
}

// treeTables are the texts that a tree's nodes share.
type treeTables struct {
	nodes  []ulid.ULID
	fields []string
}

// node is the place of a node's ULID, from 1 on; 0 for this store.
func (s *treeTables) node(id ulid.ULID) uint64 {
	if (id == ulid.ULID{}) {
		return 0
	}
	return placeIn(&s.nodes, id) + 1
}

func (s *treeTables) field(name string) uint64 { return placeIn(&s.fields, name) }

// placeIn is where a text stands in a table, which is its end where it is new.
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

// ParseTree reads what Append wrote; the tree shares nothing with the bytes. Whatever the bytes are, it answers a tree or
// ErrTree, and takes memory in proportion to their number.
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
