package docs

import (
	"bytes"
	"encoding/binary"
	"slices"

	"doorward/kv/engine"
	"doorward/kv/keys"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// read reads a document.
func (db *freeDatabase) read(v *table.View, id string, ask Ask) (doc Doc, err error) {
	d, err := loadFreeDoc(v.View, db, id)
	if err != nil || d == nil {
		return doc, keys.OrNotFound(err)
	}
	doc = Doc{ID: id, Seq: d.seq, Deleted: d.deleted, Tree: d.tree}
	for _, rev := range ask.of(&d.tree) {
		r, err := freeRevision(v, db, id, d.tree.Find(rev), rev)
		if err != nil {
			return doc, err
		}
		doc.Revisions = append(doc.Revisions, r)
	}
	return doc, nil
}

// freeRevision reads a revision's body, if it is there.
func freeRevision(v *table.View, db *freeDatabase, id string, n rev.Node, rev rev.ID) (r DocRevision, err error) {
	r = DocRevision{Revision: rev, Deleted: n.Deleted}
	row, err := v.Get(table.FreeBodyBucket, db.bodyKey(id, rev))
	if err == nil && row != nil {
		r.Body, r.Attachments, err = parseBody(bytes.Clone(row))
	}
	return r, err
}

// list lists the live documents.
func (db *freeDatabase) list(v *table.View, r Range) (page []DocRow, err error) {
	prefix, from := db.key(), db.key(r.From)
	if r.Descending && r.From == "" {
		from = db.key("\xff") // no id has this byte
	}
	err = v.Walk(table.FreeDocBucket, r.Descending, prefix, from, func(key, row []byte) (bool, error) {
		if len(page) >= min(r.Limit, DocPage) {
			return false, nil
		}
		if len(row) < freeDocHead {
			return false, engine.ErrCorrupt
		}
		if row[freeDocHead-1] == 1 || r.Past && bytes.Equal(key, from) {
			return true, nil
		}
		d, err := parseFreeDoc(row)
		if err != nil {
			return false, err
		}
		page = append(page, DocRow{ID: string(key[len(prefix):]), Seq: d.seq, Winner: d.tree.Winner().Revision})
		return true, nil
	})
	return page, err
}

// changes reads the database's log.
func (db *freeDatabase) changes(v *table.View, f Feed) (page []DocChange, more bool, err error) {
	if f.IDs != nil {
		return freeChangesOf(v, db, f)
	}
	from := db.seqKey(f.Since + 1)
	if f.Descending {
		from = db.seqKey(f.Before - 1) // 0 - 1 is beyond all
	}
	size := 0
	err = v.Walk(table.FreeLogBucket, f.Descending, db.key(), from, func(key, id []byte) (bool, error) {
		seq := binary.BigEndian.Uint64(key[len(key)-8:])
		if seq <= f.Since {
			return false, nil
		}
		if len(page) >= min(f.Limit, DocPage) || size > pageBytes {
			more = true
			return false, nil
		}
		c, err := freeChange(v, db, string(id), f.Bodies)
		if err != nil || c == nil || c.Seq != seq {
			return false, table.OrCorrupt(err)
		}
		page = append(page, *c)
		size += len(c.Winner.Body)
		return true, nil
	})
	return page, more, err
}

// pendingScan is up to how many changes are counted one by one.
const pendingScan = 10_000

// pending counts the changes after a sequence.
func (db *freeDatabase) pending(v *table.View, since uint64) (n int, err error) {
	all := db.Docs + db.Deleted
	if since >= db.Seq || since == 0 || all == 0 {
		if since >= db.Seq {
			all = 0
		}
		return all, nil
	}
	err = v.Scan(table.FreeLogBucket, db.key(), db.seqKey(since+1), func(_, _ []byte) (bool, error) {
		n++
		return n <= pendingScan, nil
	})
	if n > pendingScan {
		n = max(n, int(min(uint64(all), db.Seq-since)))
	}
	return n, err
}

// freeChange returns a document's latest change, or nil if there is no document of this id.
func freeChange(v *table.View, db *freeDatabase, id string, body bool) (*DocChange, error) {
	d, err := loadFreeDoc(v.View, db, id)
	if err != nil || d == nil {
		return nil, err
	}
	c := &DocChange{Seq: d.seq, ID: id, Deleted: d.deleted, Leaves: d.tree.Leaves()}
	if body {
		c.Tree = d.tree
		c.Winner, err = freeRevision(v, db, id, c.Leaves[0], c.Leaves[0].Revision)
	}
	return c, err
}

// freeChangesOf returns changes of the named documents alone.
func freeChangesOf(v *table.View, db *freeDatabase, f Feed) (page []DocChange, more bool, err error) {
	for _, id := range slices.Compact(slices.Sorted(slices.Values(f.IDs))) {
		c, err := freeChange(v, db, id, false)
		if err != nil {
			return nil, false, err
		}
		if c != nil && c.Seq > f.Since && (!f.Descending || c.Seq <= f.Before-1) {
			page = append(page, *c)
		}
	}
	slices.SortFunc(page, func(a, b DocChange) int {
		if (a.Seq < b.Seq) != f.Descending {
			return -1
		}
		return 1
	})
	if limit := min(f.Limit, DocPage); len(page) > limit {
		page, more = page[:limit], true
	}
	for i, size := 0, 0; f.Bodies && i < len(page); i++ {
		c := &page[i]
		if c.Winner, err = freeRevision(v, db, c.ID, c.Leaves[0], c.Leaves[0].Revision); err != nil {
			return nil, false, err
		}
		if size += len(c.Winner.Body); size > pageBytes && i+1 < len(page) {
			return page[:i+1], true, nil
		}
	}
	return page, more, nil
}

// missing tells which revisions of a document the database does not have.
func (db *freeDatabase) missing(v *table.View, asked merge.Revs) (m MissingRevs, err error) {
	d, err := loadFreeDoc(v.View, db, asked.ID)
	if err != nil {
		return m, err
	}
	if d == nil {
		d = &freeDoc{}
	}
	m.ID = asked.ID
	m.Missing, m.PossibleAncestors = d.tree.Missing(asked.Revisions)
	return m, nil
}
