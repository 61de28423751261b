package engine

import "go.etcd.io/bbolt"

// Tx is one operation: a View that also shows what the operation has written, and takes writes. Nothing of it remains if its function returns
// an error.
type Tx struct {
	View
	db    *DB
	full  error    // a *disk.Full: what is written will be refused
	kept  []func() // run in the writer's goroutine once the operation's rows are in the group
	after []func() // run once they are durable
}

// Put sets a value; both slices are copied.
func (tx *Tx) Put(b Bucket, key, value []byte) { tx.over.put(b, key, value) }

// Delete removes a row, if it is there.
func (tx *Tx) Delete(b Bucket, key []byte) { tx.over.set(b, key, nil, true) }

// OnKept has fn run in the writer's goroutine when the operation has succeeded and its rows are part of the group.
func (tx *Tx) OnKept(fn func()) { tx.kept = append(tx.kept, fn) }

// OnCommitted has fn run when the operation is durable, before its caller has the answer.
func (tx *Tx) OnCommitted(fn func()) { tx.after = append(tx.after, fn) }

// Full is a *disk.Full where nothing that the operation writes will be kept; otherwise nil.
func (tx *Tx) Full() error { return tx.full }

// Rewriting tells whether Rewrite copies the file just now, so that the new file may hold what the operation deletes.
func (tx *Tx) Rewriting() bool { return tx.db != nil && tx.db.rewrite.underWay.Load() }

// flush moves an operation's rows into the transaction of bbolt.
func (v *View) flush() error {
	for i := range v.over.entries {
		e := &v.over.entries[i]
		var err error
		if e.deleted {
			err = v.in(e.bucket).Delete(e.key)
		} else {
			err = v.in(e.bucket).Put(e.key, e.sealed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// operation is one in a transaction of its own, of a file that no writer serves.
func operation(tx *bbolt.Tx, schema *Schema) *Tx {
	return &Tx{View: View{tx: tx, schema: schema, cache: &cache{}, over: &overlay{arena: &arena{}}}}
}
