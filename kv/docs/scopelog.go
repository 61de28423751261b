package docs

import (
	"encoding/binary"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// rows calls fn with the rows of the log that the reader sees.
func (db *scopeDocs) rows(v *table.View, f Feed, fn func(table.ScopeChange) (bool, error)) error {
	b, prefix := table.ScopeLogBucket, db.unknown().Prefix
	if db.access.scope.Sort == 0 {
		b, prefix = table.LogBucket, nil
	}
	return walkLog(v, b, prefix, f, func(seq uint64, row []byte) (bool, error) {
		c, err := table.ParseScopeLog(seq, row)
		if err != nil || !db.access.shows(c.Kind) {
			return err == nil, err
		}
		return fn(c)
	})
}

// change reads the document that a row of the log names. Most rows tell all of it.
func (db *scopeDocs) change(v *table.View, c table.ScopeChange, bodies bool) (d DocChange, err error) {
	if c.Kind == nil {
		return db.unknown().change(v, c, bodies)
	}
	if c.Removed || !c.Branched && !bodies {
		d = DocChange{Seq: c.Seq, ID: c.Kind.DocID(c.ID), Deleted: c.Deleted, Removed: c.Removed}
		d.Leaves = []rev.Node{{Revision: c.Revision, Deleted: c.Deleted}}
		return d, nil
	}
	st, err := v.LoadAny(c.Kind, c.ID)
	if err != nil || st == nil || st.Seq != c.Seq {
		return d, table.OrCorrupt(err)
	}
	doc, err := recordDocument(v, c.Kind, st)
	if err != nil {
		return d, err
	}
	if bodies {
		v.Store.Reads.Note(db.access.reader, c.Kind, 1)
	}
	return doc.change(bodies)
}

// latest finds a document's row in the log. Its Seq is 0 if there is none.
func (db *scopeDocs) latest(v *table.View, doc string) (c table.ScopeChange, err error) {
	if table.IsOpaque(doc) {
		return db.unknown().latest(v, doc)
	}
	k, id, ok := record.ParseDocID(doc)
	if !ok || !db.access.shows(k) {
		return c, nil
	}
	st, err := v.LoadAny(k, id)
	if err != nil || st == nil {
		return c, err
	}
	if db.access.holds(k, st) {
		c.Change = table.Change{Seq: st.Seq, Kind: k, ID: id, Revision: st.Revision, Deleted: st.Deleted, Branched: st.Branched}
		return c, nil
	}
	left, err := v.Get(table.LeftBucket, table.LeftKey(k, id, db.access.scope))
	if err != nil || len(left) != 8 {
		return c, err
	}
	seq := binary.BigEndian.Uint64(left)
	row, err := v.Get(table.ScopeLogBucket, table.ScopeSeqKey(nil, db.access.scope, seq))
	if err != nil || row == nil {
		return c, table.OrCorrupt(err)
	}
	c.Change, c.Removed, err = table.ParseLogRow(seq, row)
	return c, err
}
