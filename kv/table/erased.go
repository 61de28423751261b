package table

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/value"
)

// ErasedAs is the kind under which a record is erased: a holding's records are the holding.
func ErasedAs(k *record.Kind) *record.Kind {
	if k.OfHolding() {
		return record.Holder
	}
	return k
}

// IsErasable tells whether an erasure may name a record of the kind.
func IsErasable(k *record.Kind) bool {
	return k == record.Person || k == record.Membership || k == record.Holder
}

// IsErased tells whether a record is erased, or its erasure has begun.
func IsErased(v *View, k *record.Kind, id record.ID) (bool, error) {
	if !IsErasable(ErasedAs(k)) || !v.Store.Recalls.Any.Load() {
		return false, nil
	}
	hash := v.Store.Identity.HashErased(k, id)
	row, err := v.Get(ErasedBucket, hash[:])
	return row != nil, err
}

// FindErased reads the row of an erased record; nil = it was not erased.
func FindErased(v *View, k *record.Kind, id record.ID) (*Erased, error) {
	hash := v.Store.Identity.HashErased(k, id)
	row, err := v.Get(ErasedBucket, hash[:])
	if err != nil || row == nil {
		return nil, err
	}
	return ParseErased(hash[:], row)
}

// NamesErased tells whether a record refers to an erased person.
func NamesErased(v *View, k *record.Kind, d *record.Doc) (bool, error) {
	if k != record.Membership && k != record.Holder {
		return false, nil
	}
	for _, ref := range d.Pointers() {
		if ref.Kind != record.Person {
			continue
		}
		if gone, err := IsErased(v, ref.Kind, ref.ID); err != nil || gone {
			return gone, err
		}
	}
	return false, nil
}

// Erased is the row of an erased record: kind 1, done 8, kept 8.
type Erased struct {
	Hash ledger.ErasedHash // its key
	Kind *record.Kind
	Done int64  // microseconds since 1970; 0 = not yet
	kept uint64 // compactions that leave bytes of it in the file
}

// NewErased is the row of a record that an operation erases at a time, in microseconds; 0 = it is not finished.
func NewErased(o *Tx, k *record.Kind, done int64) (*Erased, error) {
	kept, err := keeping(o)
	return &Erased{Kind: k, Done: done, kept: kept}, err
}

// IsCompacted tells that no bytes of the record are left in a file that has passed so many compactions.
func (e *Erased) IsCompacted(passed uint64) bool {
	return e.Done == NothingHeld || e.Done != 0 && e.kept < passed
}

// Encode is the row.
func (e *Erased) Encode() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte{e.Kind.Number}, uint64(e.Done)), e.kept)
}

// ParseErased reads the row.
func ParseErased(key, row []byte) (e *Erased, err error) {
	c := Cutter{Rest: row}
	e = &Erased{}
	if len(key) != len(e.Hash) {
		return nil, engine.ErrCorrupt
	}
	copy(e.Hash[:], key)
	e.Kind, _ = record.ByNumber(c.Byte())
	e.Done, e.kept = int64(c.Uint64()), c.Uint64()
	if c.Short || len(c.Rest) > 0 || e.Kind == nil {
		return nil, engine.ErrCorrupt
	}
	return e, nil
}

// DoorsQuiet is how long no door has written before heavy upkeep begins.
const DoorsQuiet = time.Hour

// EachListed calls fn with all conflicts or all refusals.
func EachListed(s *Set, listed *record.Kind, fn func(*View, *Stored, *record.Doc) error) error {
	return s.EachRow(KindBucket(listed), nil, func(v *View, key, row []byte) error {
		id, _ := listed.KeyID(key) // its length is right
		st, err := listedRow(v, listed, id, row)
		if err != nil || st == nil {
			return err
		}
		d, err := st.Decode(listed)
		if err != nil {
			return err
		}
		return fn(v, st, d)
	})
}

// listedRow reads a conflict or a refusal. Of a settled one it reads the body before, which the file still has; nil where it has not.
func listedRow(v *View, listed *record.Kind, id record.ID, row []byte) (*Stored, error) {
	st := &Stored{ID: id}
	if err := st.read(listed, row); err != nil || !st.Deleted {
		return st, err
	}
	kept, err := v.Get(BodyBucket, BodyKey(listed, id, st.Before()))
	if err != nil || kept == nil {
		return nil, err
	}
	was := &Stored{ID: id}
	return was, was.ParseBody(listed, kept)
}

// ListedRecord is the record that a conflict or a refusal is about. about has the body, or the one field, that the item holds.
func ListedRecord(listed *record.Kind, d *record.Doc) (k *record.Kind, id record.ID, about *record.Doc) {
	if listed == record.Refusal {
		doc := d.Value("doc")
		body := record.Body{Shown: doc[1 : len(doc)-1]}
		k, id, ok := record.ParseDocID(value.Unquote(body.Member("_id")))
		if !ok {
			return nil, id, nil
		}
		about, _ = k.Decode(body) // a body that cannot be read names no person
		return k, id, about
	}
	k, ok := record.ByName(d.Text("kind"))
	if !ok {
		return nil, id, nil
	}
	id, _ = k.ParseID(d.Text("record_id")) // this program wrote it
	about = k.NewDoc()
	other := d.Value("other")
	if d.Text("field") == "" && other.Kind() == jsontext.KindBeginObject {
		about, _ = k.Decode(record.Body{Shown: other[1 : len(other)-1]})
	} else if f, known := k.Field(d.Text("field")); known && f.Stored() {
		about.Set(f.Name, slices.Clone(other))
	}
	return k, id, about
}

// Concealed are the persons and holdings with an erasure that is not finished, as on a full disk. They are hidden until it is.
type Concealed struct {
	Persons  map[record.ID]bool
	Holdings map[record.ID]bool // nil = all, because they are not known
}

// holds tells whether a holding is hidden.
func (c *Concealed) holds(id record.ID) bool { return c.Holdings == nil || c.Holdings[id] }

// mayHide tells whether records of a kind may tell of a person.
func mayHide(k *record.Kind) bool {
	return k == record.Person || k.OfHolding() || k == record.Conflict || k == record.Refusal
}

func (c *Concealed) hides(k *record.Kind, id record.ID, d *record.Doc) bool {
	if k == record.Conflict || k == record.Refusal {
		of, id, about := ListedRecord(k, d)
		return of != nil && (c.Persons[id] && of == record.Person || of.OfHolding() && c.holds(id) || about != nil && c.named(about))
	}
	return k == record.Person && c.Persons[id] || k.OfHolding() && c.holds(id) || c.named(d)
}

// named tells whether a record refers to a hidden person.
func (c *Concealed) named(d *record.Doc) bool {
	return len(c.Persons) > 0 && slices.ContainsFunc(d.Pointers(), func(p record.Pointer) bool { return p.Kind == record.Person && c.Persons[p.ID] })
}

// blank is the record that is shown in place of a hidden one.
func blank(k *record.Kind, d *record.Doc) *record.Doc {
	switch k {
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
	empty := k.NewDoc()
	empty.Set(k.Home, d.Value(k.Home))
	if k.OfHolding() {
		empty.Set("ticket_id", d.Value("ticket_id"))
	}
	return empty
}

// NothingHeld is the Done of an erasure that found no record here, so that no bytes are left to compact.
const NothingHeld = 1

// ErasePage is how many rows EachRow and DoEachRow read in one View.
const ErasePage = 500
