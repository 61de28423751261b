package table

import (
	"encoding/binary"
	"slices"

	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// Erased is the row of an erased record: kind 1, done 8, n × (kind of the part 1, generation 8, hash 16). Of a ticket, which stays,
// it has the revisions of its parts that are the first without a name: one that took the names away, and one upon each that came
// later from who did not know of that. Whatever stands on one of them was made since. Those of which the kind has its first bit set
// were such, until whoever had the ticket since was erased too. Where the kind has its second bit set the revision is what a half is
// on, and since 8, length 1 and the name of one of its fields follow. Where the kind of the whole row has the first bit set the ticket
// itself is not erased: it was passed on before its holder was, and what was made for that one alone goes.
type Erased struct {
	Kind *record.Kind
	Done int64 // microseconds since 1970; 0 = not yet
	ledger.Firsts
	Half  map[*record.Kind]Half
	Kept  bool // the ticket is not erased, for another holder has it
	Again bool // whose ticket it was since is erased too: nothing counts as made since. It is not stored
}

// Half is what was emptied of a part of a ticket when somebody was erased who had the ticket once. What stands on the revision that was
// the first since then, and not on the one that has emptied it, knew of the next holder and has what was emptied still.
type Half struct {
	on     rev.ID
	Since  int64 // when the ticket was passed on, microseconds
	Fields []string
}

func (e *Erased) Encode() []byte {
	kind := e.Kind.Number
	if e.Kept {
		kind |= pastBit
	}
	row := binary.BigEndian.AppendUint64([]byte{kind}, uint64(e.Done))
	for _, k := range ledger.TicketParts {
		for _, rev := range e.First[k] {
			row = AppendRevision(append(row, k.Number), rev)
		}
		for _, rev := range e.Past[k] {
			row = AppendRevision(append(row, k.Number|pastBit), rev)
		}
		for _, field := range e.Half[k].Fields {
			row = AppendRevision(append(row, k.Number|halfBit), e.Half[k].on)
			row = binary.BigEndian.AppendUint64(row, uint64(e.Half[k].Since))
			row = append(append(row, byte(len(field))), field...)
		}
	}
	return row
}

const (
	pastBit = 0x80
	halfBit = 0x40
)

// Retire has what stands on the first revisions so far count as made before.
func (e *Erased) Retire() {
	for _, k := range ledger.TicketParts {
		e.Past[k] = append(e.Past[k], e.First[k]...)
	}
	clear(e.First)
	clear(e.Half)
}

// Begins has what stands on the oldest revision of a part that was made since a moment count as made since, and nothing else: on the one that
// there is, where all are older. What was the first before stays that where it is later.
func (e *Erased) Begins(k *record.Kind, t *rev.Tree, since int64) {
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
		if first.Generation == 0 && slices.Contains(e.First[k], rev) {
			first = rev
		}
	}
	h, half := e.Half[k]
	switch {
	case first.Generation == 0 || first == on:
		first = on
		delete(e.Half, k)
	case half && h.Since < since:
		h.on, h.Since = on, since
		e.Half[k] = h
	}
	for _, rev := range e.First[k] {
		if rev != first {
			e.Past[k] = append(e.Past[k], rev)
		}
	}
	e.First[k] = []rev.ID{first}
}

// Empties has a revision that has emptied fields of a part be the first one since a moment.
func (e *Erased) Empties(k *record.Kind, revision rev.ID, since int64, fields []string) {
	h, again := e.Half[k]
	if !again {
		h.on = e.First[k][0] // by begins
	}
	h.Since, h.Fields = max(h.Since, since), append(h.Fields, fields...)
	e.Past[k] = append(e.Past[k], e.First[k]...)
	e.First[k], e.Half[k] = []rev.ID{revision}, h
}

// Nameless is a path of new revisions without names upon one, newest first: of as many that none counts as past is the first.
func (e *Erased) Nameless(bare *record.Doc, on rev.ID) (path []rev.ID) {
	for len(path) == 0 || slices.Contains(e.Past[bare.Kind], path[0]) {
		on = rev.Next(on, false, bare.Canonical())
		path = slices.Insert(path, 0, on)
	}
	return path
}

// StandsOn tells whether a part of a ticket, as it is, was made since the names were erased.
func StandsOn(v *View, e *Erased, k *record.Kind, st *Stored) (bool, error) {
	t, err := LoadTree(v, k, st)
	return err == nil && e.Knows(k, t.Path(st.Revision), &t), err
}

// Knows tells whether a revision of a part was made since the names were erased. path is newest first, and tree that of the part, which
// may know more of where the path comes from. Where the tree has forgotten so much that the oldest revision that it knows there is
// younger than all that were the first, it was.
func (e *Erased) Knows(k *record.Kind, path []rev.ID, tree *rev.Tree) bool {
	return !e.Again && standOnOne(e.First[k], path, tree)
}

// KnowsHalf tells whether a revision of a part was made since the ticket was passed on, and has what was emptied then.
func (e *Erased) KnowsHalf(k *record.Kind, path []rev.ID, tree *rev.Tree) bool {
	return !e.Again && len(e.Half[k].Fields) > 0 && !e.Knows(k, path, tree) && standOnOne([]rev.ID{e.Half[k].on}, path, tree)
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

func NewErased(k *record.Kind) *Erased {
	return &Erased{Kind: k, Firsts: ledger.Firsts{}.Clone(), Half: map[*record.Kind]Half{}}
}

func ParseErased(row []byte) (e *Erased, err error) {
	c := Cutter{Rest: row}
	kind := c.Byte()
	k, _ := record.ByNumber(kind &^ pastBit)
	e = NewErased(k)
	e.Kept = kind&pastBit != 0
	e.Done = int64(c.Uint64())
	for len(c.Rest) > 0 {
		part := c.Byte()
		k, _ := record.ByNumber(part &^ (pastBit | halfBit))
		rev := rev.ID{Generation: c.Uint64()}
		copy(rev.Hash[:], c.Bytes(16))
		switch {
		case part&halfBit != 0:
			since := int64(c.Uint64())
			e.Half[k] = Half{rev, since, append(e.Half[k].Fields, string(c.Bytes(int(c.Byte()))))}
		case part&pastBit != 0:
			e.Past[k] = append(e.Past[k], rev)
		default:
			e.First[k] = append(e.First[k], rev)
		}
	}
	if c.Short || e.Kind == nil {
		return nil, engine.ErrCorrupt
	}
	return e, nil
}
