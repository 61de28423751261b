package kv

import (
	"encoding/binary"
	"slices"
	"sort"

	"doorward/kv/record"
)

// read reads a record as a document: ErrNotFound for one that is not in the database.
func (db *scopeDocs) read(v *sight, id string, ask Ask) (doc Doc, err error) {
	k, st, err := db.find(v, id)
	if err != nil || st == nil {
		return doc, orNotFound(err)
	}
	doc = Doc{ID: id, Seq: st.seq, Deleted: st.deleted}
	if doc.Tree, err = v.tree(k, st); err != nil {
		return doc, err
	}
	for _, rev := range ask.of(&doc.Tree) {
		r, err := v.revision(k, st, doc.Tree.Find(rev), rev)
		if err != nil {
			return doc, err
		}
		doc.Revisions = append(doc.Revisions, r)
	}
	return doc, nil
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

// endedBody is the body of a revision that ends a losing branch (record.Ending).
const endedBody = `{"ended":true}`

// revision is a record's revision as a document's.
func (v *sight) revision(k *record.Kind, st *stored, n record.TreeNode, rev record.Revision) (r DocRevision, err error) {
	r = DocRevision{Revision: rev, Deleted: n.Deleted}
	switch {
	case n.Ended:
		r.Body = []byte(endedBody)
		return r, nil
	case n.Deleted:
		r.Body = []byte("{}")
		return r, nil
	case !n.Held:
		return r, nil
	case rev != st.revision:
		if st, err = v.keptBody(k, st.id, rev); err != nil || st == nil {
			return r, err
		}
	}
	d, err := st.decode(k)
	if err == nil {
		r.Body = d.Canonical()
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
			return true, nil // who begins has nothing that could leave
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
	d = DocChange{Seq: c.Seq, ID: c.Kind.DocID(c.ID), Deleted: c.Deleted, Removed: c.removed}
	d.Leaves = []record.TreeNode{{Revision: c.Revision, Deleted: c.Deleted}}
	if c.removed || !c.Branched && !body {
		return d, nil
	}
	st, err := v.loadAny(c.Kind, c.ID)
	if err != nil || st == nil {
		return d, orCorrupt(err)
	}
	t, err := v.tree(c.Kind, st)
	if err != nil {
		return d, err
	}
	d.Leaves = t.Leaves()
	if body {
		d.Winner, err = v.revision(c.Kind, st, d.Leaves[0], d.Leaves[0].Revision)
	}
	return d, err
}

// changesOf looks at the named documents alone.
func (db *scopeDocs) changesOf(v *sight, f Feed) (page []DocChange, more bool, err error) {
	var found []scopeChange
	for _, doc := range slices.Compact(slices.Sorted(slices.Values(f.IDs))) {
		c, err := db.changeOf(v, doc)
		if err != nil {
			return nil, false, err
		}
		late := f.Descending && c.Seq > f.Before-1
		if c.Kind != nil && c.Seq > f.Since && !late && (!c.removed || f.Since > 0) {
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

// changeOf is a document's row in the database's log; its Kind is nil where there is none.
func (db *scopeDocs) changeOf(v *sight, doc string) (c scopeChange, err error) {
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
	left, err := v.get(leftBucket, leftKey(k, id, db.scope))
	if err != nil || len(left) != 8 {
		return c, err
	}
	seq := binary.BigEndian.Uint64(left)
	row, err := v.get(scopeLogBucket, scopeSeqKey(nil, db.scope, seq))
	if err != nil || row == nil {
		return c, orCorrupt(err)
	}
	c.Change, c.removed, err = parseLogRow(seq, row)
	return c, err
}

// pending counts the changes after a sequence.
func (db *scopeDocs) pending(_ *sight, since uint64) (n int, err error) {
	info := db.info()
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

// missing tells which revisions of a document the database does not have. What has left it is as if it had never been there: what
// somebody made of it meanwhile must come.
func (db *scopeDocs) missing(v *sight, asked Revs) (m MissingRevs, err error) {
	m.ID = asked.ID
	k, st, err := db.find(v, asked.ID)
	if err != nil {
		return m, err
	}
	var t record.Tree
	if st != nil {
		if t, err = v.tree(k, st); err != nil {
			return m, err
		}
	}
	m.Missing, m.PossibleAncestors = t.Missing(asked.Revisions)
	return m, nil
}

// list lists the live documents.
func (db *scopeDocs) list(v *sight, r Range) (page []DocRow, err error) {
	kinds := db.kinds()
	if r.Descending {
		slices.Reverse(kinds)
	}
	limit := min(r.Limit, DocPage)
	for _, k := range kinds {
		if len(page) >= limit {
			break
		}
		ids := r.part(k, db.live(v, k), limit-len(page))
		err := v.each(k, ids, func(st *stored) error {
			page = append(page, DocRow{ID: k.DocID(st.id), Seq: st.seq, Winner: st.revision})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return page, nil
}

// live are the ids of a kind's live records in the database.
func (db *scopeDocs) live(v *sight, k *record.Kind) *idList {
	lists := v.lists.kind(k)
	switch {
	case db.scope.ID != 0 && k == record.Event && db.scope.Sort == record.ScopeEvent:
		id := record.Int(db.scope.ID)
		if !lists.all.contains(id) {
			return nil
		}
		one := (*idList)(nil).own(0)
		one.push(id)
		return one
	case db.scope.ID != 0:
		return lists.home.of(db.scope.ID)
	case db.scope.Sort == record.ScopeReference && k.Class == record.Shared:
		return lists.home.of(0)
	}
	return lists.all
}

// part is the part of a kind's ids that a range wants, in its order.
func (r Range) part(k *record.Kind, l *idList, limit int) []record.ID {
	n := l.len()
	start := 0 // how many ids lie before From, or up to it where the range descends
	if r.From != "" || !r.Descending {
		start = sort.Search(n, func(i int) bool {
			id := k.DocID(l.at(i))
			if r.Descending != r.Past { // ascending: the first that is not before; past it: the first that is after; and so back
				return id > r.From
			}
			return id >= r.From
		})
	} else {
		start = n
	}
	if !r.Descending {
		return l.page(nil, start, limit)
	}
	from := max(0, start-limit)
	ids := l.page(nil, from, start-from)
	slices.Reverse(ids)
	return ids
}
