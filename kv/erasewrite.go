package kv

import (
	"slices"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// obliterate ends every leaf of a record with an empty tombstone, and takes away the bodies of all its revisions. Of one that was
// deleted before the bodies go.
func obliterate(o *op, k *record.Kind, id record.ID, author int64) error {
	st, err := o.loadAny(k, id)
	if err != nil || st == nil {
		return err
	}
	t, err := loadTree(o.sight, k, st)
	if err != nil {
		return err
	}
	if err := endAll(&t, rev.Node{Deleted: true, Held: true, At: o.stamp, Key: author}); err != nil {
		return err
	}
	return become(o, k, st, &t, nil, author)
}

// unname empties the Personal fields of a ticket's parts, and takes away the bodies of all revisions before.
func unname(o *op, id record.ID, author int64) error {
	e, err := findErased(o.sight, record.Ticket, id)
	if err != nil || e == nil {
		return errorsOr(err, func() error { return forgetTicket(o, id, e) })
	}
	again, err := passedOnToErased(o, e, id)
	if err != nil {
		return err
	}
	if o.store.isLeaf() {
		e.again = again
		return forgetTicket(o, id, e)
	}
	if again {
		e.retire() // what stands on those may name the second holder
	}
	hash := o.store.hashErased(record.Ticket, id)
	for _, k := range ticketParts {
		st, err := o.loadAny(k, id)
		if err != nil {
			return err
		}
		if st == nil {
			continue
		}
		if since, err := standsOn(o.sight, e, k, st); err != nil {
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
		e.first.add(k, first)
	}
	o.put(erasedBucket, hash[:], e.encode())
	return nil
}

// forgetBefore takes away what a part of a ticket was, but for the first revisions without names: a restored store that was brought what was
// made since has it still, and may have made of the two what has the name again.
func forgetBefore(o *op, k *record.Kind, st *stored, e *erased) error {
	t, err := loadTree(o.sight, k, st)
	if err != nil {
		return err
	}
	leaves, dropped := t.Leaves(), false
	for _, n := range t.Nodes() {
		isLeaf := slices.ContainsFunc(leaves, func(l rev.Node) bool { return l.Revision == n.Revision })
		if !n.Held || n.Deleted || isLeaf || slices.Contains(e.first[k], n.Revision) {
			continue
		}
		t.Hold(n.Revision, false)
		o.delete(bodyBucket, bodyKey(k, st.id, n.Revision))
		dropped = true
	}
	if dropped {
		o.put(treeBucket, treeKey(k, st.id), t.Append(nil))
	}
	return nil
}

// passedOnToErased tells a ticket that was passed on since its names were erased, to somebody who is erased too.
func passedOnToErased(o *op, e *erased, id record.ID) (bool, error) {
	of, err := holderErased(o.sight, id)
	if err != nil || !of {
		return false, err
	}
	st, err := o.load(record.Holder, id)
	if err != nil {
		return false, err
	}
	return standsOn(o.sight, e, record.Holder, st)
}

// unnamePart answers the first revision without a name: a new one also where there was none, for what somebody parted makes of the
// one before may have a name.
func unnamePart(o *op, e *erased, st *stored, k *record.Kind, author int64) (revision rev.ID, err error) {
	t, err := loadTree(o.sight, k, st)
	if err != nil || st.deleted {
		return st.revision, errorsOr(err, func() error { return become(o, k, st, &t, nil, author) })
	}
	was, err := st.decode(k)
	if err != nil {
		return revision, err
	}
	is := was.Erased()
	path := e.nameless(is, st.revision)
	revision = path[0]
	node := rev.Node{Held: true, At: o.stamp, Key: author, Fields: is.Differs(was)}
	if _, err := t.Graft(append(path, t.Path(st.revision)...), node); err != nil {
		return revision, err
	}
	if err := endLosers(o, &t); err != nil {
		return revision, err
	}
	return revision, become(o, k, st, &t, is, author)
}

// unnameLate puts upon an arrival that was made before its ticket's names were erased a revision without them, the same whichever body
// came. The body that came is not kept: whoever has it gives it up for the new one, whose name is another.
func unnameLate(o *op, ad *adoption) error {
	hash := o.store.hashErased(ad.kind, ad.id)
	e, err := findErased(o.sight, ad.kind, ad.id)
	if err != nil {
		return orCorrupt(err)
	}
	came := ad.path[0]
	path := e.nameless(ad.doc, came)
	revision := path[0]
	if _, err := ad.tree.Graft(append(path, ad.tree.Path(came)...), rev.Node{Held: true, At: o.stamp}); err != nil {
		return err
	}
	ad.tree.Hold(came, false)
	ad.fresh[revision] = &fresh{doc: ad.doc, body: ad.doc.Encode()}
	if ad.before == nil || len(e.first[ad.kind]) > 0 { // else the part that is here has its names still
		e.first.add(ad.kind, revision)
		o.put(erasedBucket, hash[:], e.encode())
	}
	return nil
}

// endLosers ends the losing branches of a record that stays.
func endLosers(o *op, t *rev.Tree) error {
	for _, leaf := range t.Conflicts() {
		node := rev.Node{Deleted: true, Ended: true, Held: true, At: o.stamp}
		if _, err := t.Graft(append([]rev.ID{rev.Ending(leaf.Revision)}, t.Path(leaf.Revision)...), node); err != nil {
			return err
		}
	}
	return nil
}

// forgetTicket takes away what a ticket was before. With e the parts of a laptop that were not made since its names were erased, as far
// as it was told which were, have none any more. With none another holder has the ticket now.
func forgetTicket(o *op, id record.ID, e *erased) error {
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
	for _, k := range ticketParts {
		st, err := o.loadAny(k, id)
		if err != nil {
			return err
		}
		if st == nil {
			continue
		}
		if e != nil && !st.deleted {
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
func forgetPast(o *op, k *record.Kind, st *stored, e *erased) error {
	t, err := loadTree(o.sight, k, st)
	if err != nil {
		return err
	}
	var is *record.Doc
	if !st.deleted {
		if is, err = withoutNames(o, k, st, &t, e); err != nil {
			return err
		}
	}
	if o.store.isLeaf() {
		return forgetAt(o, k, st, &t, e, is)
	}
	if !st.deleted {
		if err := endLosers(o, &t); err != nil {
			return err
		}
	}
	return become(o, k, st, &t, is, st.updatedBy)
}

// become makes a record what its tree says, and keeps no other body than the winner's, which is is; nil where it is deleted.
func become(o *op, k *record.Kind, st *stored, t *rev.Tree, is *record.Doc, author int64) error {
	next := &stored{id: st.id, header: st.header}
	next.version, next.deleted = k.Version, is == nil
	if w := t.Winner().Revision; w != st.revision {
		next.updatedAt, next.updatedBy, next.foreign = o.stamp, author, false
	}
	c := change{kind: k, id: st.id, before: st, is: is}
	if !st.deleted {
		var err error
		if c.was, err = st.decode(k); err != nil {
			return err
		}
	}
	shape(next, t)
	isNext := func(rev rev.ID) bool { return rev == next.revision }
	dropped, stays := releaseAll(t, isNext), next.revision == st.revision
	if stays && is != nil && len(is.Differs(c.was)) > 0 {
		next.foreign = true
	} else if stays && !dropped && next.branched == st.branched {
		return nil // it was so before
	}
	if err := forget(o, k, st.id); err != nil {
		return err
	}
	if t.Len() > 1 {
		o.put(treeBucket, treeKey(k, st.id), t.Append(nil))
	}
	if is != nil {
		next.body = is.Encode()
	}
	moveLookups(o, c, next.updatedAt)
	place(o, k, st, next)
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

func errorsOr(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}
