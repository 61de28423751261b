package docs

import (
	"encoding/binary"
	"slices"

	"doorward/kv/keys"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// read reads a record as a document. It returns ErrNotFound if the record is not in the database.
func (db *scopeDocs) read(v *table.View, id string, ask Ask) (doc Doc, err error) {
	if table.IsOpaque(id) {
		return db.readOpaque(v, id, ask)
	}
	k, st, err := db.find(v, id)
	if err != nil || st == nil {
		return doc, keys.OrNotFound(err)
	}
	v.Store.NoteReads(db.reader, k, 1)
	doc = Doc{ID: id, Seq: st.Seq, Deleted: st.Deleted}
	if doc.Tree, err = table.LoadTree(v, k, st); err != nil {
		return doc, err
	}
	gone, err := table.IsErased(v, k, st.ID)
	if err != nil {
		return doc, err
	}
	if gone {
		ask = ask.ofErased(&doc.Tree)
	}
	for _, rev := range ask.of(&doc.Tree) {
		r, err := revision(v, k, st, doc.Tree.Find(rev), rev)
		if err != nil {
			return doc, err
		}
		doc.Revisions = append(doc.Revisions, r)
	}
	return doc, nil
}

// ofErased asks for the empty tombstones instead of whatever they stand for, so that a client's own copy ends under one.
func (a Ask) ofErased(tree *rev.Tree) Ask {
	a.Latest = true
	for _, rev := range a.Revisions {
		if !tree.Has(rev) {
			a.Revisions = nil
			break
		}
	}
	return a
}

// find loads a record of the database, deleted or not; nil for one that is not in it.
func (db *scopeDocs) find(v *table.View, doc string) (*record.Kind, *table.Stored, error) {
	k, id, ok := record.ParseDocID(doc)
	if !ok {
		return nil, nil, nil
	}
	st, err := v.LoadAny(k, id)
	if err != nil || !db.holds(k, st) {
		return k, nil, err
	}
	return k, st, nil
}

// revision is a record's revision as a document's.
func revision(v *table.View, k *record.Kind, st *table.Stored, n rev.Node, rev rev.ID) (r DocRevision, err error) {
	r = DocRevision{Revision: rev, Deleted: n.Deleted}
	switch {
	case n.Ended:
		r.Body = []byte(merge.EndedBody)
		return r, nil
	case n.Deleted && n.Into != 0:
		r.Body = []byte(record.Tombstone(k, n.Into))
		return r, nil
	case n.Deleted:
		r.Body, err = merge.LostBody(v, k, st, n)
		return r, err
	case !n.Held:
		return r, nil
	case rev != st.Revision:
		if st, err = table.KeptBody(v, k, st.ID, rev); err != nil || st == nil {
			return r, err
		}
	}
	if r.Body, err = k.CanonicalOf(st.Body); err != nil {
		err = st.Corrupt(k, err)
	}
	return r, err
}

// changes reads the database's log.
func (db *scopeDocs) changes(v *table.View, f Feed) (page []DocChange, more bool, err error) {
	if f.IDs != nil {
		return db.changesOf(v, f)
	}
	size := 0
	err = db.rows(f, func(c table.ScopeChange) (bool, error) {
		if c.Removed && f.Since == 0 {
			return true, nil // a new reader has nothing to remove
		}
		if len(page) >= min(f.Limit, DocPage) || size > pageBytes {
			more = true
			return false, nil
		}
		d, err := db.change(v, c, f.Bodies)
		if err != nil {
			return false, err
		}
		page = append(page, d)
		size += len(d.Winner.Body)
		return true, nil
	})
	return page, more, err
}

// change is a row of the log as a document's change.
func (db *scopeDocs) change(v *table.View, c table.ScopeChange, body bool) (d DocChange, err error) {
	d = DocChange{Seq: c.Seq, ID: c.Doc, Deleted: c.Deleted, Removed: c.Removed}
	if c.Kind == nil {
		found, err := table.LoadOpaque(v, db.scope, c.Doc)
		if err != nil || found == nil {
			return d, table.OrCorrupt(err)
		}
		if d.Leaves = found.Tree.Leaves(); body {
			d.Tree = found.Tree
			d.Winner, err = opaqueRevision(v, db.scope, c.Doc, d.Leaves[0], d.Leaves[0].Revision)
		}
		return d, err
	}
	d.ID = c.Kind.DocID(c.ID)
	d.Leaves = []rev.Node{{Revision: c.Revision, Deleted: c.Deleted}}
	if c.Removed || !c.Branched && !body {
		return d, nil
	}
	st, err := v.LoadAny(c.Kind, c.ID)
	if err != nil || st == nil {
		return d, table.OrCorrupt(err)
	}
	t, err := table.LoadTree(v, c.Kind, st)
	if err != nil {
		return d, err
	}
	d.Leaves = t.Leaves()
	if body {
		v.Store.NoteReads(db.reader, c.Kind, 1)
		d.Tree = t
		d.Winner, err = revision(v, c.Kind, st, d.Leaves[0], d.Leaves[0].Revision)
	}
	return d, err
}

// changesOf returns changes of the named documents alone.
func (db *scopeDocs) changesOf(v *table.View, f Feed) (page []DocChange, more bool, err error) {
	var found []table.ScopeChange
	for _, doc := range slices.Compact(slices.Sorted(slices.Values(f.IDs))) {
		c, err := db.changeOf(v, doc)
		if err != nil {
			return nil, false, err
		}
		late := f.Descending && c.Seq > f.Before-1
		if c.Seq > f.Since && !late && (!c.Removed || f.Since > 0) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b table.ScopeChange) int {
		if (a.Seq < b.Seq) != f.Descending {
			return -1
		}
		return 1
	})
	for i, size := 0, 0; i < len(found); i++ {
		if len(page) >= min(f.Limit, DocPage) || size > pageBytes {
			return page, true, nil
		}
		d, err := db.change(v, found[i], f.Bodies)
		if err != nil {
			return nil, false, err
		}
		page = append(page, d)
		size += len(d.Winner.Body)
	}
	return page, false, nil
}

