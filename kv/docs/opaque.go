package docs

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// writeOpaque stores a replicated revision that a laptop, or this store's own replicator, brings.
func (db *scopeDocs) writeOpaque(o *table.Tx, p auth.Principal, in *merge.DocWrite) (rev rev.ID, err error) {
	spot, err := db.spot(p)
	if err != nil {
		return rev, err
	}
	q := auth.Question{Verb: auth.Make, Via: db.scope, To: [2]auth.Spot{spot}}
	if auth.May(p, q).Refuses() || len(in.Path) == 0 || len(in.Content) > entry.MaxRecordDoc {
		return rev, table.Refused(auth.NoKind.String())
	}
	d, err := table.LoadOpaque(o.View, db.scope, in.ID)
	if err != nil {
		return rev, err
	}
	if d == nil {
		d = &table.Opaque{}
	}
	if d.Tree.Has(in.Path[0]) {
		return in.Path[0], nil
	}
	if !p.IsOperator() {
		if value.HasLongNumber(in.Content) {
			return rev, table.Refused(longNumber("the document"))
		}
		if err := o.Store.Limits.MayBranch(&d.Tree, in.Path); err != nil {
			return rev, err
		}
	}
	a := &merge.Arrival{Node: in.Authored(o)}
	if err := sign(o, p, a, in); err != nil {
		return rev, err
	}
	if _, err := d.Tree.Graft(in.Path, a.Node); err != nil {
		return rev, fmt.Errorf("%w: %w", merge.ErrDocument, err)
	}
	o.Put(table.OpaqueBodyBucket, table.OpaqueBodyKey(db.scope, in.ID, in.Path[0]), in.Content)
	placeOpaque(o, db.scope, in.ID, d)
	return in.Path[0], nil
}

// placeOpaque puts a document's row and moves its row in the log to the end.
func placeOpaque(o *table.Tx, s scopes.Scope, doc string, d *table.Opaque) {
	dropped := d.Tree.Stem(table.RevsLimit)
	leaves := d.Tree.Leaves()
	for _, rev := range append(dropped, table.Release(&d.Tree, leaves)...) {
		o.Delete(table.OpaqueBodyBucket, table.OpaqueBodyKey(s, doc, rev))
	}
	c := table.ListChange{From: d.Mark(s)}
	if d.Seq != 0 {
		o.Delete(table.ScopeLogBucket, table.ScopeSeqKey(nil, s, d.Seq))
	}
	o.State.Seq++
	d.Seq, d.Deleted = o.State.Seq, leaves[0].Deleted
	c.To = d.Mark(s)
	o.Put(table.ScopeLogBucket, table.ScopeSeqKey(nil, s, d.Seq), d.AppendLog(nil, doc))
	o.Put(table.OpaqueBucket, table.OpaqueKey(s, doc), d.Tree.Append(append(table.SeqKey(d.Seq), table.Flag(d.Deleted))))
	o.Changed = append(o.Changed, c)
}

// opaqueRevision reads a revision's body, if it is there.
func opaqueRevision(v *table.View, s scopes.Scope, doc string, n rev.Node, rev rev.ID) (DocRevision, error) {
	r := DocRevision{Revision: rev, Deleted: n.Deleted}
	row, err := v.Get(table.OpaqueBodyBucket, table.OpaqueBodyKey(s, doc, rev))
	r.Body = bytes.Clone(row)
	return r, err
}

func (db *scopeDocs) readOpaque(v *table.View, id string, ask Ask) (doc Doc, err error) {
	d, err := table.LoadOpaque(v, db.scope, id)
	if err != nil || d == nil {
		return doc, keys.OrNotFound(err)
	}
	doc = Doc{ID: id, Seq: d.Seq, Deleted: d.Deleted, Tree: d.Tree}
	for _, rev := range ask.of(&d.Tree) {
		r, err := opaqueRevision(v, db.scope, id, d.Tree.Find(rev), rev)
		if err != nil {
			return doc, err
		}
		doc.Revisions = append(doc.Revisions, r)
	}
	return doc, nil
}

// listOpaque are the live opaque documents that a range wants.
func (db *scopeDocs) listOpaque(v *table.View, r Range) (page []DocRow, err error) {
	prefix := table.AppendScope(nil, db.scope)
	from := table.OpaqueKey(db.scope, r.From)
	if r.Descending && r.From == "" {
		from = table.OpaqueKey(db.scope, "\xff") // no id has this byte
	}
	if db.scope.Sort == 0 {
		return nil, nil
	}
	err = v.Walk(table.OpaqueBucket, r.Descending, prefix, from, func(key, row []byte) (bool, error) {
		d, err := table.ParseOpaque(row)
		if err != nil || len(page) >= min(r.Limit, DocPage) {
			return false, err
		}
		if !d.Deleted && !(r.Past && bytes.Equal(key, from)) {
			page = append(page, DocRow{ID: string(key[len(prefix):]), Seq: d.Seq, Winner: d.Tree.Winner().Revision})
		}
		return true, nil
	})
	return page, err
}

// VerifyOpaque checks a row of an opaque document against the others.
func VerifyOpaque(v *table.View, b engine.Bucket, key, value []byte) error {
	s, rest, err := table.CutScope(key)
	if err != nil {
		return err
	}
	doc, rev := string(rest), rev.ID{}
	if b == table.OpaqueBodyBucket {
		if doc, rev, err = cutRevision(rest); err != nil {
			return err
		}
	}
	d, err := table.LoadOpaque(v, s, doc)
	if err != nil || d == nil {
		return errors.Join(err, fmt.Errorf("a row of an opaque document that is not there: %w", table.OrCorrupt(err)))
	}
	if b == table.OpaqueBodyBucket {
		if !d.Tree.Find(rev).Held {
			return fmt.Errorf("the body of %s is no opaque document's", rev)
		}
		return nil
	}
	row, err := v.Get(table.ScopeLogBucket, table.ScopeSeqKey(nil, s, d.Seq))
	if err != nil || !slices.Equal(row, d.AppendLog(nil, doc)) || d.Tree.Winner().Deleted != d.Deleted {
		return errors.Join(err, fmt.Errorf("opaque document at %d has no row in the log of its scope", d.Seq))
	}
	for _, n := range d.Tree.Nodes() {
		if row, err := v.Get(table.OpaqueBodyBucket, table.OpaqueBodyKey(s, doc, n.Revision)); err != nil || n.Held && row == nil {
			return errors.Join(err, fmt.Errorf("opaque document at %d lacks the body of %s", d.Seq, n.Revision))
		}
	}
	return nil
}

// VerifyOpaqueLog checks that a row of a scope's log is its opaque document's latest change.
func VerifyOpaqueLog(v *table.View, s scopes.Scope, seq uint64, row []byte) error {
	c, err := table.ParseOpaqueLog(seq, row)
	if err != nil {
		return err
	}
	d, err := table.LoadOpaque(v, s, c.Doc)
	if err != nil || d == nil || d.Seq != seq {
		return errors.Join(err, fmt.Errorf("row %d of a scope is not its document's latest change", seq))
	}
	return nil
}
