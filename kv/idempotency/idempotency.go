package idempotency

import (
	"bytes"
	"encoding/binary"
	"time"

	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Request is a request with an Idempotency-Key.
type Request struct {
	Key  [32]byte // hash of api key, method, path and the Idempotency-Key
	Body [32]byte // hash of the body
}

const (
	kept      = 72 * time.Hour
	purgeEach = 8 // expired answers that are deleted with each new one
)

// Once runs fn and keeps its answer for 72 hours, or returns the answer that is kept. It returns table.ErrKeyReused if the key came with
// another body before. The writer runs one operation after another, so a second request waits for the first. fn must not write if it
// returns an error. A nil request has no key: fn runs.
func Once(o *table.Tx, once *Request, fn func() (entry.Reply, error)) (entry.Reply, error) {
	if once == nil {
		return fn()
	}
	row, err := o.Get(table.OnceBucket, once.Key[:])
	if err != nil {
		return entry.Reply{}, err
	}
	if row != nil {
		answer, body, expires, err := Parse(row)
		if err != nil {
			return entry.Reply{}, err
		}
		if o.Now.Before(expires) {
			if body != once.Body {
				return entry.Reply{}, table.ErrKeyReused
			}
			answer.Replayed = true
			if o.Store.Recalls.Concealed.Load() != nil {
				answer.JSON = nil // it may name an erased person; the record as it is now does not
			}
			return answer, nil
		}
		o.Delete(table.OnceExpiryBucket, ExpiryKey(expires, once.Key[:]))
	}
	r, err := fn()
	if err != nil {
		return r, err
	}
	expires := o.Now.Add(kept).Truncate(time.Microsecond)
	o.Put(table.OnceBucket, once.Key[:], appendAnswer(nil, r, once.Body, expires))
	o.Put(table.OnceExpiryBucket, ExpiryKey(expires, once.Key[:]), nil)
	return r, purge(o)
}

// ExpiryKey is the key of the row that says when an answer expires.
func ExpiryKey(expires time.Time, key []byte) []byte {
	return append(table.AppendNumber(make([]byte, 0, 40), expires.UnixMicro()), key...)
}

// purge deletes a few of the expired answers.
func purge(o *table.Tx) error {
	expired, err := table.KeysBefore(o.View.View, table.OnceExpiryBucket, table.AppendNumber(nil, o.Now.UnixMicro()), purgeEach)
	for _, key := range expired {
		o.Delete(table.OnceExpiryBucket, key)
		o.Delete(table.OnceBucket, key[8:])
	}
	return err
}

// appendAnswer writes a kept answer: expiry, body hash, record id, revision, reply.
func appendAnswer(dst []byte, r entry.Reply, body [32]byte, expires time.Time) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(expires.UnixMicro()))
	dst = append(dst, body[:]...)
	id := r.ID.ULID()
	dst = append(dst, id[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(r.Revision)))
	return append(append(dst, r.Revision...), r.JSON...)
}

// Parse reads a kept answer. It returns engine.ErrCorrupt if the row is not one.
func Parse(row []byte) (r entry.Reply, body [32]byte, expires time.Time, err error) {
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

// Redact empties the kept answers that show records which leave the file. An emptied answer still says that the create has happened, so a client
// that asks again makes no second record. It is shown the record as it is then.
func Redact(s *table.Set, goes func(*record.Kind, *table.Stored) bool) error {
	return s.DoEachRow(table.OnceBucket, nil, func(v *table.View, _, row []byte) (bool, error) { return showsOne(v, row, goes) }, empty)
}

// showsOne tells whether a kept answer shows a record that leaves.
func showsOne(v *table.View, row []byte, goes func(*record.Kind, *table.Stored) bool) (bool, error) {
	r, _, _, err := Parse(row)
	if err != nil || len(r.JSON) == 0 {
		return false, err
	}
	for _, k := range record.Kinds() {
		if !showsKind(k, r.JSON) {
			continue
		}
		id, err := shownIn(v, k, r.ID)
		if err != nil {
			return false, err
		}
		if st, err := v.LoadAny(k, id); err != nil || st != nil && goes(k, st) {
			return err == nil, err
		}
	}
	return false, nil
}

// shownIn is the record of a kind that an answer about a record shows: of a ticket its present holding.
func shownIn(v *table.View, k *record.Kind, id record.ID) (record.ID, error) {
	if !k.OfHolding() {
		return id, nil
	}
	ticket, err := v.Load(record.Ticket, id)
	if err != nil || ticket == nil {
		return record.ID{}, err
	}
	return entry.PresentOf(ticket.Body), nil
}

// showsKind tells whether an answer is one about records of a kind. A ticket's shows its name and its private half too.
func showsKind(k *record.Kind, reply []byte) bool {
	if entry.WrittenAs(k) == record.Ticket {
		return record.TicketForm.ShowsAll(record.Admin, reply)
	}
	return !k.ULID && (k.ShowsAll(record.V1, reply) || k.ShowsAll(record.Admin, reply))
}

// empty removes the reply of a kept answer.
func empty(o *table.Tx, key []byte) error {
	row, err := o.Get(table.OnceBucket, key)
	if err != nil || row == nil {
		return err // nil: it has expired
	}
	r, body, expires, err := Parse(row)
	if err != nil {
		return err
	}
	r.JSON = nil
	o.Put(table.OnceBucket, key, appendAnswer(nil, r, body, expires))
	return table.NoteReleased(o)
}
