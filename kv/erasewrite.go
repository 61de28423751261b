package kv

import (
	"doorward/kv/record"
)

// obliterate ends every leaf of a record with an empty tombstone, and takes away the bodies of all its revisions. Of one that was
// deleted before the bodies go.
func (o *op) obliterate(k *record.Kind, id record.ID, author int64) error {
	st, err := o.loadAny(k, id)
	if err != nil || st == nil {
		return err
	}
	t, err := o.tree(k, st)
	if err != nil {
		return err
	}
	if err := endAll(&t, record.TreeNode{Deleted: true, Held: true, At: o.stamp, Key: author}); err != nil {
		return err
	}
	return o.become(k, st, &t, nil, author)
}

// unname empties the Personal fields of a ticket's parts, and takes away the bodies of all revisions before.
func (o *op) unname(id record.ID, author int64) error {
	e, err := o.erased(record.Ticket, id)
	if err != nil || e == nil || o.store.isLeaf() {
		return errorsOr(err, func() error { return o.forgetTicket(id) }) // the centre's revision without names comes by itself
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
		if _, done := e.first[k]; done {
			continue // it may name somebody else by now
		}
		if e.first[k], err = o.unnamePart(k, st, author); err != nil {
			return err
		}
	}
	o.put(erasedBucket, hash[:], e.encode())
	return nil
}

// unnamePart answers the first revision without a name.
func (o *op) unnamePart(k *record.Kind, st *stored, author int64) (rev record.Revision, err error) {
	t, err := o.tree(k, st)
	if err != nil || st.deleted {
		return st.revision, errorsOr(err, func() error { return o.become(k, st, &t, nil, author) })
	}
	was, err := st.decode(k)
	if err != nil {
		return rev, err
	}
	is := was.Erased()
	rev = st.revision
	if fields := is.Differs(was); len(fields) > 0 {
		rev = record.Next(st.revision, false, is.Canonical())
		node := record.TreeNode{Held: true, At: o.stamp, Key: author, Fields: fields}
		if _, err := t.Graft(append([]record.Revision{rev}, t.Path(st.revision)...), node); err != nil {
			return rev, err
		}
	}
	if err := o.endLosers(&t); err != nil {
		return rev, err
	}
	return rev, o.become(k, st, &t, is, author)
}

// endLosers ends the losing branches of a record that stays.
func (o *op) endLosers(t *record.Tree) error {
	for _, leaf := range t.Conflicts() {
		node := record.TreeNode{Deleted: true, Ended: true, Held: true, At: o.stamp}
		if _, err := t.Graft(append([]record.Revision{record.Ending(leaf.Revision)}, t.Path(leaf.Revision)...), node); err != nil {
			return err
		}
	}
	return nil
}

// forgetTicket takes away what a ticket was before: another holder has it now.
func (o *op) forgetTicket(id record.ID) error {
	for _, k := range ticketParts {
		st, err := o.loadAny(k, id)
		if err != nil {
			return err
		}
		if st == nil {
			continue
		}
		if err := o.forgetPast(k, st); err != nil {
			return err
		}
	}
	return nil
}

// forgetPast takes away the bodies of a record's other revisions.
func (o *op) forgetPast(k *record.Kind, st *stored) error {
	t, err := o.tree(k, st)
	if err != nil {
		return err
	}
	var is *record.Doc
	if !st.deleted {
		if is, err = st.decode(k); err != nil {
			return err
		}
		if err := o.endLosers(&t); err != nil {
			return err
		}
	}
	return o.become(k, st, &t, is, st.updatedBy)
}

// become makes a record what its tree says, and keeps no other body than the winner's, which is is; nil where it is deleted.
func (o *op) become(k *record.Kind, st *stored, t *record.Tree, is *record.Doc, author int64) error {
	next := &stored{id: st.id, header: st.header}
	next.version, next.deleted = k.Version, is == nil
	if w := t.Winner().Revision; w != st.revision {
		next.updatedAt, next.updatedBy, next.foreign = o.stamp, author, false
	}
	shape(next, t)
	if dropped := releaseAll(t, next.revision); !dropped && next.revision == st.revision && next.branched == st.branched {
		return nil // it was so before
	}
	if err := o.forget(k, st.id); err != nil {
		return err
	}
	if t.Len() > 1 {
		o.put(treeBucket, treeKey(k, st.id), t.Append(nil))
	}
	c := change{kind: k, id: st.id, before: st, is: is}
	var err error
	if !st.deleted {
		if c.was, err = st.decode(k); err != nil {
			return err
		}
	}
	if is != nil {
		next.body = is.Encode()
	}
	o.moveLookups(c, next.updatedAt)
	o.place(k, st, next)
	return nil
}

// releaseAll notes that of a tree no body but one is held; dropped tells that there were others.
func releaseAll(t *record.Tree, but record.Revision) (dropped bool) {
	for _, n := range t.Nodes() {
		if n.Held && !n.Deleted && n.Revision != but {
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
