package kv

import (
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/value"
)

// keepRefused keeps for staff the documents of records that were refused (design.md §5): a client of the protocol skips them for ever.
// One that comes again is kept once. One that is no document of a record at all is only named.
func (db *Database) keepRefused(p Principal, writes []DocWrite, results []DocResult) error {
	var steps []step
	for i := range results {
		var f *Forbidden
		in, err := &writes[i], results[i].Err
		whole := errors.As(err, &f)
		switch {
		case whole:
			if in, err = prepareDoc(writes[i]); err != nil {
				return err // it was prepared before
			}
			if whole = !value.HasLongNumber(in.canonical); !whole { // staff could not read a list that shows it
				in = in.named()
			}
		case in.Path != nil && (in.Wrong != nil || errors.Is(err, ErrDocument) || errors.Is(err, ErrRevision) || errors.Is(err, ErrTooLarge)):
			in, f = in.named(), refused(err.Error()).(*Forbidden)
		default:
			continue
		}
		steps = append(steps, step{run: func(o *op) error {
			kept, err := keepRefusal(o, p, db.name, in, f)
			results[i].Kept = kept && whole
			return err
		}})
	}
	if len(steps) == 0 {
		return nil
	}
	if err := db.store.doAll(steps); err != nil {
		return err
	}
	for i := range steps {
		if err := steps[i].err; err != nil {
			return err
		}
	}
	return nil
}

// keepRefusal keeps one. Where more of a key is refused than is kept, that is said once, and kept tells that the document is not there.
func keepRefusal(o *op, p Principal, db string, in *DocWrite, f *Forbidden) (kept bool, err error) {
	if !ofRecords(db) || f.Reason == wasErased {
		return false, nil // of a free database its clients alone know what a document is worth
	}
	if k, id, ok := record.ParseDocID(in.ID); ok {
		if gone, err := isErased(o.sight, k, id); err != nil || gone {
			return false, err
		}
		if e, err := findErased(o.sight, k, id); err != nil {
			return false, err
		} else if e != nil && in.canonical != nil {
			in = in.withoutNames(k)
		}
	}
	doc := wholeDoc(in)
	sum := sha256.Sum256(append([]byte(db+"\x00"), doc...)) // of the document alone: how much its path tells depends on the way that it came
	id := record.FromULID(ulid.ULID(sum[:16]))
	doc = appendPath(doc, in.Path)
	if st, err := o.loadAny(record.Refusal, id); err != nil || st != nil {
		return err == nil, err
	}
	ok, first, err := spend(o, p.Key(), o.store.limits.refusals, len(doc))
	if err != nil || !ok && !first {
		return false, err
	}
	if !ok {
		id, doc = newFactID(o.now), wholeDoc(&DocWrite{ID: in.ID})
		f = refused("more of what the key brings is refused than is kept").(*Forbidden)
	}
	d := record.Refusal.NewDoc()
	d.Set("db", value.Quote(db))
	d.Set("doc", doc)
	d.Set("reason", value.Quote(f.Error()))
	if p.Key() != 0 {
		d.Set("key_id", value.Number(p.Key()))
	}
	d.Set("at", value.Time(o.now))
	_, err = o.write(change{kind: record.Refusal, id: id, is: d})
	return ok && err == nil, err
}

// named is a document's name, and nothing of what it says.
func (in *DocWrite) named() *DocWrite {
	only := &DocWrite{ID: in.ID[:min(len(in.ID), maxDocID)]}
	if len(in.Path) > 0 && in.Path[0] != (rev.ID{}) {
		only.Path = in.Path[:1]
	}
	return only
}

// nameOf is named of a refused document.
func nameOf(doc record.Body) *DocWrite {
	revision, _ := rev.Parse(value.Unquote(doc.Member("_rev"))) // zero where it has none
	return (&DocWrite{ID: value.Unquote(doc.Member("_id")), Path: []rev.ID{revision}}).named()
}

// withoutNames is a document of a kind without what is personal in it, as far as it can be read at all.
func (in *DocWrite) withoutNames(k *record.Kind) *DocWrite {
	less := *in
	less.canonical = nil
	if d, err := in.decode(k); err == nil && !in.Deleted {
		less.canonical = d.Erased().Canonical()
	}
	return &less
}

// wholeDoc is a document with its id and revision: of a new edit the one that it changes.
func wholeDoc(in *DocWrite) []byte {
	doc := appendMember([]byte{'{'}, "_id", value.Quote(in.ID))
	switch {
	case len(in.Path) > 0:
		doc = appendMember(doc, "_rev", value.Quote(in.Path[0].String()))
	case in.Parent != rev.ID{}:
		doc = appendMember(doc, "_rev", value.Quote(in.Parent.String()))
	}
	if in.Deleted {
		doc = appendMember(doc, "_deleted", []byte("true"))
	}
	if len(in.canonical) > len("{}") {
		doc = append(append(doc, ','), in.canonical[1:len(in.canonical)-1]...)
	}
	return append(doc, '}')
}

// ReleaseRefusals takes out of the file what was refused in a database of records that is dropped for good, settled or not: what it is
// about is not here any more. What is about a record in one of the databases that are kept stays. *Forbidden, ErrNotFound for a name
// that is no database of records.
func (s *Store) ReleaseRefusals(p Principal, name string, kept ...string) error {
	h, err := newHandover(p, name, kept)
	if err != nil {
		return err
	}
	var ids []record.ID
	err = s.eachRow(kindBucket(record.Refusal), nil, func(v *sight, key, row []byte) error {
		id, _ := record.Refusal.KeyID(key) // its length is right
		goes, err := goesWith(v, h, id, row)
		if goes {
			ids = append(ids, id)
		}
		return err
	})
	for some := range slices.Chunk(ids, MaxRows) {
		if err == nil {
			err = s.do(false, func(o *op) error { return purgeRefusals(o, some) })
		}
	}
	return err
}

// goesWith tells whether a refusal is about what a database held.
func goesWith(v *sight, h *handover, id record.ID, row []byte) (bool, error) {
	st, err := listedRow(v, record.Refusal, id, row)
	if err != nil || st == nil {
		return false, err
	}
	d, err := st.decode(record.Refusal)
	if err != nil || d.Text("db") != h.scope.String() {
		return false, err
	}
	k, of, _ := listedRecord(record.Refusal, d)
	if k == nil {
		return true, nil // of a kind that this version does not know
	}
	about, err := v.loadAny(k, of)
	return err == nil && (about == nil || !h.keeps(about)), err
}

func purgeRefusals(o *op, ids []record.ID) error {
	if err := noteReleased(o); err != nil {
		return err
	}
	for _, id := range ids {
		st, err := o.loadAny(record.Refusal, id)
		if err != nil {
			return err
		}
		if st == nil {
			continue // another visit has been here
		}
		if err := purge(o, record.Refusal, st); err != nil {
			return err
		}
	}
	return nil
}
