package table

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/value"
)

// ErasedAs is the kind under which a record is erased: a ticket's parts are the ticket.
func ErasedAs(k *record.Kind) *record.Kind {
	if k == record.HolderName || k == record.Holder {
		return record.Ticket
	}
	return k
}

// HashErased is a record's keyed hash.
func (s *Set) HashErased(k *record.Kind, id record.ID) ledger.ErasedHash {
	return ledger.ErasedHash(s.HashCode("erased\x00" + ErasedAs(k).DocID(id)))
}

// erased tells whether a record was erased, or is being; nil: it was not.
func FindErased(v *View, k *record.Kind, id record.ID) (*Erased, error) {
	switch ErasedAs(k) {
	case record.Person, record.Membership, record.Ticket:
	default:
		return nil, nil
	}
	if !v.Store.Recalls.Any.Load() {
		return nil, nil
	}
	hash := v.Store.HashErased(k, id)
	row, err := v.Get(ErasedBucket, hash[:])
	if err != nil || row == nil {
		return nil, err
	}
	return ParseErased(row)
}

// IsErased tells whether a record is gone for good.
func IsErased(v *View, k *record.Kind, id record.ID) (bool, error) {
	if ErasedAs(k) == record.Ticket {
		return false, nil
	}
	e, err := FindErased(v, k, id)
	return e != nil, err
}

// NamesErased tells whether a record refers to an erased person.
func NamesErased(v *View, k *record.Kind, d *record.Doc) (bool, error) {
	for i := range k.Fields {
		f := &k.Fields[i]
		if RefersTo(f) != record.Person.Name {
			continue
		}
		if n := d.Int(f.Name); n != 0 {
			if gone, err := IsErased(v, record.Person, record.Int(n)); err != nil || gone {
				return gone, err
			}
		}
	}
	return false, nil
}

// HolderErased tells a ticket that belongs to an erased person.
func HolderErased(v *View, ticket record.ID) (bool, error) {
	bare := v.Bare
	v.Bare = true // what it hides depends on this
	defer func() { v.Bare = bare }()
	st, err := v.Load(record.Holder, ticket)
	if err != nil || st == nil {
		return false, err
	}
	d, err := st.Decode(record.Holder)
	if err != nil {
		return false, err
	}
	return NamesErased(v, record.Holder, d)
}

const DoorsQuiet = time.Hour

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

// ListedRow reads a conflict or a refusal, and one that is settled as it was before, for the file still has that; nil where it has not.
func ListedRow(v *View, listed *record.Kind, id record.ID, row []byte) (*Stored, error) {
	st := &Stored{Id: id}
	if err := st.read(listed, row); err != nil || !st.Deleted {
		return st, err
	}
	kept, err := v.Get(BodyBucket, BodyKey(listed, id, st.Before()))
	if err != nil || kept == nil {
		return nil, err
	}
	was := &Stored{Id: id}
	return was, was.ParseBody(listed, kept)
}

// ListedRecord is the record that a conflict or a refusal is about, and, where it holds one, its body or the field of it that it
// holds.
func ListedRecord(listed *record.Kind, d *record.Doc) (k *record.Kind, id record.ID, about *record.Doc) {
	if listed == record.Refusal {
		doc := d.Value("doc")
		body := record.Body{Shown: doc[1 : len(doc)-1]}
		k, id, ok := record.ParseDocID(value.Unquote(body.Member("_id")))
		if !ok {
			return nil, id, nil
		}
		about, _ = k.Decode(body) // one that cannot be read names nobody
		return k, id, about
	}
	k, ok := record.ByName(d.Text("kind"))
	if !ok {
		return nil, id, nil
	}
	id, _ = k.ParseID(d.Text("record_id")) // it was written by us
	about = k.NewDoc()
	other := d.Value("other")
	if d.Text("field") == "" && other.Kind() == jsontext.KindBeginObject {
		about, _ = k.Decode(record.Body{Shown: other[1 : len(other)-1]})
	} else if f, known := k.Field(d.Text("field")); known && f.Stored() {
		about.Set(f.Name, slices.Clone(other))
	}
	return k, id, about
}

