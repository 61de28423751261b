package kv

import (
	"encoding/binary"
	"slices"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// read reads a record as a document. It returns ErrNotFound if the record is not in the database.
func (db *scopeDocs) read(v *sight, id string, ask Ask) (doc Doc, err error) {
	if isOpaque(id) {
		return db.readOpaque(v, id, ask)
	}
	k, st, err := db.find(v, id)
	if err != nil || st == nil {
		return doc, orNotFound(err)
	}
	v.store.noteReads(db.reader, k, 1)
	doc = Doc{ID: id, Seq: st.seq, Deleted: st.deleted}
	if doc.Tree, err = loadTree(v, k, st); err != nil {
		return doc, err
	}
	gone, err := isErased(v, k, st.id)
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
func (db *scopeDocs) find(v *sight, doc string) (*record.Kind, *stored, error) {
	k, id, ok := record.ParseDocID(doc)
	if !ok {
		return nil, nil, nil
	}
	st, err := v.loadAny(k, id)
	if err != nil || !db.holds(k, st) {
		return k, nil, err
	}
	return k, st, nil
}

// endedBody is the body of a revision that ends a losing branch (rev.Ending).
const endedBody = `{"ended":true}`

// revision is a record's revision as a document's.
func revision(v *sight, k *record.Kind, st *stored, n rev.Node, rev rev.ID) (r DocRevision, err error) {
	r = DocRevision{Revision: rev, Deleted: n.Deleted}
	switch {
	case n.Ended:
		r.Body = []byte(endedBody)
		return r, nil
	case n.Deleted && n.Into != 0:
		r.Body = []byte(record.Tombstone(k, n.Into))
		return r, nil
	case n.Deleted:
		r.Body, err = lostBody(v, k, st, n)
		return r, err
	case !n.Held:
		return r, nil
	case rev != st.revision:
		if st, err = keptBody(v, k, st.id, rev); err != nil || st == nil {
			return r, err
		}
	}
	if r.Body, err = k.CanonicalOf(st.body); err != nil {
		err = st.corrupt(k, err)
	}
	return r, err
}

// changes reads the database's log.
func (db *scopeDocs) changes(v *sight, f Feed) (page []DocChange, more bool, err error) {
	if f.IDs != nil {
		return db.changesOf(v, f)
	}
	size := 0
	err = db.rows(f, func(c scopeChange) (bool, error) {
		if c.removed && f.Since == 0 {
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
func (db *scopeDocs) change(v *sight, c scopeChange, body bool) (d DocChange, err error) {
	d = DocChange{Seq: c.Seq, ID: c.doc, Deleted: c.Deleted, Removed: c.removed}
	if c.Kind == nil {
		found, err := loadOpaque(v, db.scope, c.doc)
		if err != nil || found == nil {
			return d, orCorrupt(err)
		}
		if d.Leaves = found.tree.Leaves(); body {
			d.Tree = found.tree
			d.Winner, err = opaqueRevision(v, db.scope, c.doc, d.Leaves[0], d.Leaves[0].Revision)
		}
		return d, err
	}
	d.ID = c.Kind.DocID(c.ID)
	d.Leaves = []rev.Node{{Revision: c.Revision, Deleted: c.Deleted}}
	if c.removed || !c.Branched && !body {
		return d, nil
	}
	st, err := v.loadAny(c.Kind, c.ID)
	if err != nil || st == nil {
		return d, orCorrupt(err)
	}
	t, err := loadTree(v, c.Kind, st)
	if err != nil {
		return d, err
	}
	d.Leaves = t.Leaves()
	if body {
		v.store.noteReads(db.reader, c.Kind, 1)
		d.Tree = t
		d.Winner, err = revision(v, c.Kind, st, d.Leaves[0], d.Leaves[0].Revision)
	}
	return d, err
}

// changesOf returns changes of the named documents alone.
func (db *scopeDocs) changesOf(v *sight, f Feed) (page []DocChange, more bool, err error) {
	var found []scopeChange
	for _, doc := range slices.Compact(slices.Sorted(slices.Values(f.IDs))) {
		c, err := db.changeOf(v, doc)
		if err != nil {
			return nil, false, err
		}
		late := f.Descending && c.Seq > f.Before-1
		if c.Seq > f.Since && !late && (!c.removed || f.Since > 0) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b scopeChange) int {
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
func (db *scopeDocs) changeOf(v *sight, doc string) (c scopeChange, err error) {
	if isOpaque(doc) {
		d, err := loadOpaque(v, db.scope, doc)
		if err != nil || d == nil {
			return c, err
		}
		return parseOpaqueLog(d.seq, d.appendLog(nil, doc))
	}
	k, id, ok := record.ParseDocID(doc)
	if !ok || !db.shows(k) {
		return c, nil
	}
	st, err := v.loadAny(k, id)
	if err != nil || st == nil {
		return c, err
	}
	if db.holds(k, st) {
		c.Change = Change{Seq: st.seq, Kind: k, ID: id, Revision: st.revision, Deleted: st.deleted, Branched: st.branched}
		return c, nil
	}
	left, err := v.Get(leftBucket, leftKey(k, id, db.scope))
	if err != nil || len(left) != 8 {
		return c, err
	}
	seq := binary.BigEndian.Uint64(left)
	row, err := v.Get(scopeLogBucket, scopeSeqKey(nil, db.scope, seq))
	if err != nil || row == nil {
		return c, orCorrupt(err)
	}
	c.Change, c.removed, err = parseLogRow(seq, row)
	return c, err
}

// pending counts the changes after a sequence.
func (db *scopeDocs) pending(_ *sight, since uint64) (n int, err error) {
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
	err = db.rows(Feed{Since: since}, func(scopeChange) (bool, error) {
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
func (db *scopeDocs) missing(v *sight, asked Revs) (m MissingRevs, err error) {
	m.ID = asked.ID
	if k, id, ok := record.ParseDocID(asked.ID); ok {
		if gone, err := isErased(v, k, id); err != nil || gone {
			return m, err // no revision of an erased document is wanted
		}
	}
	if isOpaque(asked.ID) {
		d, err := loadOpaque(v, db.scope, asked.ID)
		if err == nil && d == nil {
			d = &opaque{}
		}
		if err == nil {
			m.Missing, m.PossibleAncestors = d.tree.Missing(asked.Revisions)
		}
		return m, err
	}
	k, st, err := db.find(v, asked.ID)
	if err != nil {
		return m, err
	}
	var t rev.Tree
	if st != nil {
		if t, err = loadTree(v, k, st); err != nil {
			return m, err
		}
	}
	m.Missing, m.PossibleAncestors = t.Missing(asked.Revisions)
	return m, nil
}
