package merge

import (
	"slices"

	"doorward/kv/record"
	"doorward/kv/table"
)

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
