package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"doorward/kv/crash"
	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
)

// op is one operation inside the write transaction: it sees the committed state, what the group has written before it, and
// its own writes. Nothing of it remains if it answers an error.
type op struct {
	*sight
	tx      *engine.Tx
	state   state
	stamp   int64 // the commit's time, microseconds
	doubted bool  // the wall clock is not believed
	doors   *doorMemory
	group   *group // as the operations before this one have left it
	changed []listChange
	rung    []feedName // the feeds that have grown
	scratch []byte     // for a row that is put together
}

func (o *op) put(b bucket, key, value []byte) { o.tx.Put(b, key, value) }

func (o *op) delete(b bucket, key []byte) { o.tx.Delete(b, key) }

// after has fn run when the operation is durable, before its caller has the answer.
func (o *op) after(fn func()) { o.tx.OnCommitted(fn) }

// change is one record as it was and as it shall be.
type change struct {
	kind   *record.Kind
	id     record.ID
	before *stored      // nil: new
	was    *record.Doc  // of before, if it is live
	is     *record.Doc  // nil: deleted
	author int64        // api key, 0 = none
	into   int64        // of one that is deleted: the record that it was the same thing as; 0 = none
	made   *made        // of a new one, what is made of it already; nil = nothing
	ready  readyLookups // of is
}

// write stores a change: record, revision, lookups and log rows. It answers the record as it is stored now.
func (o *op) write(c change) (*stored, error) {
	home, err := homeOf(o, c.kind, c.is)
	if err != nil {
		return nil, err
	}
	next := &stored{id: c.id, header: header{version: c.kind.Version, updatedAt: o.stamp, updatedBy: c.author}}
	if c.is == nil {
		next.deleted = true
		next.scopes = c.before.scopes
	} else {
		copy(next.scopes[:], c.kind.Scopes(c.id, c.is, home))
	}
	if err := o.store.rules.leaves(o, c.kind, c.before, next.scopes); err != nil {
		return nil, err
	}
	next.fill(c)
	if err := branch(o, c, next); err != nil {
		return nil, err
	}
	if err := welcome(o, c.kind, c.before, next); err != nil {
		return nil, err
	}
	moveLookups(o, c, next.updatedAt)
	place(o, c.kind, c.before, next)
	return next, nil
}

// fill sets body and revision.
func (st *stored) fill(c change) {
	if c.made != nil && c.before == nil {
		st.body, st.revision = c.made.body, c.made.revision
		return
	}
	canonical := []byte(record.Tombstone(c.kind, c.into))
	if c.is != nil {
		st.body, canonical = c.is.Encode(), c.is.Canonical()
	}
	var parent rev.ID
	if c.before != nil {
		parent = c.before.revision
	}
	st.revision, st.parent = rev.Next(parent, st.deleted, canonical), parent.Hash
}

// place puts a record's row, moves its rows in the logs to the end, and notes what the lists must learn.
func place(o *op, k *record.Kind, before, next *stored) {
	o.state.seq++
	next.seq = o.state.seq
	if before != nil {
		o.delete(logBucket, seqKey(before.seq))
	}
	crash.At(crash.BeforeLogRow)
	var key [16]byte
	o.scratch = appendLog(o.scratch[:0], k, next, 0)
	o.put(logBucket, binary.BigEndian.AppendUint64(key[:0], next.seq), o.scratch)
	moveScopes(o, k, before, next, o.scratch)
	crash.At(crash.BeforeRecord)
	o.scratch = appendRow(o.scratch[:0], &next.header, next.body)
	o.put(kindBucket(k), k.AppendID(key[:0], next.id), o.scratch)
	c := listChange{kind: k, id: next.id, is: !next.deleted, isHome: next.home(k), isIn: issued(k, next.body), to: next.mark()}
	if before != nil && !before.deleted {
		c.was, c.wasHome, c.wasIn = true, before.home(k), issued(k, before.body)
	}
	if before != nil {
		c.from = before.mark()
	}
	o.store.rules.placed(o, k, before, next)
	o.changed = append(o.changed, c)
}

