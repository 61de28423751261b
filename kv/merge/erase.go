package merge

import (
	"maps"
	"slices"

	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// NoteErased writes what replicas are told of an erasure, and when it was done here, in microseconds; 0 = it goes on. A ticket whose next holder is erased too
// is told of again.
func NoteErased(o *table.Tx, l ledger.LedgerLine, key, done int64) error {
	o.Store.Recalls.Any.Store(true)
	row, err := o.Get(table.ErasedBucket, l.Hash[:])
	if err = o.Store.UnlessCorrupt(err); err != nil {
		return err
	}
	e := table.NewErased(l.Kind)
	if row != nil {
		if e, err = table.ParseErased(row); err != nil {
			return err
		}
	}
	more := e.Learn(l.Firsts)
	again := e.Done != 0 && done == 0
	more = more || e.Kept
	e.Kept = false
	if row == nil || done != 0 || again || more {
		e.Done = done
		o.Put(table.ErasedBucket, l.Hash[:], e.Encode())
	}
	if o.Store.IsLeaf() {
		return nil // the centre tells
	}
	id := record.FromULID([16]byte(l.Hash))
	st, err := o.LoadAny(record.Erasure, id)
	if err != nil || st != nil && !again {
		return err
	}
	d := record.Erasure.NewDoc()
	d.Set("kind", value.Quote(l.Kind.Name))
	d.Set("at", value.Time(l.At))
	if key != 0 {
		d.Set("key_id", value.Number(key))
	}
	c := table.Edit{Kind: record.Erasure, Id: id, Before: st, Is: d, Author: key}
	if st != nil {
		if c.Was, err = st.Decode(record.Erasure); err != nil {
			return err
		}
	}
	_, err = o.Write(c)
	return err
}

// WasErased refuses what would bring an erased record back. It is not kept for staff: it is what was erased.
const WasErased = "the record was erased"

// RefuseErased answers a *Forbidden for a living revision of a record that is gone for good, though its tree still names the revision.
func RefuseErased(o *table.Tx, a *Arrival) error {
	if a.Doc == nil {
		return nil // the tombstone itself, or one before it
	}
	if gone, err := table.IsErased(o.View, a.Kind, a.Id); err != nil || gone {
		return table.RefusedFor(err, WasErased)
	}
	return nil
}

// Expunge takes out of an arrival what was erased: *Forbidden where that is all of it. What has been made of a ticket since its names
// were erased is let in as it is, and so is what a laptop is given: its centre has made a revision without names of whatever had any.
func Expunge(o *table.Tx, a *Arrival) error {
	if !o.Store.Recalls.Any.Load() {
		return nil
	}
	if a.Doc == nil {
		return expungeLost(o, a)
	}
	if err := RefuseErased(o, a); err != nil {
		return err
	}
	of, err := table.NamesErased(o.View, a.Kind, a.Doc)
	if err != nil {
		return err
	}
	if of && a.Kind == record.Membership {
		return table.Refused(WasErased)
	}
	e, err := table.FindErased(o.View, a.Kind, a.Id)
	if err == nil && of { // its other parts do not say whose they are
		err = eraseTicket(o, a, e)
	}
	if err == nil && e == nil {
		e, err = table.FindErased(o.View, a.Kind, a.Id)
	}
	if err == nil && e != nil && !o.Store.IsLeaf() && (of || !e.Knows(a.Kind, a.Path, &a.Tree)) {
		err = nameLate(o, a, e)
	}
	return err
}

// nameLate takes out of an arrival the names that were erased. Where another holder has the ticket by now it says what that one is called:
// it is no other than what is there, and nobody need choose.
func nameLate(o *table.Tx, a *Arrival, e *table.Erased) error {
	if a.Before != nil && !a.Before.Deleted && e.KnowsHalf(a.Kind, a.Path, &a.Tree) {
		return nameHalf(o, a, e.Half[a.Kind])
	}
	a.Doc, a.late = a.Doc.Erased(), true
	if a.Before == nil || a.Before.Deleted {
		return nil
	}
	since, err := table.StandsOn(o.View, e, a.Kind, a.Before)
	if err != nil || !since {
		return err
	}
	is, err := a.Before.Decode(a.Kind)
	for i := range a.Kind.Fields {
		if f := &a.Kind.Fields[i]; err == nil && f.Flags.Has(record.Personal) {
			a.Doc.Set(f.Name, is.Value(f.Name))
		}
	}
	return err
}

// nameHalf takes out of an arrival what was emptied of its ticket since it was made, but what the next holder's own edit says of that.
func nameHalf(o *table.Tx, a *Arrival, h table.Half) error {
	is, err := a.Before.Decode(a.Kind)
	if err != nil {
		return err
	}
	d := a.Doc.Clone()
	for _, field := range h.Fields {
		if a.Node.At < h.Since || !slices.Contains(a.Node.Fields, field) {
			d.Set(field, is.Value(field))
		}
	}
	a.Doc, a.late = d, true // what it says wins over what was emptied
	return nil
}

// expungeLost takes out of what a tombstone has brought along what was erased.
func expungeLost(o *table.Tx, a *Arrival) error {
	if a.Lost == nil {
		return nil
	}
	gone, err := table.IsErased(o.View, a.Kind, a.Id)
	if err != nil {
		return err
	}
	of, err := table.NamesErased(o.View, a.Kind, a.Lost)
	if err != nil {
		return err
	}
	e, err := table.FindErased(o.View, a.Kind, a.Id)
	switch {
	case gone || of && a.Kind == record.Membership:
		a.Lost = nil
	case of || e != nil && !e.Knows(a.Kind, a.Path, &a.Tree):
		a.Lost = a.Lost.Erased()
	}
	return err
}

// ApplyErasure notes that a record is to be erased which a peer has told of, or which belongs to somebody who was erased. first is what
// the peer says are a ticket's first revisions without names; nil: it does not say. Where they are others than before, those are past and it
// is erased again.
func ApplyErasure(o *table.Tx, k *record.Kind, hash ledger.ErasedHash, first ledger.Revisions) {
	o.Store.Recalls.Any.Store(true)
	row, err := o.Get(table.ErasedBucket, hash[:])
	o.Store.NoteCorrupt(err)
	is, anew := table.NewErased(k), row == nil
	if before, err := table.ParseErased(row); row != nil && len(first) > 0 {
		anew = err != nil || !maps.EqualFunc(before.First, first, slices.Equal)
		if err == nil {
			is.Firsts = before.Firsts
		}
	}
	if anew {
		is.Follow(first)
		o.Put(table.ErasedBucket, hash[:], is.Encode())
	}
	o.After(func() {
		o.Store.Recalls.Told.Add(1)
		o.Store.Recalls.Come.Ring()
	})
}

// eraseTicket has a ticket erased that an arrival gives to somebody who is erased. e is what was erased of it before, when somebody else
// had it; nil: nothing. Where the arrival was made since, the names that stand beside it were too.
func eraseTicket(o *table.Tx, a *Arrival, e *table.Erased) error {
	hash := o.Store.HashErased(a.Kind, a.Id)
	if e != nil && (e.Knows(a.Kind, a.Path, &a.Tree) || e.KnowsHalf(a.Kind, a.Path, &a.Tree)) && !o.Store.IsLeaf() {
		if err := NoteErased(o, ledger.LedgerLine{Kind: record.Ticket, Hash: hash, At: o.Now}, 0, 0); err != nil {
			return err
		}
		e.Retire()
		e.Done, e.Kept = 0, false
		o.Put(table.ErasedBucket, hash[:], e.Encode())
	}
	ApplyErasure(o, record.Ticket, hash, nil)
	return nil
}

// EraseAnew notes of all erasures that they are still to be carried out: by another key they are about other records.
func EraseAnew(o *table.Tx) error {
	rows := map[ledger.ErasedHash]*table.Erased{}
	err := o.Scan(table.ErasedBucket, nil, nil, func(key, row []byte) (bool, error) {
		e, err := table.ParseErased(row)
		if err != nil || len(key) != ledger.CodeHashSize {
			return false, table.OrCorrupt(err)
		}
		rows[ledger.ErasedHash(key)] = e
		return true, nil
	})
	for hash, e := range rows {
		e.Done = 0
		o.Put(table.ErasedBucket, hash[:], e.Encode())
	}
	return err
}
