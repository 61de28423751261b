package kv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"
)

// rows is all contact with bbolt: ordered get, put, delete and scan over checksummed values. A reader's rows are those of
// one View; an operation's rows lay its own overlay over the write transaction, so that nothing of it is in the
// transaction until it has succeeded.
type rows struct {
	tx      *bbolt.Tx
	buckets *bucketCache
	over    *overlay // nil: read only
}

// checksumSize is the length of the CRC32C at the end of every value.
const checksumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// bucketCache holds the buckets that a transaction has opened, and for each the cursor of the last scan, to be used again.
type bucketCache [numBuckets]struct {
	bucket *bbolt.Bucket
	cursor *bbolt.Cursor
}

// How full bbolt leaves the pages of a bucket that it splits: where keys come in order, at the bucket's end or at the ends of
// ranges within it, half-empty pages would stay half empty.
const (
	tailFill  = 0.95
	rangeFill = 0.8
)

// in opens a bucket of the transaction. Every bucket is there: opening the file has seen to it.
func (r rows) in(b bucket) *bbolt.Bucket {
	at := &r.buckets[b]
	if at.bucket == nil {
		at.bucket = r.tx.Bucket(bucketNames[b])
		switch {
		case b == logBucket || b >= firstKindBucket:
			at.bucket.FillPercent = tailFill
		case b == lookupBucket || b == scopeLogBucket:
			at.bucket.FillPercent = rangeFill
		}
	}
	return at.bucket
}

// lend hands out a cursor of a bucket; a scan within a scan of the same bucket gets another one.
func (r rows) lend(b bucket) *bbolt.Cursor {
	c := r.buckets[b].cursor
	if c == nil {
		return r.in(b).Cursor()
	}
	r.buckets[b].cursor = nil
	return c
}

// checksum covers where a value lies as well as what it says.
func checksum(b bucket, key, value []byte) uint32 {
	crc := castagnoli[byte(b)^0xff] ^ 0x00ffffff // of the bucket's one byte
	return crc32.Update(crc32.Update(^crc, castagnoli, key), castagnoli, value)
}

// unseal checks a stored value and takes its checksum off.
func unseal(b bucket, key, sealed []byte) ([]byte, error) {
	n := len(sealed) - checksumSize
	if n < 0 || binary.BigEndian.Uint32(sealed[n:]) != checksum(b, key, sealed[:n]) {
		return nil, fmt.Errorf("%w: bucket %s", ErrCorrupt, bucketNames[b])
	}
	return sealed[:n:n], nil
}

// get answers a value, nil where there is none. It is valid until the transaction ends and must not be changed.
func (r rows) get(b bucket, key []byte) ([]byte, error) {
	if r.over != nil {
		if e := r.over.find(b, key); e != nil {
			return e.plain(), nil
		}
	}
	c := r.lend(b)
	defer func() { r.buckets[b].cursor = c }()
	after, sealed := c.Seek(key)
	if bytes.Equal(after, key) {
		return unseal(b, key, sealed)
	}
	if err := checkAfter(b, key, after, sealed); err != nil {
		return nil, err
	}
	_, err := checkBefore(c, b, key)
	return nil, err
}

// A row whose key is damaged is not found, and neither is one to which a damaged page does not lead. Both show in what stands on
// either side of the place where it should be: a row that fails its checksum, or that belongs on the other side. So nothing is
// said to be missing, and no scan to be complete, before its neighbours are checked.

// checkAfter checks the row that a cursor has found in the place of a key, or beyond it.
func checkAfter(b bucket, from, after, sealed []byte) error {
	if after == nil {
		return nil
	}
	if bytes.Compare(after, from) < 0 {
		return outOfOrder(b)
	}
	return checkNeighbour(b, after, sealed)
}

// checkNeighbour checks a row for the sake of one beside it. In meta every key is known: where one is what it may be, the damage is in
// what the row says, and whoever reads it is told.
func checkNeighbour(b bucket, key, sealed []byte) error {
	_, err := unseal(b, key, sealed)
	if b == metaBucket && isMetaKey(key) {
		return nil
	}
	return err
}

// checkBefore checks the row before the place where a cursor stands, which it moves there. first tells that there is none.
func checkBefore(c *bbolt.Cursor, b bucket, from []byte) (first bool, err error) {
	before, sealed := c.Prev()
	if before == nil {
		return true, nil
	}
	if bytes.Compare(before, from) >= 0 {
		return false, outOfOrder(b)
	}
	return false, checkNeighbour(b, before, sealed)
}

func outOfOrder(b bucket) error {
	return fmt.Errorf("%w: bucket %s is out of order", ErrCorrupt, bucketNames[b])
}

// put sets a value; both slices are copied.
func (r rows) put(b bucket, key, value []byte) { r.over.put(b, key, value) }

// delete removes a row, if it is there.
func (r rows) delete(b bucket, key []byte) { r.over.delete(b, key) }

// scan calls fn with each row whose key starts with prefix, in key order, from the key `from` on (nil: from the first), until
// fn answers false. fn must neither write rows nor keep the slices.
func (r rows) scan(b bucket, prefix, from []byte, fn func(key, value []byte) (bool, error)) error {
	if bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	c := r.lend(b)
	defer func() { r.buckets[b].cursor = c }()
	key, sealed, err := seek(c, b, prefix, from)
	if err != nil {
		return err
	}
	var written []entry
	if r.over != nil {
		written = r.over.from(b, from)
	}
	for {
		if key != nil && !bytes.HasPrefix(key, prefix) {
			if err := checkAfter(b, from, key, sealed); err != nil {
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
			value, err := unseal(b, key, sealed)
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
func seek(c *bbolt.Cursor, b bucket, prefix, from []byte) (key, sealed []byte, err error) {
	key, sealed = c.Seek(from)
	found := key != nil && bytes.HasPrefix(key, prefix)
	first, err := checkBefore(c, b, from)
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
		return nil, nil, outOfOrder(b)
	}
	return key, sealed, nil
}

// before answers the first keys of a bucket that lie before a key, so many at most; where a row is damaged, those before it.
func (r rows) before(b bucket, end []byte, most int) (keys [][]byte, err error) {
	err = r.scan(b, nil, nil, func(key, _ []byte) (bool, error) {
		if len(keys) == most || bytes.Compare(key, end) >= 0 {
			return false, nil
		}
		keys = append(keys, bytes.Clone(key))
		return true, nil
	})
	return keys, err
}

// flush moves a successful operation's rows into the transaction.
func (r rows) flush() error {
	for i := range r.over.entries {
		e := &r.over.entries[i]
		var err error
		if e.deleted {
			err = r.in(e.bucket).Delete(e.key)
		} else {
			err = r.in(e.bucket).Put(e.key, e.sealed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