// moveLookups deletes the lookup rows that no longer hold and writes the new ones.
func moveLookups(o *op, c change, stamp int64) {
	var old, now [][]byte
	if c.was != nil {
		old = lookupKeys(c.kind, c.id, c.was, c.before.updatedAt)
	}
	if now = c.ready.under(c.kind, stamp); now == nil {
		now = lookupKeys(c.kind, c.id, c.is, stamp)
	}
	moveRows(o.tx, lookupBucket, old, now)
	moveRows(o.tx, codeBucket, codeKeys(c.kind, c.id, c.was), codeKeys(c.kind, c.id, c.is))
}

// moveRows replaces one set of valueless rows by another.
func moveRows(w *engine.Tx, b bucket, old, now [][]byte) {
	for _, key := range old {
		if !holds(now, key) {
			w.Delete(b, key)
		}
	}
	for _, key := range now {
		if !holds(old, key) {
			w.Put(b, key, nil)
		}
	}
}

func holds(keys [][]byte, key []byte) bool {
	for _, k := range keys {
		if bytes.Equal(k, key) {
			return true
		}
	}
	return false
}

// homeOf is the church or event that a record belongs to (record.Kind.Home), 0 for none.
func homeOf(o *op, k *record.Kind, d *record.Doc) (int64, error) {
	if d == nil || k.Home == "" {
		return 0, nil
	}
	n := d.Int(k.Home)
	if k != record.Membership || n == 0 {
		return n, nil
	}
	person, err := o.load(record.Person, record.Int(n))
	if err != nil || person == nil {
		return 0, err
	}
	return person.home(record.Person), nil
}

// rehome rewrites the memberships of a person that has moved to another church: same revision, other scope.
func rehome(o *op, person record.ID) error {
	ids, err := o.lookup(record.Membership, "person", person.Int())
	if err != nil {
		return err
	}
	for _, id := range ids {
		before, err := o.load(record.Membership, id)
		if err != nil || before == nil {
			return err
		}
		d, err := record.Membership.Decode(before.body)
		if err != nil {
			return err
		}
		home, err := homeOf(o, record.Membership, d)
		if err != nil {
			return err
		}
		next := *before
		next.scopes = [2]scopes.Scope{}
		copy(next.scopes[:], record.Membership.Scopes(id, d, home))
		if err := welcome(o, record.Membership, before, &next); err != nil {
			return err
		}
		place(o, record.Membership, before, &next)
	}
	return nil
}

// issued tells a ticket that counts as issued.
func issued(k *record.Kind, b record.Body) bool {
	if k != record.Ticket {
		return false
	}
	switch string(b.Member("state")) {
	case `"valid"`, `"unpaid"`:
		return true
	}
	return false
}

func seqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// What a log row tells of its record besides. Their numbers are stored.
const (
	rowDeleted  = 1 << iota
	rowBranched // its tree has further leaves
	rowRemoved  // it has left the scope
)

// appendLog writes a log row: kind, flags, id, generation, hash.
func appendLog(dst []byte, k *record.Kind, st *stored, more byte) []byte {
	dst = append(dst, k.Number, flags(st.deleted, st.branched)|more)
	dst = k.AppendID(dst, st.id)
	dst = binary.AppendUvarint(dst, st.revision.Generation)
	return append(dst, st.revision.Hash[:]...)
}

// decode opens a stored record's body.
func (st *stored) decode(k *record.Kind) (*record.Doc, error) {
	d, err := k.Decode(st.body)
	if err != nil {
		return nil, st.corrupt(k, err)
	}
	return d, nil
}

// corrupt is the error of a body that cannot be opened.
func (st *stored) corrupt(k *record.Kind, err error) error {
	return fmt.Errorf("%w: %s body: %w", ErrCorrupt, k.Name, err)
}

// noteCorrupt reports a value that failed its checksum, once for each time it was met.
func (s *tables) noteCorrupt(err error) {
	if err == nil || !errors.Is(err, ErrCorrupt) {
		return
	}
	s.corrupt.Inc()
	s.log.Error("a stored value fails its checksum", "cause", err)
}

// unlessCorrupt is noteCorrupt for who goes on without what is damaged.
func (s *tables) unlessCorrupt(err error) error {
	if errors.Is(err, ErrCorrupt) {
		s.noteCorrupt(err)
		return nil
	}
	return err
}