// changeOf is a document's row in the database's log; its Seq is 0 where there is none.
func (db *scopeDocs) changeOf(v *table.View, doc string) (c table.ScopeChange, err error) {
	if table.IsOpaque(doc) {
		d, err := table.LoadOpaque(v, db.scope, doc)
		if err != nil || d == nil {
			return c, err
		}
		return table.ParseOpaqueLog(d.Seq, d.AppendLog(nil, doc))
	}
	k, id, ok := record.ParseDocID(doc)
	if !ok || !db.shows(k) {
		return c, nil
	}
	st, err := v.LoadAny(k, id)
	if err != nil || st == nil {
		return c, err
	}
	if db.holds(k, st) {
		c.Change = table.Change{Seq: st.Seq, Kind: k, ID: id, Revision: st.Revision, Deleted: st.Deleted, Branched: st.Branched}
		return c, nil
	}
	left, err := v.Get(table.LeftBucket, table.LeftKey(k, id, db.scope))
	if err != nil || len(left) != 8 {
		return c, err
	}
	seq := binary.BigEndian.Uint64(left)
	row, err := v.Get(table.ScopeLogBucket, table.ScopeSeqKey(nil, db.scope, seq))
	if err != nil || row == nil {
		return c, table.OrCorrupt(err)
	}
	c.Change, c.Removed, err = table.ParseLogRow(seq, row)
	return c, err
}

// pending counts the changes after a sequence.
func (db *scopeDocs) pending(_ *table.View, since uint64) (n int, err error) {
	info, err := db.info()
	if err != nil {
		return 0, err
	}
	switch all := info.Docs + info.Deleted; {
	case since >= info.Seq:
		return 0, nil
	case since == 0:
		return all, nil
	}
	err = db.rows(Feed{Since: since}, func(table.ScopeChange) (bool, error) {
		n++
		return n <= pendingScan, nil
	})
	if n > pendingScan {
		n = max(n, int(min(uint64(info.Docs+info.Deleted), info.Seq-since)))
	}
	return n, err
}

// missing returns the revisions of a document that the database does not have. A document that has left the database counts as
// unknown: revisions that a peer has made of it since must come.
func (db *scopeDocs) missing(v *table.View, asked merge.Revs) (m MissingRevs, err error) {
	m.ID = asked.ID
	if k, id, ok := record.ParseDocID(asked.ID); ok {
		if gone, err := table.IsErased(v, k, id); err != nil || gone {
			return m, err // no revision of an erased document is wanted
		}
	}
	if table.IsOpaque(asked.ID) {
		d, err := table.LoadOpaque(v, db.scope, asked.ID)
		if err == nil && d == nil {
			d = &table.Opaque{}
		}
		if err == nil {
			m.Missing, m.PossibleAncestors = d.Tree.Missing(asked.Revisions)
		}
		return m, err
	}
	k, st, err := db.find(v, asked.ID)
	if err != nil {
		return m, err
	}
	var t rev.Tree
	if st != nil {
		if t, err = table.LoadTree(v, k, st); err != nil {
			return m, err
		}
	}
	m.Missing, m.PossibleAncestors = t.Missing(asked.Revisions)
	return m, nil
}
