package merge

import (
	"doorward/kv/entry"
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

// ObliterateHolding is obliterate for a holding. Its ticket has none then.
func ObliterateHolding(o *table.Tx, id record.ID, author int64) error {
	var ticket record.ID
	for _, k := range entry.HoldingKinds {
		st, err := o.Load(k, id)
		if err != nil {
			return err
		}
		if st != nil {
			ticket = entry.TicketOfPart(k, id, st.Body)
		}
		if err := Obliterate(o, k, id, author); err != nil {
			return err
		}
	}
	if o.Store.IsLeaf() {
		return nil // the centre brings the ticket
	}
	st, err := o.Load(record.Ticket, ticket)
	if err != nil || st == nil || entry.PresentOf(st.Body) != id {
		return err
	}
	was, err := st.Decode(record.Ticket)
	if err != nil {
		return err
	}
	is := was.Clone()
	is.Set("holding", []byte("null"))
	_, err = o.Write(table.Edit{Kind: record.Ticket, ID: ticket, Before: st, Was: was, Is: is, Author: author})
	return err
}

// become makes a record what its tree says, and keeps no other body than the winner's, which is is; nil where it is deleted.
func become(o *table.Tx, k *record.Kind, st *table.Stored, t *rev.Tree, is *record.Doc, author int64) error {
	next := &table.Stored{ID: st.ID, Header: st.Header}
	next.Version, next.Deleted = k.Version, is == nil
	if w := t.Winner().Revision; w != st.Revision {
		next.UpdatedAt, next.UpdatedBy, next.Foreign = o.Stamp, author, false
	}
	c := table.Edit{Kind: k, ID: st.ID, Before: st, Is: is}
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
	if err := table.Forget(o, k, st.ID); err != nil {
		return err
	}
	if t.Len() > 1 {
		o.Put(table.TreeBucket, table.TreeKey(k, st.ID), t.Append(nil))
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
