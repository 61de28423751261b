package merge

import (
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// A ticket may have gone to somebody at its centre, who was then erased, while a laptop that knew of neither gave it to somebody else. The
// laptop does not have what the centre's first revision without names was made of, but what it says of the holder it wrote itself, and
// nobody wrote it of who is erased: it stands upon that first revision as if it had been written since.

// givenHere is since when a ticket is somebody's to whom it was given here, in microseconds; 0: it is not, or that is known to the centre.
func givenHere(o *table.Tx, ticket record.ID, e *table.Erased) (since int64, err error) {
	st, err := o.Load(record.Holder, ticket)
	if err != nil || st == nil {
		return 0, err
	}
	t, err := table.LoadTree(o.View, record.Holder, st)
	if err != nil || e.Knows(record.Holder, t.Path(st.Revision), &t) {
		return 0, err
	}
	for _, n := range madeHere(&t, st.Revision) {
		if slices.Contains(n.Fields, "person_id") {
			since = n.At
		}
	}
	if since == 0 {
		return 0, nil
	}
	is, err := st.Decode(record.Holder)
	if err != nil {
		return 0, err
	}
	if of, err := table.NamesErased(o.View, record.Holder, is); err != nil || of {
		return 0, err
	}
	return since, nil
}

// madeHere are the revisions at the end of a path that were made here, the newest first.
func madeHere(t *rev.Tree, end rev.ID) (all []rev.Node) {
	for _, rev := range t.Path(end) {
		n := t.Find(rev)
		if n.Node != (ulid.ULID{}) || n.At == 0 {
			break
		}
		all = append(all, n)
	}
	return all
}

// standAnew lets a part say of the holder what was written here since a moment, upon the first revision without names. It tells whether it could.
func standAnew(o *table.Tx, k *record.Kind, st *table.Stored, e *table.Erased, since int64) (bool, error) {
	t, err := table.LoadTree(o.View, k, st)
	if err != nil || len(e.First[k]) == 0 || len(t.Conflicts()) > 0 || e.Knows(k, t.Path(st.Revision), &t) {
		return false, err
	}
	is, err := st.Decode(k)
	if err != nil {
		return false, err
	}
	next := is.Erased()
	for _, n := range madeHere(&t, st.Revision) {
		for _, name := range n.Fields {
			if f, known := k.Field(name); known && n.At >= since && f.Flags.Has(record.Personal) {
				next.Set(name, is.Value(name))
			}
		}
	}
	fields := next.Differs(is.Erased())
	if len(fields) == 0 {
		return false, nil
	}
	first := slices.MaxFunc(e.First[k], rev.ID.Compare)
	revision := rev.Next(first, false, next.Canonical())
	anew := rev.Tree{} // what came before is known to the centre, of what it had it tells nobody
	if _, err := anew.Graft([]rev.ID{revision, first}, rev.Node{Held: true, At: o.Stamp, Key: st.UpdatedBy, Fields: fields}); err != nil {
		return false, err
	}
	return true, forgetAt(o, k, st, &anew, e, next)
}
