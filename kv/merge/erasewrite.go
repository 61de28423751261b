package merge

import (
	"slices"

	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// Obliterate ends every leaf of a record with an empty tombstone, and takes away the bodies of all its revisions. Of one that was
// deleted before the bodies go.
func Obliterate(o *table.Tx, k *record.Kind, id record.ID, author int64) error {
	st, err := o.LoadAny(k, id)
	if err != nil || st == nil {
		return err
	}
	t, err := table.LoadTree(o.View, k, st)
	if err != nil {
		return err
	}
	if err := table.EndAll(&t, rev.Node{Deleted: true, Held: true, At: o.Stamp, Key: author}); err != nil {
		return err
	}
	return become(o, k, st, &t, nil, author)
}

// Unname empties the Personal fields of a ticket's parts, and takes away the bodies of all revisions before.
func Unname(o *table.Tx, id record.ID, author int64) error {
	e, err := table.FindErased(o.View, record.Ticket, id)
	if err != nil || e == nil {
		return ErrorsOr(err, func() error { return ForgetTicket(o, id, e) })
	}
	again, err := passedOnToErased(o, e, id)
	if err != nil {
		return err
	}
	if o.Store.IsLeaf() {
		e.Again = again
		return ForgetTicket(o, id, e)
	}
	if again {
		e.Retire() // what stands on those may name the second holder
	}
	hash := o.Store.HashErased(record.Ticket, id)
	for _, k := range ledger.TicketParts {
		st, err := o.LoadAny(k, id)
		if err != nil {
			return err
		}
		if st == nil {
			continue
		}
		if since, err := table.StandsOn(o.View, e, k, st); err != nil {
			return err
		} else if since { // it may name somebody else by now
			if err := forgetBefore(o, k, st, e); err != nil {
				return err
			}
			continue
		}
		first, err := unnamePart(o, e, st, k, author)
		if err != nil {
			return err
		}
		e.First.Add(k, first)
	}
	o.Put(table.ErasedBucket, hash[:], e.Encode())
	return nil
}

// forgetBefore takes away what a part of a ticket was, but for the first revisions without names: a restored store that was brought what was
// made since has it still, and may have made of the two what has the name again.
func forgetBefore(o *table.Tx, k *record.Kind, st *table.Stored, e *table.Erased) error {
	t, err := table.LoadTree(o.View, k, st)
	if err != nil {
		return err
	}
	leaves, dropped := t.Leaves(), false
	for _, n := range t.Nodes() {
		isLeaf := slices.ContainsFunc(leaves, func(l rev.Node) bool { return l.Revision == n.Revision })
		if !n.Held || n.Deleted || isLeaf || slices.Contains(e.First[k], n.Revision) {
			continue
		}
		t.Hold(n.Revision, false)
		o.Delete(table.BodyBucket, table.BodyKey(k, st.Id, n.Revision))
		dropped = true
	}
	if dropped {
		o.Put(table.TreeBucket, table.TreeKey(k, st.Id), t.Append(nil))
	}
	return nil
}

// passedOnToErased tells a ticket that was passed on since its names were erased, to somebody who is erased too.
func passedOnToErased(o *table.Tx, e *table.Erased, id record.ID) (bool, error) {
	of, err := table.HolderErased(o.View, id)
	if err != nil || !of {
		return false, err
	}
	st, err := o.Load(record.Holder, id)
	if err != nil {
		return false, err
	}
	return table.StandsOn(o.View, e, record.Holder, st)
}

// unnamePart answers the first revision without a name: a new one also where there was none, for what somebody parted makes of the
// one before may have a name.
func unnamePart(o *table.Tx, e *table.Erased, st *table.Stored, k *record.Kind, author int64) (revision rev.ID, err error) {
	t, err := table.LoadTree(o.View, k, st)
	if err != nil || st.Deleted {
		return st.Revision, ErrorsOr(err, func() error { return become(o, k, st, &t, nil, author) })
	}
	was, err := st.Decode(k)
	if err != nil {
		return revision, err
	}
	is := was.Erased()
	path := e.Nameless(is, st.Revision)
	revision = path[0]
	node := rev.Node{Held: true, At: o.Stamp, Key: author, Fields: is.Differs(was)}
	if _, err := t.Graft(append(path, t.Path(st.Revision)...), node); err != nil {
		return revision, err
	}
	if err := endLosers(o, &t); err != nil {
		return revision, err
	}
	return revision, become(o, k, st, &t, is, author)
}

// unnameLate puts upon an arrival that was made before its ticket's names were erased a revision without them, the same whichever body
// came. The body that came is not kept: whoever has it gives it up for the new one, whose name is another.
func unnameLate(o *table.Tx, ad *Adoption) error {
	hash := o.Store.HashErased(ad.Kind, ad.Id)
	e, err := table.FindErased(o.View, ad.Kind, ad.Id)
	if err != nil {
		return table.OrCorrupt(err)
	}
	came := ad.Path[0]
	path := e.Nameless(ad.Doc, came)
	revision := path[0]
	if _, err := ad.Tree.Graft(append(path, ad.Tree.Path(came)...), rev.Node{Held: true, At: o.Stamp}); err != nil {
		return err
	}
	ad.Tree.Hold(came, false)
	ad.fresh[revision] = &fresh{doc: ad.Doc, body: ad.Doc.Encode()}
	if ad.Before == nil || len(e.First[ad.Kind]) > 0 { // else the part that is here has its names still
		e.First.Add(ad.Kind, revision)
		o.Put(table.ErasedBucket, hash[:], e.Encode())
	}
	return nil
}

// endLosers ends the losing branches of a record that stays.
func endLosers(o *table.Tx, t *rev.Tree) error {
	for _, leaf := range t.Conflicts() {
		node := rev.Node{Deleted: true, Ended: true, Held: true, At: o.Stamp}
		if _, err := t.Graft(append([]rev.ID{rev.Ending(leaf.Revision)}, t.Path(leaf.Revision)...), node); err != nil {
			return err
		}
	}
	return nil
}

// ForgetTicket takes away what a ticket was before. With e the parts of a laptop that were not made since its names were erased, as far
// as it was told which were, have none any more. With none another holder has the ticket now.
func ForgetTicket(o *table.Tx, id record.ID, e *table.Erased) error {
	passedOn, since := false, int64(0)
	if e != nil {
		var err error
		if passedOn, err = passedOnHere(o, id, e); err != nil {
			return err
		}
		if since, err = givenHere(o, id, e); err != nil {
			return err
		}
	}
	for _, k := range ledger.TicketParts {
		st, err := o.LoadAny(k, id)
		if err != nil {
			return err
		}
		if st == nil {
			continue
		}
		if e != nil && !st.Deleted {
			stands, err := standPart(o, k, st, e, passedOn)
			if err == nil && !stands && since != 0 {
				stands, err = standAnew(o, k, st, e, since)
			}
			if err != nil {
				return err
			}
			if stands {
				continue
			}
		}
		if err := forgetPast(o, k, st, e); err != nil {
			return err
		}
	}
	return nil
}

// forgetPast takes away the bodies of a part's other revisions. The part itself stays the revision that it is, be it without names.
func forgetPast(o *table.Tx, k *record.Kind, st *table.Stored, e *table.Erased) error {
	t, err := table.LoadTree(o.View, k, st)
	if err != nil {
		return err
	}
	var is *record.Doc
	if !st.Deleted {
		if is, err = withoutNames(o, k, st, &t, e); err != nil {
			return err
		}
	}
	if o.Store.IsLeaf() {
		return forgetAt(o, k, st, &t, e, is)
	}
	if !st.Deleted {
		if err := endLosers(o, &t); err != nil {
			return err
		}
	}
	return become(o, k, st, &t, is, st.UpdatedBy)
}

// become makes a record what its tree says, and keeps no other body than the winner's, which is is; nil where it is deleted.
func become(o *table.Tx, k *record.Kind, st *table.Stored, t *rev.Tree, is *record.Doc, author int64) error {
	next := &table.Stored{Id: st.Id, Header: st.Header}
	next.Version, next.Deleted = k.Version, is == nil
	if w := t.Winner().Revision; w != st.Revision {
		next.UpdatedAt, next.UpdatedBy, next.Foreign = o.Stamp, author, false
	}
	c := table.Edit{Kind: k, Id: st.Id, Before: st, Is: is}
	if !st.Deleted {
		var err error
		if c.Was, err = st.Decode(k); err != nil {
			return err
		}
	}
	table.Shape(next, t)
	isNext := func(rev rev.ID) bool { return rev == next.Revision }
	dropped, stays := releaseAll(t, isNext), next.Revision == st.Revision
	if stays && is != nil && len(is.Differs(c.Was)) > 0 {
		next.Foreign = true
	} else if stays && !dropped && next.Branched == st.Branched {
		return nil // it was so before
	}
	if err := table.Forget(o, k, st.Id); err != nil {
		return err
	}
	if t.Len() > 1 {
		o.Put(table.TreeBucket, table.TreeKey(k, st.Id), t.Append(nil))
	}
	if is != nil {
		next.Body = is.Encode()
	}
	table.MoveLookups(o, c, next.UpdatedAt)
	table.Place(o, k, st, next)
	return nil
}

// releaseAll notes that of a tree no bodies but some are held; dropped tells that there were others.
func releaseAll(t *rev.Tree, but func(rev.ID) bool) (dropped bool) {
	for _, n := range t.Nodes() {
		if n.Held && !n.Deleted && !but(n.Revision) {
			t.Hold(n.Revision, false)
			dropped = true
		}
	}
	return dropped
}

func ErrorsOr(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}
