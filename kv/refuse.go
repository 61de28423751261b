package kv

import (
	"crypto/sha256"
	"errors"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
)

// keepRefused keeps for staff, whole, the documents of records that were refused (design.md §5): a client of the protocol skips
// them for ever. One that comes again is kept once.
func (db *Database) keepRefused(p Principal, writes []DocWrite, results []DocResult) error {
	var steps []step
	for i, r := range results {
		var f *Forbidden
		if !errors.As(r.Err, &f) {
			continue
		}
		in, err := prepareDoc(writes[i])
		if err != nil {
			return err // it was prepared before
		}
		steps = append(steps, step{run: func(o *op) error { return o.keepRefusal(p, db.name, in, f) }})
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

func (o *op) keepRefusal(p Principal, db string, in *DocWrite, f *Forbidden) error {
	if o.scopeDocs(db) == nil || f.Reason == wasErased {
		return nil // of a free database its clients alone know what a document is worth
	}
	if k, id, ok := record.ParseDocID(in.ID); ok {
		if gone, err := o.isErased(k, id); err != nil || gone {
			return err
		}
		if e, err := o.erased(k, id); err != nil {
			return err
		} else if e != nil {
			in = in.withoutNames(k)
		}
	}
	doc := wholeDoc(in)
	sum := sha256.Sum256(append([]byte(db+"\x00"), doc...))
	id := record.FromULID(ulid.ULID(sum[:16]))
	if st, err := o.loadAny(record.Refusal, id); err != nil || st != nil {
		return err
	}
	ok, first, err := o.spend(p.key, o.store.limits.refusals, len(doc))
	if err != nil || !ok && !first {
		return err
	}
	if !ok { // said once; what comes after it is counted alone
		id, doc = newFactID(o.now), wholeDoc(&DocWrite{ID: in.ID})
		f = refused("more of what the key brings is refused than is kept").(*Forbidden)
	}
	d := record.Refusal.NewDoc()
	d.Set("db", record.Quote(db))
	d.Set("doc", doc)
	d.Set("reason", record.Quote(f.Error()))
	if p.key != 0 {
		d.Set("key_id", record.Number(p.key))
	}
	d.Set("at", record.Time(o.now))
	_, err = o.write(change{kind: record.Refusal, id: id, is: d})
	return err
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

// wholeDoc is a document with its id and revision.
func wholeDoc(in *DocWrite) []byte {
	doc := appendMember([]byte{'{'}, "_id", record.Quote(in.ID))
	if len(in.Path) > 0 {
		doc = appendMember(doc, "_rev", record.Quote(in.Path[0].String()))
	}
	if in.Deleted {
		doc = appendMember(doc, "_deleted", []byte("true"))
	}
	if len(in.canonical) > len("{}") {
		doc = append(append(doc, ','), in.canonical[1:len(in.canonical)-1]...)
	}
	return append(doc, '}')
}
