package kv

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// ErrMirrorAtCentre is a laptop that shall be the mirror of another server.
var ErrMirrorAtCentre = errors.New("this folder has joined a centre: pull at the centre")

// Mirror says what a store's records are pulled from, and how far that has come.
type Mirror struct {
	Source string               `json:"source"`          // the address
	Key    string               `json:"key"`             // that reads there: another one may see other records
	Since  map[string]time.Time `json:"since,omitempty"` // by kind, from when on changes are read; none = everything is
}

// pulled is what a store keeps of a record that it has pulled: the revision that the pull left, and a hash of what was pulled. The
// hash is zero once the record is deleted here.
type pulled struct {
	revision rev.ID
	sum      [16]byte
}

// mirrorKey is the key of the Mirror itself; those of records begin with a kind's number, which is never 0.
var mirrorKey = []byte{0}

func pulledKey(k *record.Kind, id record.ID) []byte { return k.AppendID([]byte{k.Number}, id) }

// Mirror tells what the store's records are pulled from; ok is false where none was ever pulled. ErrMirrorAtCentre, *Forbidden.
func (s *Store) Mirror(p Principal) (m Mirror, ok bool, err error) {
	if err := s.mayMirror(p); err != nil {
		return Mirror{}, false, err
	}
	err = s.view(func(v *sight) error {
		row, err := v.Get(mirrorBucket, mirrorKey)
		if err == nil && row != nil && json.Unmarshal(row, &m) != nil {
			err = fmt.Errorf("%w: mirror", ErrCorrupt)
		}
		ok = row != nil
		return err
	})
	return m, ok, err
}

// NoteMirror keeps what the store's records are pulled from. ErrMirrorAtCentre, *Forbidden.
func (s *Store) NoteMirror(p Principal, m Mirror) error {
	if err := s.mayMirror(p); err != nil {
		return err
	}
	row, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.do(false, func(o *op) error {
		o.put(mirrorBucket, mirrorKey, row)
		return nil
	})
}

func (s *Store) mayMirror(p Principal) error {
	if s.isLeaf() {
		return ErrMirrorAtCentre
	}
	return p.CheckWhole()
}

// Pulled lists the records of a kind that were pulled and are still here, in id order.
func (s *Store) Pulled(p Principal, k *record.Kind) (ids []int64, err error) {
	if err := s.mayMirror(p); err != nil {
		return nil, err
	}
	err = s.eachRow(mirrorBucket, []byte{k.Number}, func(v *sight, key, _ []byte) error {
		id, _ := k.KeyID(key[1:])
		st, err := v.load(k, id)
		if err == nil && st != nil {
			ids = append(ids, id.Int())
		}
		return err
	})
	return ids, err
}

// Pull writes up to MaxRows rows as another server has them, each under the row's own id, which may be any: a bad one is rejected
// and blocks none. A record that is here and was not pulled, or was changed or deleted since it was, stays as it is: Kept, unless it
// says the same. dryRun decides all and writes nothing; its rows do not see each other. ErrMirrorAtCentre, *Forbidden.
func (s *Store) Pull(p Principal, rows []Row, dryRun bool) ([]RowResult, error) {
	if err := s.mayMirror(p); err != nil {
		return nil, err
	}
	author := p.Unsigned() // as with imports
	return eachAlone(s.tables, rows, dryRun, func(row Row) func(*op) (RowResult, error) {
		sum := sumOf(row.Patch)
		return func(o *op) (RowResult, error) { return pull(o, author, row, sum) }
	})
}

// sumOf is a hash of what a patch sets, in the order of the kind's table.
func sumOf(p *record.Patch) (sum [16]byte) {
	h := sha256.New()
	for i := range p.Kind.Fields {
		name := p.Kind.Fields[i].Name
		if v, ok := p.Value(name); ok {
			fmt.Fprintf(h, "%s:%d:%s,", name, len(v), v)
		}
	}
	copy(sum[:], h.Sum(nil))
	return sum
}

