package docs

import (
	"context"

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
		ids, last, err := superseded(db, from)
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
		if err := db.store.tables.Do(func(o *table.Tx) error { return compactFree(o, db.name, ids) }); err != nil {
			return err
		}
	}
	return nil
}

// superseded lists documents behind one that hold bodies of revisions that are no leaves. last is the document that was looked at
// last; "" where there are no more.
func superseded(db *Database, behind string) (ids []string, last string, err error) {
	err = db.touch(func(v *table.View, docs documents) error {
		free := docs.(*freeDatabase)
		looked := 0
		return v.Scan(free.Rows, free.Prefix, free.Key(behind), func(key, row []byte) (bool, error) {
			id := string(key[len(free.Prefix):])
			if id == behind {
				return true, nil
			}
			d, err := table.ParseDocument(row)
			if err != nil {
				return false, err
			}
			if len(table.TrimToLeaves(&d.Tree)) > 0 {
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

// compactFree drops the bodies of these documents' superseded revisions.
func compactFree(o *table.Tx, name string, ids []string) error {
	db, err := database(o.View.View, name)
	if err != nil {
		return err
	}
	for _, id := range ids {
		d, err := db.Load(o.View.View, id)
		if err != nil || d.Seq == 0 {
			return table.OrCorrupt(err)
		}
		if err := db.dropBodies(o, id, table.TrimToLeaves(&d.Tree)); err != nil {
			return err
		}
		db.Put(o, id, &d)
	}
	return nil
}