// Concealed is who and what shall be erased and is here still, for erasing has not come to its end: the disk is full, say. Nobody is
// shown it meanwhile. Records that are of use without what is personal in them stay to be seen without it, as tickets do.
type Concealed struct {
	Persons map[record.ID]bool
	Tickets map[record.ID]bool // nil: it is not known which
	Past    map[record.ID]bool // tickets that another holder has now; nil: it is not known which
}

// holds tells a ticket that is hidden.
func (c *Concealed) holds(ticket record.ID) bool { return c.Tickets == nil || c.Tickets[ticket] }

// Unshown empties a record that was read of what nobody is shown.
func Unshown(v *View, k *record.Kind, st *Stored) error {
	c := v.Store.Recalls.Concealed.Load()
	if c == nil || v.Bare || st.Deleted || !mayHide(k) {
		return nil
	}
	return emptyConcealed(v, c, k, st, false)
}

// unshownPast is unshown for a kept body.
func unshownPast(v *View, k *record.Kind, st *Stored) error {
	c := v.Store.Recalls.Concealed.Load()
	if c == nil || v.Bare || !mayHide(k) {
		return nil
	}
	return emptyConcealed(v, c, k, st, ErasedAs(k) == record.Ticket && (c.Past == nil || c.Past[st.Id]))
}

func emptyConcealed(v *View, c *Concealed, k *record.Kind, st *Stored, whole bool) error {
	d, err := st.Decode(k)
	if err != nil || !whole && !c.hides(k, st.Id, d) {
		return err
	}
	if stays, err := stays(v, k, st); err != nil || stays {
		return err
	}
	st.Body = blank(k, d).Encode()
	st.Version = k.Version
	return nil
}

// stays tells a part of a ticket that erasing leaves as it is, for it was made since, or the laptop does not know what was: who read it
// without its names meanwhile, as an index or a replication may, would never read it again.
func stays(v *View, k *record.Kind, st *Stored) (bool, error) {
	if ErasedAs(k) != record.Ticket {
		return false, nil
	}
	e, err := FindErased(v, k, st.Id)
	if err != nil || e == nil {
		return false, err
	}
	if of, err := HolderErased(v, st.Id); err != nil || of {
		return false, err // whatever of the ticket was made since
	}
	if v.Store.IsLeaf() && len(e.First) == 0 {
		return true, nil
	}
	return StandsOn(v, e, k, st)
}

// mayHide tells the kinds whose records tell of a person.
func mayHide(k *record.Kind) bool {
	return k == record.Person || ErasedAs(k) == record.Ticket || k == record.Conflict || k == record.Refusal
}

func (c *Concealed) hides(k *record.Kind, id record.ID, d *record.Doc) bool {
	if k == record.Conflict || k == record.Refusal {
		of, id, about := ListedRecord(k, d)
		return of != nil && (c.Persons[id] && of == record.Person || ErasedAs(of) == record.Ticket && c.holds(id) || about != nil && c.named(about))
	}
	return k == record.Person && c.Persons[id] || k != record.Person && c.holds(id) || c.named(d)
}

// named tells whether a record refers to a person who is hidden.
func (c *Concealed) named(d *record.Doc) bool {
	for id := range c.Persons {
		if record.Refers(d, record.Person, id) {
			return true
		}
	}
	return false
}

// blank is what is shown instead of a record.
func blank(k *record.Kind, d *record.Doc) *record.Doc {
	switch k {
	case record.Person:
		empty := k.NewDoc()
		empty.Set(k.Home, d.Value(k.Home))
		return empty
	case record.Conflict:
		d = d.Clone()
		d.Set("winner", []byte("null"))
		d.Set("other", []byte("null"))
		return d
	case record.Refusal:
		d = d.Clone()
		d.Set("doc", []byte("{}"))
		return d
	}
	return d.Erased()
}

// NothingHeld is when an erasure was done of what was not here: it has left no bytes to compact.
const NothingHeld = 1

// ErasePage is how many rows an eraser looks at in one View.
const ErasePage = 500
