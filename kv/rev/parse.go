package rev

import (
	"encoding/binary"

	"github.com/oklog/ulid/v2"
)

// treeReader reads a tree's bytes from the left. bad tells that they are wrong: each later read returns zero.
type treeReader struct {
	rest   []byte
	bad    bool
	at     int64 // At of the last node that has one
	nodes  []ulid.ULID
	fields []string
}

// fail notes that the bytes are wrong.
func (r *treeReader) fail() { r.bad, r.rest = true, nil }

func (r *treeReader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *treeReader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *treeReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	return after(r, v, n)
}

func (r *treeReader) varint() int64 {
	v, n := binary.Varint(r.rest)
	return after(r, v, n)
}

// after goes on behind a number of n bytes.
func after[T int64 | uint64](r *treeReader, v T, n int) T {
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// count reads the number of things that follow, each of at least size bytes.
func (r *treeReader) count(size int) int {
	n := r.uvarint()
	if n > uint64(len(r.rest)/size) {
		r.fail()
		return 0
	}
	return int(n)
}

// place reads a place in a table of n.
func (r *treeReader) place(n int) int {
	at := r.uvarint()
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
		copy(r.nodes[i][:], r.bytes(16))
		if (r.nodes[i] == ulid.ULID{}) {
			r.fail() // this store is in no table
		}
	}
	r.fields = make([]string, r.count(1))
	for i := range r.fields {
		r.fields[i] = string(r.bytes(r.uvarint()))
	}
}

// node reads the node that follows the given ones.
func (r *treeReader) node(before []Node) (n Node) {
	bits := r.byte()
	n.Deleted, n.Ended, n.Held = bits&treeDeleted != 0, bits&treeEnded != 0, bits&treeHeld != 0
	n.Revision.Generation = r.uvarint()
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

// hash reads a revision's hash. It fails for a text that FromHash would store in another form.
func (r *treeReader) hash(rev *ID, isText bool) {
	if !isText {
		copy(rev.Hash[:], r.bytes(16))
		return
	}
	rev.Text = string(r.bytes(r.uvarint()))
	if again, ok := FromHash(rev.Generation, rev.HashText()); !ok || again != *rev {
		r.fail()
	}
}

// parent reads which of the earlier nodes is a revision's parent.
func (r *treeReader) parent(rev ID, before []Node) ID {
	distance := r.uvarint()
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
	n.At = r.at + r.varint()
	n.Key = int64(r.uvarint())
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
	n := r.uvarint()
	if n == 0 || n > maxInto {
		r.fail()
		return 0
	}
	return int64(n)
}
