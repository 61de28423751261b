package entry

import (
	"bytes"
	"errors"
	"fmt"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Reply is one record as the surface shows it.
type Reply struct {
	ID       record.ID
	JSON     []byte
	Revision string
	Replayed bool // the kept answer of an earlier request
}

// Visible answers nil where p sees a record, otherwise ErrNotFound.
func Visible(s *table.Set, p auth.Principal, k *record.Kind, id record.ID) error {
	return s.View(func(v *table.View) error {
		_, err := Find(v, p, k, id)
		return err
	})
}

// NewRecord is a record about to be stored; tombstone is what lies under its id, or nil.
type NewRecord struct {
	table.Made
	ID        record.ID
	Tombstone *table.Stored
	Free      bool // nothing else has what it is known by: it was looked for in this operation
}

// Add checks that a new record is the only one of its sort, and writes it.
func Add(o *table.Tx, p auth.Principal, k *record.Kind, n NewRecord) (*table.Stored, error) {
	if !n.Free {
		if err := Unique(o, k, n.ID, n.Doc); err != nil {
			return nil, err
		}
	}
	return fitting(o.Write(table.Edit{Kind: k, ID: n.ID, Before: n.Tombstone, Is: n.Doc, Author: p.Key(), Made: &n.Made}))
}

// Amend changes one record by a function; where that changes nothing the record stays as it is.
func Amend(o *table.Tx, p auth.Principal, k *record.Kind, before *table.Stored, fn func(*record.Doc)) (*table.Stored, error) {
	was, err := before.Decode(k)
	if err != nil {
		return nil, err
	}
	is := was.Clone()
	fn(is)
	if SameBody(is.Encode(), before.Body) {
		return before, nil
	}
	is.Settle(was, Moment(o))
	if !SameKeys(was, is) { // what was made twice stays so until the root merges it
		if err := Unique(o, k, before.ID, is); err != nil {
			return nil, err
		}
	}
	next, err := fitting(o.Write(table.Edit{Kind: k, ID: before.ID, Before: before, Was: was, Is: is, Author: p.Key()}))
	if err == nil && k == record.Person && next.Home(k) != before.Home(k) {
		err = table.Rehome(o, before.ID)
	}
	return next, err
}

func Moment(o *table.Tx) record.Moment { return record.Moment{Now: o.Now, Zone: o.Store.ZoneOf} }

// Vacant answers an id that no live record has: the given one, or the next free one. A tombstone under it comes along.
func Vacant(o *table.Tx, k *record.Kind, id record.ID) (record.ID, *table.Stored, error) {
	if !id.IsZero() {
		st, err := o.LoadAny(k, id)
		if err == nil && st != nil && !st.Deleted {
			err = &table.Conflict{Reason: "the id is in use", Field: "id"}
		}
		if err == nil {
			err = mayGive(o, k, id)
		}
		if gone, failed := table.IsErased(o.View, k, id); err == nil && (gone || failed != nil) {
			err = table.OrErr(failed, &table.Conflict{Reason: "the record with this id was erased", Field: "id"})
		}
		o.State.Use(k, id)
		return id, st, err
	}
	for {
		id, err := mintID(o, k)
		if err != nil {
			return id, nil, fmt.Errorf("mint: %w", err)
		}
		used, err := isUsed(o, k, id)
		if err != nil {
			return id, nil, fmt.Errorf("mint: %w", err)
		}
		if !used {
			return id, nil, nil
		}
	}
}

// isUsed tells whether a record has or had an id that was minted now. The mark and the leases by which ids are minted are checked when they
// are read, and no id is minted twice by them: damage beside the place of the id is no reason to mint none. Damage in that place is.
func isUsed(o *table.Tx, k *record.Kind, id record.ID) (bool, error) {
	key := k.AppendID(nil, id)
	st, err := o.LoadAny(k, id)
	if errors.Is(err, engine.ErrCorrupt) {
		o.Store.NoteCorrupt(err)
		return table.HasRow(o.View.View, table.KindBucket(k), key), nil
	}
	if err != nil || st != nil {
		return true, err
	}
	gone, err := table.IsErased(o.View, k, id)
	if errors.Is(err, engine.ErrCorrupt) {
		o.Store.NoteCorrupt(err)
		hash := o.Store.HashErased(k, id)
		return table.HasRow(o.View.View, table.ErasedBucket, hash[:]), nil
	}
	return gone, err
}

func SameBody(a, b record.Body) bool {
	return bytes.Equal(a.Shown, b.Shown) && bytes.Equal(a.Hidden, b.Hidden)
}
