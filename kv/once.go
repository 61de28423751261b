package kv

import (
	"bytes"
	"encoding/binary"
	"time"

	"doorward/kv/engine"
	"doorward/kv/record"
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

// once runs fn, unless its answer is kept already. Since the writer runs one operation after another, a second request
// waits for the first by itself. fn must not write where it answers an error.
func once(o *op, once *Once, fn func() (Reply, error)) (Reply, error) {
	if once == nil {
		return fn()
	}
	row, err := o.Get(onceBucket, once.Key[:])
	if err != nil {
		return Reply{}, err
	}
	if row != nil {
		kept, body, expires, err := parseOnce(row)
		if err != nil {
			return Reply{}, err
		}
		if o.now.Before(expires) {
			if body != once.Body {
				return Reply{}, ErrKeyReused
			}
			kept.Replayed = true
			if o.store.recalls.concealed.Load() != nil {
				kept.JSON = nil // it may show who is concealed; what is there now does not
			}
			return kept, nil
		}
		o.delete(onceExpiryBucket, onceExpiryKey(expires, once.Key[:]))
	}
	r, err := fn()
	if err != nil {
		return r, err
	}
	expires := o.now.Add(onceKept).Truncate(time.Microsecond)
	o.put(onceBucket, once.Key[:], appendOnce(nil, r, once.Body, expires))
	o.put(onceExpiryBucket, onceExpiryKey(expires, once.Key[:]), nil)
	return r, purgeOnce(o)
}

func onceExpiryKey(expires time.Time, key []byte) []byte {
	return append(appendNumber(make([]byte, 0, 40), expires.UnixMicro()), key...)
}

// purgeOnce deletes some of the answers whose time is over.
func purgeOnce(o *op) error {
	expired, err := keysBefore(o.sight.View, onceExpiryBucket, appendNumber(nil, o.now.UnixMicro()), oncePurge)
	for _, key := range expired {
		o.delete(onceExpiryBucket, key)
		o.delete(onceBucket, key[8:])
	}
	return err
}

// appendOnce writes a kept answer: expiry, body hash, record id, revision, reply.
func appendOnce(dst []byte, r Reply, body [32]byte, expires time.Time) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(expires.UnixMicro()))
	dst = append(dst, body[:]...)
	id := r.ID.ULID()
	dst = append(dst, id[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(r.Revision)))
	return append(append(dst, r.Revision...), r.JSON...)
}

func parseOnce(row []byte) (r Reply, body [32]byte, expires time.Time, err error) {
	c := cutter{rest: row}
	expires = time.UnixMicro(int64(c.uint64()))
	copy(body[:], c.bytes(32))
	var id [16]byte
	copy(id[:], c.bytes(16))
	r.ID = record.FromULID(id)
	r.Revision = string(c.bytes(int(c.uvarint())))
	r.JSON = bytes.Clone(c.rest)
	if c.short {
		err = ErrCorrupt
	}
	return r, body, expires, err
}

// keysBefore are the first keys of a bucket that lie before a key, at most so many; where a row is damaged, those before it.
func keysBefore(r *engine.View, b bucket, end []byte, most int) (keys [][]byte, err error) {
	err = r.Scan(b, nil, nil, func(key, _ []byte) (bool, error) {
		if len(keys) == most || bytes.Compare(key, end) >= 0 {
			return false, nil
		}
		keys = append(keys, bytes.Clone(key))
		return true, nil
	})
	return keys, err
}