// pull makes or changes the record of one row, unless it is to be kept.
func pull(o *op, p Principal, row Row, sum [16]byte) (RowResult, error) {
	k := row.Kind
	if k.ULID || k == record.Ticket || row.ID.IsZero() {
		return RowResult{}, ErrNotFound
	}
	if err := mayCreate(p, k); err != nil {
		return RowResult{}, err
	}
	mark, err := loadPulled(o.sight, k, row.ID)
	if err != nil {
		return RowResult{}, err
	}
	before, err := o.load(k, row.ID)
	switch {
	case err != nil:
		return RowResult{}, err
	case before == nil:
		return pullNew(o, p, row, pulledAs{mark, sum})
	case mark == nil || mark.revision != before.revision:
		return pullOver(o, row, before, sum)
	case mark.sum == sum:
		return RowResult{Fate: Unchanged, ID: row.ID}, nil
	}
	seq := o.state.seq
	in := prepare(o.store, row.Patch)
	st := before
	for range 2 { // a kind's rules date the change by our day: the second time the source's date is laid over that
		if st, err = update(o, p, k, st, in); err != nil {
			return RowResult{}, err
		}
	}
	notePulled(o, k, st, sum)
	if o.state.seq == seq {
		return RowResult{Fate: Unchanged, ID: row.ID}, nil
	}
	return RowResult{Fate: Updated, ID: row.ID}, nil
}

// pulledAs is what was pulled before, nil for nothing, and what is now.
type pulledAs struct {
	before *pulled
	sum    [16]byte
}

// pullNew makes a record, unless one that was pulled, or any that was erased, is gone here.
func pullNew(o *op, p Principal, row Row, as pulledAs) (RowResult, error) {
	erased, err := isErased(o.sight, row.Kind, row.ID)
	if err != nil {
		return RowResult{}, err
	}
	if erased || as.before != nil {
		return RowResult{Fate: Kept, ID: row.ID}, nil
	}
	st, err := create(o, p, row.Kind, row.ID, prepareNew(o.store, p, row.Patch))
	if err != nil {
		return RowResult{}, err
	}
	notePulled(o, row.Kind, st, as.sum)
	return RowResult{Fate: Created, ID: row.ID}, nil
}

// pullOver leaves a record that is not as a pull has left it as it is. One that says the same counts as pulled from then on.
func pullOver(o *op, row Row, before *stored, sum [16]byte) (RowResult, error) {
	is, err := before.decode(row.Kind)
	if err != nil {
		return RowResult{}, err
	}
	is.Apply(row.Patch)
	if !sameBody(is.Encode(), before.body) {
		return RowResult{Fate: Kept, ID: row.ID}, nil
	}
	notePulled(o, row.Kind, before, sum)
	return RowResult{Fate: Unchanged, ID: row.ID}, nil
}

func notePulled(o *op, k *record.Kind, st *stored, sum [16]byte) {
	o.put(mirrorBucket, pulledKey(k, st.id), appendPulled(&pulled{st.revision, sum}))
}

func appendPulled(p *pulled) []byte {
	row := binary.AppendUvarint(nil, p.revision.Generation)
	return slices.Concat(row, p.revision.Hash[:], p.sum[:])
}

// pulled answers what is kept of a record that was pulled; nil where it was not.
func loadPulled(v *sight, k *record.Kind, id record.ID) (*pulled, error) {
	row, err := v.Get(mirrorBucket, pulledKey(k, id))
	if err != nil || row == nil {
		return nil, err
	}
	return parsePulled(row)
}

func parsePulled(row []byte) (*pulled, error) {
	c := cutter{rest: row}
	p := &pulled{revision: rev.ID{Generation: c.uvarint()}}
	copy(p.revision.Hash[:], c.bytes(16))
	copy(p.sum[:], c.bytes(16))
	if c.short || len(c.rest) > 0 {
		return nil, fmt.Errorf("%w: mirror", ErrCorrupt)
	}
	return p, nil
}

// forgetPulled takes away what is known of the content of a record that is deleted. That it was pulled stays known.
func forgetPulled(o *op, k *record.Kind, id record.ID) {
	if row, err := o.Get(mirrorBucket, pulledKey(k, id)); err == nil && row == nil {
		return // what cannot be read is forgotten too
	}
	o.put(mirrorBucket, pulledKey(k, id), appendPulled(&pulled{}))
}

// verifyMirror checks a row of the bucket.
func verifyMirror(key, value []byte) error {
	if len(key) == 1 && key[0] == mirrorKey[0] {
		var m Mirror
		if json.Unmarshal(value, &m) != nil {
			return ErrCorrupt
		}
		return nil
	}
	_, err := parsePulled(value)
	return err
}
