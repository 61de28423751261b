package kv

import (
	"encoding/binary"
	"slices"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// erased is the row of an erased record: kind 1, done 8, n × (kind of the part 1, generation 8, hash 16). Of a ticket, which stays,
// it has the revisions of its parts that are the first without a name: one that took the names away, and one upon each that came
// later from who did not know of that. Whatever stands on one of them was made since. Those of which the kind has its first bit set
// were such, until whoever had the ticket since was erased too. Where the kind has its second bit set the revision is what a half is
// on, and since 8, length 1 and the name of one of its fields follow. Where the kind of the whole row has the first bit set the ticket
// itself is not erased: it was passed on before its holder was, and what was made for that one alone goes.
type erased struct {
	kind *record.Kind
	done int64 // microseconds since 1970; 0 = not yet
	firsts
	half  map[*record.Kind]half
	kept  bool // the ticket is not erased, for another holder has it
	again bool // whose ticket it was since is erased too: nothing counts as made since. It is not stored
}

// half is what was emptied of a part of a ticket when somebody was erased who had the ticket once. What stands on the revision that was
// the first since then, and not on the one that has emptied it, knew of the next holder and has what was emptied still.
type half struct {
	on     rev.ID
	since  int64 // when the ticket was passed on, microseconds
	fields []string
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
		for _, field := range e.half[k].fields {
			row = appendRevision(append(row, k.Number|halfBit), e.half[k].on)
			row = binary.BigEndian.AppendUint64(row, uint64(e.half[k].since))
			row = append(append(row, byte(len(field))), field...)
		}
	}
	return row
}

const (
	pastBit = 0x80
	halfBit = 0x40
)

// retire has what stands on the first revisions so far count as made before.
func (e *erased) retire() {
	for _, k := range ticketParts {
		e.past[k] = append(e.past[k], e.first[k]...)
	}
	clear(e.first)
	clear(e.half)
}

// begins has what stands on the oldest revision of a part that was made since a moment count as made since, and nothing else: on the one that
// there is, where all are older. What was the first before stays that where it is later.
func (e *erased) begins(k *record.Kind, t *rev.Tree, since int64) {
	path := t.Path(t.Winner().Revision)
	on, first := path[0], rev.ID{}
	for _, rev := range path {
		n := t.Find(rev)
		if n.At != 0 && n.At < since {
			break
		}
		if n.At != 0 {
			on = rev
		}
		if first.Generation == 0 && slices.Contains(e.first[k], rev) {
			first = rev
		}
	}
	h, half := e.half[k]
	switch {
	case first.Generation == 0 || first == on:
		first = on
		delete(e.half, k)
	case half && h.since < since:
		h.on, h.since = on, since
		e.half[k] = h
	}
	for _, rev := range e.first[k] {
		if rev != first {
			e.past[k] = append(e.past[k], rev)
		}
	}
	e.first[k] = []rev.ID{first}
}

// empties has a revision that has emptied fields of a part be the first one since a moment.
func (e *erased) empties(k *record.Kind, revision rev.ID, since int64, fields []string) {
	h, again := e.half[k]
	if !again {
		h.on = e.first[k][0] // by begins
	}
	h.since, h.fields = max(h.since, since), append(h.fields, fields...)
	e.past[k] = append(e.past[k], e.first[k]...)
	e.first[k], e.half[k] = []rev.ID{revision}, h
}

// nameless is a path of new revisions without names upon one, newest first: of as many that none counts as past is the first.
func (e *erased) nameless(bare *record.Doc, on rev.ID) (path []rev.ID) {
	for len(path) == 0 || slices.Contains(e.past[bare.Kind], path[0]) {
		on = rev.Next(on, false, bare.Canonical())
		path = slices.Insert(path, 0, on)
	}
	return path
}

// standsOn tells whether a part of a ticket, as it is, was made since the names were erased.
func standsOn(v *sight, e *erased, k *record.Kind, st *stored) (bool, error) {
	t, err := loadTree(v, k, st)
	return err == nil && e.knows(k, t.Path(st.revision), &t), err
}

// knows tells whether a revision of a part was made since the names were erased. path is newest first, and tree that of the part, which
// may know more of where the path comes from. Where the tree has forgotten so much that the oldest revision that it knows there is
// younger than all that were the first, it was.
func (e *erased) knows(k *record.Kind, path []rev.ID, tree *rev.Tree) bool {
	return !e.again && standOnOne(e.first[k], path, tree)
}

// knowsHalf tells whether a revision of a part was made since the ticket was passed on, and has what was emptied then.
func (e *erased) knowsHalf(k *record.Kind, path []rev.ID, tree *rev.Tree) bool {
	return !e.again && len(e.half[k].fields) > 0 && !e.knows(k, path, tree) && standOnOne([]rev.ID{e.half[k].on}, path, tree)
}

// standOnOne tells whether a path leads to one of some revisions, as far as is known.
func standOnOne(first, path []rev.ID, tree *rev.Tree) bool {
	isFirst := func(rev rev.ID) bool { return slices.Contains(first, rev) }
	if len(first) == 0 || slices.ContainsFunc(path, isFirst) {
		return len(first) > 0
	}
	at := slices.IndexFunc(path, tree.Has)
	if at < 0 {
		return false
	}
	known := tree.Path(path[at])
	oldest := known[len(known)-1].Generation
	later := func(rev rev.ID) bool { return rev.Generation >= oldest }
	return slices.ContainsFunc(known, isFirst) || !slices.ContainsFunc(first, later)
}

func newErased(k *record.Kind) *erased {
	return &erased{kind: k, firsts: firsts{}.clone(), half: map[*record.Kind]half{}}
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
		k, _ := record.ByNumber(part &^ (pastBit | halfBit))
		rev := rev.ID{Generation: c.uint64()}
		copy(rev.Hash[:], c.bytes(16))
		switch {
		case part&halfBit != 0:
			since := int64(c.uint64())
			e.half[k] = half{rev, since, append(e.half[k].fields, string(c.bytes(int(c.byte()))))}
		case part&pastBit != 0:
			e.past[k] = append(e.past[k], rev)
		default:
			e.first[k] = append(e.first[k], rev)
		}
	}
	if c.short || e.kind == nil {
		return nil, ErrCorrupt
	}
	return e, nil
}
