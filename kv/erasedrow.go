package kv

import (
	"encoding/binary"
	"slices"

	"doorward/kv/record"
)

// erased is the row of an erased record: kind 1, done 8, n × (kind of the part 1, generation 8, hash 16). Of a ticket, which stays,
// it has the revisions of its parts that are the first without a name: one that took the names away, and one upon each that came
// later from who did not know of that. Whatever stands on one of them was made since. Those of which the kind has its first bit set
// were such, until whoever had the ticket since was erased too. Where the kind of the whole row has that bit the ticket itself is not
// erased: it was passed on before its holder was, and what was made for that one alone goes.
type erased struct {
	kind  *record.Kind
	done  int64 // microseconds since 1970; 0 = not yet
	first map[*record.Kind][]record.Revision
	past  map[*record.Kind][]record.Revision
	kept  bool // the ticket is not erased, for another holder has it
	again bool // whose ticket it was since is erased too: nothing counts as made since. It is not stored
}

func (e *erased) encode() []byte {
	kind := e.kind.Number
	if e.kept {
		kind |= pastBit
	}
	row := binary.BigEndian.AppendUint64([]byte{kind}, uint64(e.done))
	for _, k := range ticketParts {
		for _, rev := range e.first[k] {
			row = appendRevision(append(row, k.Number), rev)
		}
		for _, rev := range e.past[k] {
			row = appendRevision(append(row, k.Number|pastBit), rev)
		}
	}
	return row
}

const pastBit = 0x80

// retire has what stands on the first revisions so far count as made before.
func (e *erased) retire() {
	for _, k := range ticketParts {
		e.past[k] = append(e.past[k], e.first[k]...)
	}
	clear(e.first)
}

// begins has what stands on the oldest revision of a part that was made since a moment count as made since, and nothing else: on the one that
// there is, where all are older.
func (e *erased) begins(k *record.Kind, t *record.Tree, since int64) {
	path := t.Path(t.Winner().Revision)
	first := path[0]
	for _, rev := range path {
		n := t.Find(rev)
		if n.At != 0 && n.At < since {
			break
		}
		if n.At != 0 {
			first = rev
		}
	}
	for _, rev := range e.first[k] {
		if rev != first {
			e.past[k] = append(e.past[k], rev)
		}
	}
	e.first[k] = []record.Revision{first}
}

// learn takes over what the ledger says of first revisions, and tells whether that is more than the row did. A store that was restored
// to a backup knows of fewer erasures.
func (e *erased) learn(l ledgerLine) (more bool) {
	for _, k := range ticketParts {
		for _, rev := range l.past[k] {
			if !slices.Contains(e.past[k], rev) {
				e.past[k], more = append(e.past[k], rev), true
			}
		}
		e.first[k] = slices.DeleteFunc(e.first[k], func(rev record.Revision) bool { return slices.Contains(e.past[k], rev) })
		for _, rev := range l.first[k] {
			if !slices.Contains(e.first[k], rev) && !slices.Contains(e.past[k], rev) {
				e.first[k], more = append(e.first[k], rev), true
			}
		}
	}
	return more
}

// nameless is a path of new revisions without names upon one, newest first: of as many that none counts as past is the first.
func (e *erased) nameless(bare *record.Doc, on record.Revision) (path []record.Revision) {
	for len(path) == 0 || slices.Contains(e.past[bare.Kind], path[0]) {
		on = record.Next(on, false, bare.Canonical())
		path = slices.Insert(path, 0, on)
	}
	return path
}

// standsOn tells whether a part of a ticket, as it is, was made since the names were erased.
func (v *sight) standsOn(e *erased, k *record.Kind, st *stored) (bool, error) {
	t, err := v.tree(k, st)
	return err == nil && e.knows(k, t.Path(st.revision), &t), err
}

// knows tells whether a revision of a part was made since the names were erased. path is newest first, and tree that of the part, which
// may know more of where the path comes from. Where the tree has forgotten so much that the oldest revision that it knows there is
// younger than all that were the first, it was.
func (e *erased) knows(k *record.Kind, path []record.Revision, tree *record.Tree) bool {
	if e.again {
		return false
	}
	first := e.first[k]
	isFirst := func(rev record.Revision) bool { return slices.Contains(first, rev) }
	if len(first) == 0 || slices.ContainsFunc(path, isFirst) {
		return len(first) > 0
	}
	at := slices.IndexFunc(path, tree.Has)
	if at < 0 {
		return false
	}
	known := tree.Path(path[at])
	oldest := known[len(known)-1].Generation
	later := func(rev record.Revision) bool { return rev.Generation >= oldest }
	return slices.ContainsFunc(known, isFirst) || !slices.ContainsFunc(first, later)
}

func newErased(k *record.Kind) *erased {
	return &erased{kind: k, first: map[*record.Kind][]record.Revision{}, past: map[*record.Kind][]record.Revision{}}
}

func parseErased(row []byte) (e *erased, err error) {
	c := cutter{rest: row}
	kind := c.byte()
	k, _ := record.ByNumber(kind &^ pastBit)
	e = newErased(k)
	e.kept = kind&pastBit != 0
	e.done = int64(c.uint64())
	for len(c.rest) > 0 {
		part := c.byte()
		k, _ := record.ByNumber(part &^ pastBit)
		rev := record.Revision{Generation: c.uint64()}
		copy(rev.Hash[:], c.bytes(16))
		if part&pastBit != 0 {
			e.past[k] = append(e.past[k], rev)
		} else {
			e.first[k] = append(e.first[k], rev)
		}
	}
	if c.short || e.kind == nil {
		return nil, ErrCorrupt
	}
	return e, nil
}
