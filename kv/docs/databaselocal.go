package docs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"

	"doorward/kv/auth"
	"doorward/kv/merge"
	"doorward/kv/table"
)

// localKey names a local document: it belongs to one key in one database, is not replicated and has no history.
func localKey(docs documents, p auth.Principal, id string) []byte {
	return append(binary.AppendUvarint(docs.localPrefix(), uint64(p.Key())), id...)
}

// Local reads the principal's own local document and how often it was written. It returns ErrNotFound if there is none.
func (db *Database) Local(id string) (body []byte, written uint64, err error) {
	err = db.touch(func(v *table.View, docs documents) error {
		row, err := v.Get(table.FreeLocalBucket, localKey(docs, db.principal, id))
		if err != nil || row == nil {
			return table.OrNotFound(err)
		}
		c := table.Cutter{Rest: row}
		written, body = c.Uvarint(), bytes.Clone(c.Rest)
		return nil
	})
	return body, written, err
}

// Whatever is what PutLocal takes for a document that may have been written as often as it likes.
const Whatever = math.MaxUint64

// PutLocal sets the principal's own local document and returns how often it was written. A nil body deletes it. A principal
// that may read or write a database may keep a checkpoint in it. PutLocal returns ErrConflict if the document was not written
// as often as before says, unless that is Whatever. It returns ErrNotFound if there is nothing to delete, or ErrDocument,
// ErrTooLarge.
func (db *Database) PutLocal(id string, body []byte, before uint64) (written uint64, err error) {
	if err := CheckDocID("l" + id); err != nil || id == "" { // one that begins with "_" is as good as any
		return 0, errors.Join(err, merge.ErrDocument)
	}
	if body != nil {
		if body, err = canonicalDoc(body); err != nil {
			return 0, err
		}
	}
	if err := db.touch(func(*table.View, documents) error { return nil }); err != nil {
		return 0, err
	}
	err = db.store.tables.Do(func(o *table.Tx) error {
		docs, err := openDocuments(o.View, db.name)
		if err != nil {
			return err
		}
		key := localKey(docs, db.principal, id)
		row, err := o.Get(table.FreeLocalBucket, key)
		c := table.Cutter{Rest: row}
		if row != nil {
			written = c.Uvarint()
		}
		switch {
		case err != nil:
			return err
		case body == nil && row == nil:
			return table.ErrNotFound
		case before != Whatever && before != written:
			return &table.Conflict{Reason: "the local document has another revision"}
		case body == nil:
			o.Delete(table.FreeLocalBucket, key)
			return nil
		case row == nil:
			err := table.Fewer(o.View, table.FreeLocalBucket, localKey(docs, db.principal, ""), o.Store.Rules.Limits.Locals, "the key has too many local documents here")
			if err != nil {
				return err
			}
		}
		written++
		o.Put(table.FreeLocalBucket, key, append(binary.AppendUvarint(nil, written), body...))
		return nil
	})
	return written, err
}
