package desk

import (
	"bytes"
	"encoding/binary"
	"time"

	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Once makes a create happen once: the answer of the first is kept for 72 hours.
type Once struct {
	Key  [32]byte // hash of api key, method, path and value
	Body [32]byte // hash of the body: another one under the same Key is ErrKeyReused
}

const (
	onceKept  = 72 * time.Hour
	oncePurge = 8 // expired answers deleted with each new one
)

// OnlyOnce runs fn, unless its answer is kept already. Since the writer runs one operation after another, a second request
// waits for the first by itself. fn must not write where it answers an error.
func OnlyOnce(o *table.Tx, once *Once, fn func() (entry.Reply, error)) (entry.Reply, error) {
	if once == nil {
		return fn()
	}
	row, err := o.Get(table.OnceBucket, once.Key[:])
	if err != nil {
		return entry.Reply{}, err
	}
	if row != nil {
		kept, body, expires, err := ParseOnce(row)
		if err != nil {
			return entry.Reply{}, err
		}
		if o.Now.Before(expires) {
			if body != once.Body {
				return entry.Reply{}, table.ErrKeyReused
			}
			kept.Replayed = true
			if o.Store.Recalls.Concealed.Load() != nil {
				kept.JSON = nil // it may show a concealed person; the record as it is now does not
			}
			return kept, nil
		}
		o.Delete(table.OnceExpiryBucket, OnceExpiryKey(expires, once.Key[:]))
	}
	r, err := fn()
	if err != nil {
		return r, err
	}
	expires := o.Now.Add(onceKept).Truncate(time.Microsecond)
	o.Put(table.OnceBucket, once.Key[:], appendOnce(nil, r, once.Body, expires))
	o.Put(table.OnceExpiryBucket, OnceExpiryKey(expires, once.Key[:]), nil)
	return r, purgeOnce(o)
}

func OnceExpiryKey(expires time.Time, key []byte) []byte {
	return append(table.AppendNumber(make([]byte, 0, 40), expires.UnixMicro()), key...)
}

// purgeOnce deletes some of the answers that have expired.
func purgeOnce(o *table.Tx) error {
	expired, err := table.KeysBefore(o.View.View, table.OnceExpiryBucket, table.AppendNumber(nil, o.Now.UnixMicro()), oncePurge)
	for _, key := range expired {
		o.Delete(table.OnceExpiryBucket, key)
		o.Delete(table.OnceBucket, key[8:])
	}
	return err
}

// appendOnce writes a kept answer: expiry, body hash, record id, revision, reply.
func appendOnce(dst []byte, r entry.Reply, body [32]byte, expires time.Time) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(expires.UnixMicro()))
	dst = append(dst, body[:]...)
	id := r.ID.ULID()
	dst = append(dst, id[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(r.Revision)))
	return append(append(dst, r.Revision...), r.JSON...)
}

func ParseOnce(row []byte) (r entry.Reply, body [32]byte, expires time.Time, err error) {
	c := table.Cutter{Rest: row}
	expires = time.UnixMicro(int64(c.Uint64()))
	copy(body[:], c.Bytes(32))
	var id [16]byte
	copy(id[:], c.Bytes(16))
	r.ID = record.FromULID(id)
	r.Revision = string(c.Bytes(int(c.Uvarint())))
	r.JSON = bytes.Clone(c.Rest)
	if c.Short {
		err = engine.ErrCorrupt
	}
	return r, body, expires, err
}
