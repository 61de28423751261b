package kv

import "doorward/kv/record"

func (db *scopeDocs) mayWrite(p Principal) error { return p.CheckWhole() }

func (db *scopeDocs) write(o *op, p Principal, in *DocWrite) (record.Revision, error) {
	return record.Revision{}, ErrNotFound
}
