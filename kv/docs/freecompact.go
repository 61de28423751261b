package docs

import (
	"context"

	"doorward/kv/rev"
	"doorward/kv/table"
)

// compactPage is how many documents one operation of a compaction changes.
const compactPage = 100

// Compact drops the bodies of all revisions of a free database's documents, except those of leaves. The names of the revisions
// stay known. In a database of records it does nothing, because merges need the bodies. It returns *Forbidden for a principal
// that may not delete databases, ErrNotFound, or the error of ctx.
func (db *Database) Compact(ctx context.Context) error {
	if _, err := db.judge(); err != nil || !db.Free() {
		return err
	}
	if err := db.principal.CheckRule(); err != nil {
		return err
	}
	for from, more := "", true; more; {
		ids, last, err := db.superseded(from)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		from, more = last, last != ""
		if len(ids) == 0 {
			continue
		}
		if err := db.store.tables.Do(false, func(o *table.Tx) error { return compactFree(o, db.name, ids) }); err != nil {
			return err
		}
	}
	return nil
}

// superseded lists documents behind one that hold bodies of revisions that are no leaves. last is the document that was looked at
// last; "" where there are no more.
func (db *Database) superseded(behind string) (ids []string, last string, err error) {
	err = db.touch(func(v *table.View, docs documents) error {
		free := docs.(*freeDatabase)
		prefix, looked := free.key(), 0
		return v.Scan(table.FreeDocBucket, prefix, free.key(behind), func(key, row []byte) (bool, error) {
			id := string(key[len(prefix):])
			if id == behind {
				return true, nil
			}
			d, err := parseFreeDoc(row)
			if err != nil {
				return false, err
			}
			if len(d.heldInner(d.tree.Len())) > 0 {
				ids = append(ids, id)
			}
			if looked++; looked == DocPage || len(ids) == compactPage {
				last = id
			}
			return last == "", nil
		})
	})
	return ids, last, err
}

// heldInner returns those of the first n revisions that have a child and a body that is held.
func (d *freeDoc) heldInner(n int) (revs []rev.ID) {
	if n == 0 || d.tree.Len() < 2 {
		return nil
	}
	leaves := map[rev.ID]bool{}
	for _, n := range d.tree.Leaves() {
		leaves[n.Revision] = true
	}
	for _, n := range d.tree.Nodes()[:n] {
		if n.Held && !leaves[n.Revision] {
			revs = append(revs, n.Revision)
		}
	}
	return revs
}

// compactFree drops the bodies of these documents' superseded revisions.
func compactFree(o *table.Tx, name string, ids []string) error {
	db, err := database(o.View.View, name)
	if err != nil {
		return err
	}
	for _, id := range ids {
		d, err := loadFreeDoc(o.View.View, db, id)
		if err != nil || d == nil {
			return table.OrCorrupt(err)
		}
		for _, rev := range d.heldInner(d.tree.Len()) {
			d.tree.Hold(rev, false)
			if err := dropBody(o, db, id, rev); err != nil {
				return err
			}
		}
		o.Put(table.FreeDocBucket, db.key(id), d.row())
	}
	return nil
}
