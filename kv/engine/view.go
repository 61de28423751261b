package engine

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// View is one committed state of the rows; within an operation also what the operation and those before it have written. It is valid until
// the function that was given it returns, and so are the slices that it returns, which must not be changed.
type View struct {
	tx      *bbolt.Tx
	schema  *Schema
	cache   *cache
	over    *overlay // what an operation has written; nil = a View of the committed state
	version int
}

// cache holds the buckets that a transaction has opened, and for each the cursor of the last scan, to be used again.
type cache [NumBuckets]struct {
	bucket *bbolt.Bucket
	cursor *bbolt.Cursor
}

// Version is the number of the commit that the View shows; an operation's is that of the commit before it.
func (v *View) Version() int { return v.version }

// Writing tells whether the View is that of an operation.
func (v *View) Writing() bool { return v.over != nil }

// in opens a bucket; nil where an older file has none.
func (v *View) in(b Bucket) *bbolt.Bucket {
	at := &v.cache[b]
	if at.bucket == nil {
		at.bucket = v.tx.Bucket([]byte(v.schema[b].Name))
		if fill := v.schema[b].Fill; fill != 0 && at.bucket != nil {
			at.bucket.FillPercent = fill
		}
	}
	return at.bucket
}

// Has tells whether the file has a bucket.
func (v *View) Has(b Bucket) bool { return v.in(b) != nil }

// lend hands out a cursor of a bucket; a scan within a scan of the same bucket gets another one.
func (v *View) lend(b Bucket) *bbolt.Cursor {
	c := v.cache[b].cursor
	if c == nil {
		return v.in(b).Cursor()
	}
	v.cache[b].cursor = nil
	return c
}

// Get returns a value, nil where there is none: ErrCorrupt.
func (v *View) Get(b Bucket, key []byte) ([]byte, error) {
	if v.over != nil {
		if e := v.over.find(b, key); e != nil {
			return e.plain(), nil
		}
	}
	c := v.lend(b)
	defer func() { v.cache[b].cursor = c }()
	after, sealed := c.Seek(key)
	if bytes.Equal(after, key) {
		return v.schema.unseal(b, key, sealed)
	}
	if err := v.schema.checkAfter(b, key, after, sealed); err != nil {
		return nil, err
	}
	_, err := v.checkBefore(c, b, key)
	return nil, err
}

// checkBefore checks the row before the place where a cursor stands, which it moves there. first tells that there is none.
func (v *View) checkBefore(c *bbolt.Cursor, b Bucket, from []byte) (first bool, err error) {
	before, sealed := c.Prev()
	if before == nil {
		return true, nil
	}
	if bytes.Compare(before, from) >= 0 {
		return false, v.schema.outOfOrder(b)
	}
	return false, v.schema.checkNeighbour(b, before, sealed)
}

// Scan calls fn with each row under a prefix, in key order, from the key `from` on (nil: from the first), until fn returns
// false: ErrCorrupt. fn must not write rows.
func (v *View) Scan(b Bucket, prefix, from []byte, fn func(key, value []byte) (bool, error)) error {
	if bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	c := v.lend(b)
	defer func() { v.cache[b].cursor = c }()
	key, sealed, err := v.seek(c, b, prefix, from)
	if err != nil {
		return err
	}
	var written []entry
	if v.over != nil {
		written = v.over.from(b, from)
	}
	for {
		if key != nil && !bytes.HasPrefix(key, prefix) {
			if err := v.schema.checkAfter(b, from, key, sealed); err != nil {
				return err
			}
			key = nil
		}
		if len(written) > 0 && (written[0].bucket != b || !bytes.HasPrefix(written[0].key, prefix)) {
			written = nil
		}
		switch {
		case key == nil && len(written) == 0:
			return nil
		case len(written) > 0 && (key == nil || bytes.Compare(written[0].key, key) <= 0):
			e := written[0]
			written = written[1:]
			if bytes.Equal(e.key, key) {
				key, sealed = c.Next()
			}
			if e.deleted {
				continue
			}
			if more, err := fn(e.key, e.plain()); err != nil || !more {
				return err
			}
		default:
			value, err := v.schema.unseal(b, key, sealed)
			if err != nil {
				return err
			}
			if more, err := fn(key, value); err != nil || !more {
				return err
			}
			key, sealed = c.Next()
		}
	}
}

// seek finds the first row from a key on, with a look at the one before it.
func (v *View) seek(c *bbolt.Cursor, b Bucket, prefix, from []byte) (key, sealed []byte, err error) {
	key, sealed = c.Seek(from)
	found := key != nil && bytes.HasPrefix(key, prefix)
	first, err := v.checkBefore(c, b, from)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !found:
		return key, sealed, nil // the scan is over: the cursor need not come back
	case first:
		key, sealed = c.Seek(from)
	default:
		key, sealed = c.Next()
	}
	if key != nil && bytes.Compare(key, from) < 0 {
		return nil, nil, v.schema.outOfOrder(b)
	}
	return key, sealed, nil
}

// ScanDown is Scan in falling order of the keys, from the key `from` or the last before it on. It reads the committed rows alone.
func (v *View) ScanDown(b Bucket, prefix, from []byte, fn func(key, value []byte) (bool, error)) error {
	c := v.in(b).Cursor()
	key, sealed := c.Seek(from)
	if key == nil {
		key, sealed = c.Last()
	}
	for ; key != nil; key, sealed = c.Prev() {
		value, err := v.schema.unseal(b, key, sealed) // also on either side: the key of a row that seems to be another's may be damaged
		switch {
		case err != nil:
			return err
		case bytes.Compare(key, prefix) < 0:
			return nil
		case bytes.Compare(key, from) > 0 || !bytes.HasPrefix(key, prefix):
			continue
		}
		if more, err := fn(key, value); err != nil || !more {
			return err
		}
	}
	return nil
}

// Count is how many committed rows a bucket has. It reads all pages of the bucket.
func (v *View) Count(b Bucket) int { return v.in(b).Stats().KeyN }

// Cursor walks the committed rows of a bucket, the damaged ones too.
type Cursor struct {
	bucket Bucket
	schema *Schema
	at     *bbolt.Cursor
}

// Cursor makes a cursor of a bucket.
func (v *View) Cursor(b Bucket) Cursor { return Cursor{b, v.schema, v.in(b).Cursor()} }

// Seek goes to the first row from a key on.
func (c Cursor) Seek(from []byte) Row { return c.row(c.at.Seek(from)) }

// Next goes to the next row.
func (c Cursor) Next() Row { return c.row(c.at.Next()) }

func (c Cursor) row(key, sealed []byte) Row { return Row{key, sealed, c.bucket, c.schema} }

// Row is a row with a value that is not checked yet. Its key is nil where there is none.
type Row struct {
	Key    []byte
	sealed []byte
	bucket Bucket
	schema *Schema
}

// Value returns the value: ErrCorrupt where its checksum fails.
func (r Row) Value() ([]byte, error) { return r.schema.unseal(r.bucket, r.Key, r.sealed) }
