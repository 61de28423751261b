package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
)

// localKey names a local document: it belongs to one key in one database, is not replicated and has no history.
func localKey(docs documents, p Principal, id string) []byte {
	return append(binary.AppendUvarint(docs.localPrefix(), uint64(p.Key())), id...)
}

// Local reads the principal's own local document and how often it was written. It returns ErrNotFound if there is none.
func (db *Database) Local(id string) (body []byte, written uint64, err error) {
	err = db.touch(func(v *sight, docs documents) error {
		row, err := v.Get(freeLocalBucket, localKey(docs, db.principal, id))
		if err != nil || row == nil {
			return orNotFound(err)
		}
		c := cutter{rest: row}
		written, body = c.uvarint(), bytes.Clone(c.rest)
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
		return 0, errors.Join(err, ErrDocument)
	}
	if body != nil {
		if body, err = canonicalDoc(body); err != nil {
			return 0, err
		}
	}
	if err := db.touch(func(*sight, documents) error { return nil }); err != nil {
		return 0, err
	}
	err = db.store.do(false, func(o *op) error {
		docs, err := openDocuments(o.sight, db.name)
		if err != nil {
			return err
		}
		key := localKey(docs, db.principal, id)
		row, err := o.Get(freeLocalBucket, key)
		c := cutter{rest: row}
		if row != nil {
			written = c.uvarint()
		}
		switch {
		case err != nil:
			return err
		case body == nil && row == nil:
			return ErrNotFound
		case before != Whatever && before != written:
			return &Conflict{Reason: "the local document has another revision"}
		case body == nil:
			o.delete(freeLocalBucket, key)
			return nil
		case row == nil:
			err := fewer(o.sight, freeLocalBucket, localKey(docs, db.principal, ""), o.store.limits.locals, "the key has too many local documents here")
			if err != nil {
				return err
			}
		}
		written++
		o.put(freeLocalBucket, key, append(binary.AppendUvarint(nil, written), body...))
		return nil
	})
	return written, err
}
