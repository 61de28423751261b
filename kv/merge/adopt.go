package merge

import (
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/admission"
	"doorward/kv/entry"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Adoption is an arrival while it is stored: the record becomes what its tree says.
type Adoption struct {
	*Arrival
	fresh map[rev.ID]content // of the revisions that have just come or been made
	next  *table.Stored      // the record as it will be stored
	Was   *record.Doc        // the record before; nil = there was none, or it was deleted
	is    *record.Doc        // the record after; nil = deleted
	found table.ReadyLookups // of is
	mixed bool               // branches were merged
}

// Receive stores a revision that another store has made. If the record was made at two places, Receive merges the two.
func Receive(o *table.Tx, a *Arrival) error {
	setDefaults(o, a)
	ad, err := graft(o, a)
	if err != nil {
		return err
	}
	if err := joinDuplicates(o, ad); err != nil {
		return err
	}
	return updateParts(o, ad)
}

// setDefaults sets the fields that replies always show. Doorward's own servers send them; other programs may not.
func setDefaults(o *table.Tx, a *Arrival) {
	if a.Doc == nil {
		return
	}
	made := entry.Moment(o)
	if a.Node.At != 0 {
		made.Now = time.UnixMicro(a.Node.At).UTC()
	}
	if a.Doc.Complete(made) {
		a.remake(a.Doc)
	}
}

// Adopt stores a revision of a key. It is Receive without the merge of duplicates, which the rules of /v1 refuse before.
func Adopt(o *table.Tx, a *Arrival) (*table.Stored, error) {
	ad, err := graft(o, a)
	if err != nil {
		return nil, err
	}
	return ad.next, nil
}

// graft adds the revision to the record's tree, merges the branches, and stores the result: the winner is the record, and the
// bodies of the losers are kept.
func graft(o *table.Tx, a *Arrival) (*Adoption, error) {
	ad := &Adoption{Arrival: a, fresh: map[rev.ID]content{}}
	if err := listBrought(o, a); err != nil {
		return nil, err
	}
	if err := nameFields(o, a); err != nil {
		return nil, err
	}
	if _, err := a.Tree.Graft(a.Path, a.Node); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	if a.Doc != nil {
		ad.fresh[a.Path[0]] = a.content
	}
	if a.Before != nil && !a.Before.Deleted {
		var err error
		if ad.Was, err = a.Before.Decode(a.Kind); err != nil {
			return nil, err
		}
	}
	if err := resolve(o, ad); err != nil {
		return nil, err
	}
	return ad, CarryOut(o, ad)
}

// CarryOut stores an adoption: the record, its tree, its kept bodies, its lookups and its rows in the logs.
func CarryOut(o *table.Tx, ad *Adoption) error {
	o.State.Use(ad.Kind, ad.ID)
	ad.next = &table.Stored{ID: ad.ID, Header: table.Header{Version: ad.Kind.Version}}
	dropped := table.Shape(ad.next, &ad.Tree)
	if err := chooseBody(o, ad); err != nil {
		return err
	}
	if err := keepLosers(o, ad); err != nil {
		return err
	}
	table.DropBodies(o, ad.Kind, ad.ID, dropped)
	if ad.Kind.Fact {
		return placeFact(o, ad)
	}
	if ad.Before != nil || ad.Tree.Len() > 1 || ad.Node.Node != (ulid.ULID{}) {
		o.Put(table.TreeBucket, table.TreeKey(ad.Kind, ad.ID), ad.Tree.Append(nil))
	}
	if err := chooseScopes(o, ad); err != nil {
		return err
	}
	if err := table.Welcome(o, ad.Kind, ad.Before, ad.next); err != nil {
		return err
	}
	table.MoveLookups(o, table.Edit{Kind: ad.Kind, ID: ad.ID, Before: ad.Before, Was: ad.Was, Is: ad.is, Ready: ad.found}, ad.next.UpdatedAt)
	table.Place(o, ad.Kind, ad.Before, ad.next)
	if ad.next.Deleted {
		table.NoteMerged(o, ad.Kind, ad.ID, &ad.Tree)
	}
	return updateDependents(o, ad)
}

// chooseBody gives the record the body of the winner. A winner that was the winner before keeps its time and author.
func chooseBody(o *table.Tx, ad *Adoption) error {
	next, before := ad.next, ad.Before
	next.UpdatedAt, next.UpdatedBy = o.Stamp, ad.Tree.Winner().Key
	stays := before != nil && before.Revision == next.Revision
	if stays {
		next.UpdatedAt, next.UpdatedBy = before.UpdatedAt, before.UpdatedBy
	}
	if next.Deleted {
		return nil
	}
	if f, ok := ad.fresh[next.Revision]; ok {
		ad.is, ad.found, next.Foreign, next.Body = f.Doc, f.ready, f.foreign, f.body
		return nil
	}
	kept := before
	if !stays {
		var err error
		if kept, err = table.KeptBody(o.View, ad.Kind, ad.ID, next.Revision); err != nil || kept == nil {
			return table.OrCorrupt(err)
		}
		o.Delete(table.BodyBucket, table.BodyKey(ad.Kind, ad.ID, next.Revision))
	}
	var err error
	next.Foreign, next.Version, next.Body = kept.Foreign, kept.Version, kept.Body
	ad.is, err = kept.Decode(ad.Kind)
	return err
}

// keepLosers keeps the body that the record had before, and the arrived bodies that have lost.
func keepLosers(o *table.Tx, ad *Adoption) error {
	if err := pruneBodies(o, ad); err != nil {
		return err
	}
	if b := ad.Before; b != nil && b.Revision != ad.next.Revision && ad.Tree.Find(b.Revision).Held {
		table.KeepBody(o, ad.Kind, b)
	}
	for rev, f := range ad.fresh {
		if rev == ad.next.Revision || !ad.Tree.Find(rev).Held {
			continue
		}
		loser := &table.Stored{ID: ad.ID, Header: table.Header{Version: ad.Kind.Version, Revision: rev, Foreign: f.foreign}, Body: f.body}
		table.KeepBody(o, ad.Kind, loser)
	}
	return nil
}

// KeepKnown keeps the body of a revision that the record had once and holds no body of.
func KeepKnown(o *table.Tx, a *Arrival) {
	n := a.Tree.Find(a.Path[0])
	if a.Doc == nil || a.Kind.Fact || n.Held || n.Deleted {
		return
	}
	a.Tree.Hold(n.Revision, true)
	o.Put(table.TreeBucket, table.TreeKey(a.Kind, a.ID), a.Tree.Append(nil))
	table.KeepBody(o, a.Kind, &table.Stored{ID: a.ID, Header: table.Header{Version: a.Kind.Version, Revision: n.Revision, Foreign: a.foreign}, Body: a.body})
}

// chooseScopes sets the scopes that the record is in now. A deleted record stays in its last scopes.
func chooseScopes(o *table.Tx, ad *Adoption) (err error) {
	winner := *ad.Arrival
	winner.Doc = ad.is
	ad.next.Scopes, err = ScopesOfArrival(o, &winner)
	return err
}

// placeFact stores a fact that has arrived and updates the admissions. The store's clock moves beyond the fact's.
func placeFact(o *table.Tx, ad *Adoption) error {
	if err := chooseScopes(o, ad); err != nil {
		return err
	}
	admission.IndexFact(o, ad.Kind, ad.next)
	table.Place(o, ad.Kind, nil, ad.next)
	o.State.Observe(admission.Of(ad.next).Hlc, o.Now)
	return admission.SettleFact(o, ad.Kind, ad.next)
}

// updateDependents updates what depends on a record of this kind: an erasure is queued, a ticket's admissions, the ticket that it was merged into
// and a person's memberships are updated.
func updateDependents(o *table.Tx, ad *Adoption) error {
	switch ad.Kind {
	case record.Erasure:
		if ad.is == nil {
			return nil
		}
		if k, known := record.ByName(ad.is.Text("kind")); known {
			QueueErasure(o, k, ledger.ErasedHash(ad.ID.ULID()))
		}
	case record.Ticket:
		if err := admission.SettleTicket(o, ad.ID); err != nil {
			return err
		}
		return tightenByEdit(o, ad)
	case record.Person:
		if ad.Before == nil || ad.Before.Home(record.Person) != ad.next.Home(record.Person) {
			return table.Rehome(o, ad.ID)
		}
	}
	return nil
}

// pruneBodies removes bodies that a laptop or a copy does not keep, because only the root merges and restores. Of a record that
// another store has deleted it removes every body below the tombstone, because a person in it may be erased there. Of a holding
// it removes every old body. Bodies of leaves stay: a leaf that was made here may be in no other store.
func pruneBodies(o *table.Tx, ad *Adoption) error {
	if !o.Store.Identity.IsLeaf() {
		return nil
	}
	ended := endedBy(ad)
	old := ended
	if ad.Kind.OfHolding() {
		old = ad.Tree.Nodes()
	}
	if len(old) == 0 {
		return nil // as of most records
	}
	stays := map[rev.ID]bool{}
	for _, leaf := range ad.Tree.Leaves() {
		stays[leaf.Revision] = true
	}
	for revision := range ad.fresh {
		stays[revision] = true
	}
	var dropped []rev.ID
	for _, n := range old {
		if n.Held && !n.Deleted && !stays[n.Revision] {
			ad.Tree.Hold(n.Revision, false)
			dropped = append(dropped, n.Revision)
		}
	}
	table.DropBodies(o, ad.Kind, ad.ID, dropped)
	if len(dropped) == 0 || len(ended) == 0 && !ad.losesNames() {
		return nil
	}
	return table.NoteReleased(o)
}

// endedBy are the revisions below a tombstone that has arrived and that another store has made.
func endedBy(ad *Adoption) (below []rev.Node) {
	if len(ad.Path) == 0 {
		return nil // an adoption without an arrival
	}
	n := ad.Tree.Find(ad.Path[0])
	if !n.Deleted || n.At != 0 && n.Node == (ulid.ULID{}) {
		return nil
	}
	for _, revision := range ad.Tree.Path(n.Revision) {
		below = append(below, ad.Tree.Find(revision))
	}
	return below
}

// losesNames tells whether the record had a name, e-mail or phone and has none now.
func (ad *Adoption) losesNames() bool {
	names := func(d *record.Doc) bool { return !d.IsNull("full_name") || !d.IsNull("email") || !d.IsNull("phone") }
	return ad.Was != nil && ad.is != nil && names(ad.Was) && !names(ad.is)
}

// resolve merges the branches of a record as record.Resolve says, in the transaction that the revision arrives in. Only the
// root merges. A store with a centre shows the winner and waits for the centre.
func resolve(o *table.Tx, ad *Adoption) error {
	if o.Store.Identity.IsLeaf() || ad.Kind.Fact {
		return nil
	}
	r, err := record.Resolve(ad.Kind, &ad.Tree, func(rev rev.ID) (*record.Doc, error) { return bodyOf(o, ad, rev) })
	if err != nil || r == nil {
		return err
	}
	ad.mixed = true
	for _, c := range r.Clashes {
		if err := listConflict(o, ad.Kind, ad.ID, c, ad.Tree.Find(c.Leaf).Node); err != nil {
			return err
		}
	}
	if r.Revision != r.Parent {
		node := rev.Node{Held: true, At: o.Stamp, Fields: r.Fields}
		if err := ad.graft(r.Revision, r.Parent, node); err != nil {
			return err
		}
		ad.fresh[r.Revision] = newContent(r.Doc)
	}
	for _, leaf := range r.Ended {
		node := rev.Node{Deleted: true, Ended: true, Held: true, At: o.Stamp}
		if err := ad.graft(rev.Ending(leaf), leaf, node); err != nil {
			return err
		}
	}
	return nil
}

// graft adds a revision that this store makes to the record's tree.
func (ad *Adoption) graft(revision, parent rev.ID, node rev.Node) error {
	_, err := ad.Tree.Graft(append([]rev.ID{revision}, ad.Tree.Path(parent)...), node)
	return err
}

// bodyOf returns the body of a revision that has just arrived, is the record, or is kept; nil = the body is not held.
func bodyOf(o *table.Tx, ad *Adoption, rev rev.ID) (*record.Doc, error) {
	if f, ok := ad.fresh[rev]; ok {
		return f.Doc, nil
	}
	if ad.Before != nil && ad.Before.Revision == rev {
		return ad.Was, nil
	}
	return table.KeptDoc(o.View, ad.Kind, ad.ID, rev)
}

// listConflict writes a conflict for staff: a value that is not the record's, and the node that wrote it. The zero node is this
// one.
func listConflict(o *table.Tx, k *record.Kind, id record.ID, c record.Clash, by ulid.ULID) error {
	d := record.Conflict.NewDoc()
	d.Set("kind", value.Quote(k.Name))
	d.Set("record_id", value.Quote(k.FormatID(id)))
	d.Set("field", value.Quote(c.Field))
	if c.Winner != nil {
		d.Set("winner", slices.Clone(c.Winner))
	}
	if c.Other != nil {
		d.Set("other", slices.Clone(c.Other))
	}
	d.Set("at", value.Time(o.Now))
	d.Set("node", value.Quote(nodeText(o, by)))
	_, err := o.Write(table.Edit{Kind: record.Conflict, ID: table.NewFactID(o.Now), Is: d})
	return err
}

// nodeText is the name of a node in a conflict.
func nodeText(o *table.Tx, node ulid.ULID) string {
	if node == (ulid.ULID{}) {
		return o.Store.Identity.Node()
	}
	return node.String()
}

// ListLost lists for staff the losing edits that a deletion here ends, because the author of the deletion has not seen them.
func ListLost(o *table.Tx, c table.Edit, t *rev.Tree) error {
	for _, leaf := range t.Leaves() {
		if leaf.Deleted || leaf.Revision == c.Before.Revision {
			continue
		}
		lost, err := table.KeptDoc(o.View, c.Kind, c.ID, leaf.Revision)
		if err != nil || lost == nil {
			return table.OrCorrupt(err)
		}
		if err := listConflict(o, c.Kind, c.ID, record.Clash{Other: lost.Canonical()}, leaf.Node); err != nil {
			return err
		}
	}
	return nil
}

// If a laptop deletes a record while an edit has lost there, it ends that edit's branch too. The centre may never have seen the
// edit, because only leaves are pushed. So the tombstone brings along the edit that it ended, and the centre lists the edit if
// it does not have it. A tombstone's body is no part of its revision.
const lostMember = "lost"

// LostBody is the body of a tombstone that this laptop has made on a record with branches: the edit that the deletion has
// ended.
func LostBody(v *table.View, k *record.Kind, st *table.Stored, n rev.Node) ([]byte, error) {
	if !st.Deleted || !st.Branched || n.Node != (ulid.ULID{}) || !v.Store.Identity.IsLeaf() {
		return []byte("{}"), nil
	}
	d, err := table.KeptDoc(v, k, st.ID, n.Parent)
	if err != nil || d == nil {
		return []byte("{}"), err
	}
	return append(value.AppendMember([]byte{'{'}, lostMember, d.Canonical()), '}'), nil
}

// readLost reads the edit that a tombstone brings.
func (a *Arrival) readLost(tombstone []byte) (err error) {
	lost := record.Body{Shown: tombstone[1 : len(tombstone)-1]}.Member(lostMember)
	if len(lost) < 2 || lost[0] != '{' {
		return nil
	}
	if a.Lost, err = a.Kind.Decode(record.Body{Shown: lost[1 : len(lost)-1]}); err != nil {
		return fmt.Errorf("%w: %w", ErrDocument, err)
	}
	return nil
}

// listBrought lists for staff the edit that a tombstone brings, unless its revision is here.
func listBrought(o *table.Tx, a *Arrival) error {
	if a.Lost == nil || len(a.Path) < 2 || a.Tree.Find(a.Path[1]).Held {
		return nil
	}
	return listConflict(o, a.Kind, a.ID, record.Clash{Other: a.Lost.Canonical()}, a.Node.Node)
}
