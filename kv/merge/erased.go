package merge

import (
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// WasErased refuses what would bring an erased record back. It is not kept for staff: it is what was erased.
const WasErased = "the record was erased"

// RefuseErased answers a *Forbidden for a living revision of a record that is gone for good, though its tree still names the revision.
func RefuseErased(o *table.Tx, a *Arrival) error {
	if a.Doc == nil {
		return nil // the tombstone itself, or one before it
	}
	if gone, err := table.IsErased(o.View, a.Kind, a.ID); err != nil || gone {
		return table.RefusedFor(err, WasErased)
	}
	return nil
}

// Expunge takes out of an arrival what was erased: *Forbidden where that is all of it. A holding that names a person who was erased is
// erased as it comes.
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
	switch {
	case err != nil || !of:
		return err
	case a.Kind == record.Membership:
		return table.Refused(WasErased)
	}
	ApplyErasure(o, record.Holder, o.Store.HashErased(a.Kind, a.ID))
	a.Path = append([]rev.ID{rev.Next(a.Path[0], true, nil)}, a.Path...)
	a.Doc, a.body, a.ready, a.Node = nil, record.Body{}, nil, rev.Node{Deleted: true, Held: true, At: o.Stamp}
	return ObliterateHolding(o, a.ID, 0)
}

// expungeLost takes out of what a tombstone has brought along what was erased.
func expungeLost(o *table.Tx, a *Arrival) error {
	if a.Lost == nil {
		return nil
	}
	gone, err := table.IsErased(o.View, a.Kind, a.ID)
	if err == nil && !gone {
		gone, err = table.NamesErased(o.View, a.Kind, a.Lost)
	}
	if gone {
		a.Lost = nil
	}
	return err
}
