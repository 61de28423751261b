package docs

import (
	"errors"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// mayRefer returns *Forbidden if a laptop's document refers to a record that the laptop does not see, as a key's write is refused for it. The
// church or the event that the record belongs to is judged as its place is. A reference that the record has already may stay. A fact is taken as it
// is: what it says counts at its own event alone.
func (w *push) mayRefer(a *merge.Arrival) error {
	if a.Doc == nil || a.Kind.Fact {
		return nil
	}
	for _, ref := range a.Doc.Pointers() {
		if ref.Field == a.Kind.Home {
			continue
		}
		ok, err := w.mayPoint(a, ref)
		if err == nil && !ok {
			ok, err = w.hasPointer(a, ref)
		}
		if err != nil {
			return err
		}
		if !ok {
			return table.Refused("what " + ref.Field + " names is no record that the laptop sees")
		}
	}
	return nil
}

// mayPoint reports whether a reference leads to a record that the laptop sees, or saw before the record was deleted. What is of the document's own
// event, or was before it moved, may be named wherever the document may be written.
func (w *push) mayPoint(a *merge.Arrival, ref record.Pointer) (bool, error) {
	st, err := w.o.LoadAny(ref.Kind, ref.ID)
	if err != nil {
		return false, err
	}
	if st == nil {
		return w.mayCome(ref)
	}
	if ref.Kind.Class == record.Events {
		event := scopes.Scope{Sort: scopes.Event, ID: a.Doc.Int("event_id")}
		if st.In(event) {
			return true, nil
		}
		if left, err := w.o.Get(table.LeftBucket, table.LeftKey(ref.Kind, ref.ID, event)); err != nil || left != nil {
			return err == nil, err
		}
	}
	if st.Deleted {
		return entry.Sees(w.o.View, w.p, ref.Kind, st)
	}
	return entry.MayPoint(w.o, w.p, a.Kind, ref)
}

// mayCome reports whether a record that is not here may still come: the laptop may give new records such an id. The parts of a ticket are nothing
// until a ticket names them.
func (w *push) mayCome(ref record.Pointer) (bool, error) {
	if ref.Kind.Class == record.Events {
		return true, nil
	}
	err := ownID(w.o, w.p, ref.Kind, ref.ID)
	if errors.Is(err, auth.ErrForbidden) {
		return false, nil
	}
	return err == nil, err
}

// hasPointer reports whether the record, or the ancestor of the revision that is known here, makes the reference already.
func (w *push) hasPointer(a *merge.Arrival, ref record.Pointer) (bool, error) {
	if a.Before == nil {
		return false, nil
	}
	revisions := a.Path[:0:0]
	if i := slices.IndexFunc(a.Path, a.Tree.Has); i >= 0 {
		revisions = append(revisions, a.Path[i])
	}
	for _, revision := range append(revisions, a.Before.Revision) {
		d, err := table.DocOf(w.o.View, a.Kind, a.Before, revision)
		if err != nil || d != nil && slices.Contains(d.Pointers(), ref) {
			return err == nil, err
		}
	}
	return false, nil
}
