package merge

import (
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// EraseRecord ends every leaf of a record with an empty tombstone and removes all bodies. A record that is deleted already loses the
// bodies that are left.
func EraseRecord(o *table.Tx, k *record.Kind, id record.ID, author int64) error {
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
	next := &table.Stored{ID: st.ID, Header: st.Header}
	if t.Winner().Revision != st.Revision {
		next.UpdatedAt, next.UpdatedBy, next.Foreign = o.Stamp, author, false
	}
	next.Version = k.Version
	table.Shape(next, &t)
	if dropped := dropAll(&t); !dropped && next.Revision == st.Revision && next.Branched == st.Branched {
		return nil // nothing changes
	}
	return storeErased(o, k, st, next, &t)
}

// dropAll notes that a tree of a deleted record holds no bodies. dropped tells whether there were any.
func dropAll(t *rev.Tree) (dropped bool) {
	for _, n := range t.Nodes() {
		if n.Held && !n.Deleted {
			t.Hold(n.Revision, false)
			dropped = true
		}
	}
	return dropped
}

// storeErased stores a record as its tombstone, and nothing of what it was.
func storeErased(o *table.Tx, k *record.Kind, st, next *table.Stored, t *rev.Tree) error {
	c := table.Edit{Kind: k, ID: st.ID, Before: st}
	if !st.Deleted {
		var err error
		if c.Was, err = st.Decode(k); err != nil {
			return err
		}
	}
	if err := table.Forget(o, k, st.ID); err != nil {
		return err
	}
	if t.Len() > 1 {
		o.Put(table.TreeBucket, table.TreeKey(k, st.ID), t.Append(nil))
	}
	table.MoveLookups(o, c, next.UpdatedAt)
	table.Place(o, k, st, next)
	return nil
}

// EraseHolding is EraseRecord for the records of a holding. At the root the holding's ticket then has no holding; a laptop gets
// the ticket from its centre.
func EraseHolding(o *table.Tx, id record.ID, author int64) error {
	var ticket record.ID
	for _, k := range entry.HoldingKinds {
		st, err := o.Load(k, id)
		if err != nil {
			return err
		}
		if st != nil {
			ticket = entry.TicketOfPart(k, id, st.Body)
		}
		if err := EraseRecord(o, k, id, author); err != nil {
			return err
		}
	}
	if o.Store.Identity.IsLeaf() {
		return nil // the ticket arrives from the centre
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
