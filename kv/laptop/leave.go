package laptop

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/idempotency"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// reached says up to which sequence a centre has the changes of each database that were made here.
type reached map[scopes.Scope]uint64

// upto returns the sequence of the database that a record is in here. here is false if it is in none of them.
func (r reached) upto(st *table.Stored) (seq uint64, here bool) {
	for _, scope := range st.Scopes {
		if seq, here = r[scope]; here {
			return seq, true
		}
	}
	return 0, false
}

// Leave removes documents from the file that the centre has in none of some databases of records any more. It writes no tombstone. upto names
// these databases, and says of each up to which sequence the centre has the changes that were made here. A document that is in none of them
// here stays. A person's memberships leave with the person, also those that the centre has not taken. A document that has changed after the
// sequence stays too, and so does a person with such a membership; Leave returns held then.
func (lp *Laptop) Leave(p auth.Principal, ids []string, upto map[string]uint64) (held bool, err error) {
	if err := p.CheckWhole(); err != nil || len(ids) == 0 {
		return false, err
	}
	gone := make(map[string]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
	}
	r := reached{}
	for name, seq := range upto {
		if scope, ok := scopes.Parse(name); ok { // of all records none is another's
			r[scope] = seq
		}
	}
	goes := func(k *record.Kind, st *table.Stored) bool {
		seq, here := r.upto(st)
		return here && gone[k.DocID(st.ID)] && st.Seq <= seq
	}
	if err := idempotency.Redact(lp.tables, goes); err != nil {
		return false, err
	}
	err = table.DoEach(lp.tables, ids, func(o *table.Tx, id string) error {
		late, err := leave(o, id, r)
		held = held || late
		return err
	})
	return held, err
}

func leave(o *table.Tx, text string, r reached) (late bool, err error) {
	k, id, ok := record.ParseDocID(text)
	if !ok {
		return false, nil // of a kind that this version does not know
	}
	st, err := o.LoadAny(k, id)
	if err != nil || st == nil {
		return false, err
	}
	upto, here := r.upto(st)
	if !here {
		return false, nil
	}
	members, err := membershipsOf(o, k, id)
	if err != nil {
		return false, err
	}
	if st.Seq > upto || slices.ContainsFunc(members, func(m *table.Stored) bool { return m.Seq > upto }) {
		return true, nil
	}
	if err := table.NoteReleased(o); err != nil {
		return false, err
	}
	for _, m := range members {
		if err := merge.Purge(o, record.Membership, m); err != nil {
			return false, err
		}
	}
	return false, merge.Purge(o, k, st)
}

// membershipsOf returns the memberships of a person; of a record of another kind there are none.
func membershipsOf(o *table.Tx, k *record.Kind, id record.ID) (all []*table.Stored, err error) {
	if k != record.Person {
		return nil, nil
	}
	ids, err := o.Lookup(record.Membership, "person", id.Int())
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		m, err := o.Load(record.Membership, id)
		if err != nil || m == nil {
			return nil, table.OrCorrupt(err)
		}
		all = append(all, m)
	}
	return all, nil
}

// TakeBack reverts records to what the centre has of them. lacking has the revisions that the centre lacks, the refused one first; the
// centre has kept that one for its staff. A record stays as it is if the centre has nothing of it, or if this store does not have the body
// of the centre's revision any more.
func (lp *Laptop) TakeBack(p auth.Principal, lacking []merge.Revs) error {
	if err := p.CheckWhole(); err != nil || !lp.tables.Identity.IsLeaf() {
		return err
	}
	return table.DoEach(lp.tables, lacking, takeBack)
}

func takeBack(o *table.Tx, r merge.Revs) error {
	k, id, ok := record.ParseDocID(r.ID)
	if !ok || len(r.Revisions) == 0 {
		return nil
	}
	before, err := o.LoadAny(k, id)
	if err != nil || before == nil {
		return err
	}
	a := &merge.Arrival{Kind: k, ID: id, Via: before.Scopes[0], Before: before}
	if a.Tree, err = table.LoadTree(o.View, k, before); err != nil {
		return err
	}
	forgotten := a.Tree.Prune(r.Revisions[0], func(n rev.Node) bool { return !slices.Contains(r.Revisions, n.Revision) })
	if w := a.Tree.Winner(); len(forgotten) == 0 || !w.Held && !w.Deleted {
		return nil // nothing is left that could be shown
	}
	ad := &merge.Adoption{Arrival: a}
	if !before.Deleted {
		if ad.Was, err = before.Decode(k); err != nil {
			return err
		}
	}
	table.DropBodies(o, k, id, forgotten)
	return merge.CarryOut(o, ad)
}
