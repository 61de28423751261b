package kv

import (
	"bytes"
	"encoding/binary"
)

// A local document belongs to one key in one database, is not replicated and has no history.

func (db *FreeDatabase) localKey(p Principal, id string) []byte {
	return append(binary.AppendUvarint(db.key(), uint64(p.key)), id...)
}

// LocalDoc reads p's own local document and how often it was written: ErrNotFound.
func (s *Store) LocalDoc(p Principal, database, id string) (body []byte, written uint64, err error) {
	err = s.freeView(p, database, func(v *sight, db *FreeDatabase) error {
		row, err := v.get(freeLocalBucket, db.localKey(p, id))
		if err != nil || row == nil {
			return orNotFound(err)
		}
		c := cutter{rest: row}
		written, body = c.uvarint(), bytes.Clone(c.rest)
		return nil
	})
	return body, written, err
}

// PutLocalDoc sets p's own local document and answers how often it was written; a nil body deletes it. ErrNotFound for a database
// that is not there, or where there is nothing to delete; ErrDocument, ErrTooLarge.
func (s *Store) PutLocalDoc(p Principal, database, id string, body []byte) (written uint64, err error) {
	if err := p.Check("sync", "POST"); err != nil {
		return 0, err
	}
	if err := checkDocID(id); err != nil {
		return 0, err
	}
	if body != nil {
		if body, err = canonicalDoc(body); err != nil {
			return 0, err
		}
	}
	err = s.do(false, func(o *op) error {
		db, err := o.database(database)
		if err != nil {
			return err
		}
		key := db.localKey(p, id)
		row, err := o.get(freeLocalBucket, key)
		if err != nil {
			return err
		}
		if body == nil {
			if row == nil {
				return ErrNotFound
			}
			o.delete(freeLocalBucket, key)
			return nil
		}
		c := cutter{rest: row}
		written = c.uvarint() + 1
		o.put(freeLocalBucket, key, append(binary.AppendUvarint(nil, written), body...))
		return nil
	})
	return written, err
}
