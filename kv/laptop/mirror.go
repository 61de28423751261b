package laptop

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// Mirror keeps the records of another server in this store: a pull reads them there and writes them here.
type Mirror struct{ tables *table.Set }

// ErrMirrorAtCentre says that a laptop cannot pull from another server.
var ErrMirrorAtCentre = errors.New("this folder has joined a centre: pull at the centre")

// MirrorSource is the server that records are pulled from, and how far the pull has come.
type MirrorSource struct {
	Source string               `json:"source"`          // the address
	Key    string               `json:"key"`             // the key that reads there; another key may see other records
	Since  map[string]time.Time `json:"since,omitempty"` // by kind, the time after which the next pull reads changes; without it the pull reads all records
}

// pulled is what a store keeps of a record that it has pulled: the revision that the pull left, and a hash of what was pulled. The
// hash is zero once the record is deleted here.
type pulled struct {
	revision rev.ID
	Sum      [16]byte
}

// mirrorKey is the key of the MirrorSource; the keys of records begin with a kind's number, which is never 0.
var mirrorKey = []byte{0}

// Source returns the server that records are pulled from. ok is false if none were ever pulled. It returns ErrMirrorAtCentre or
// *Forbidden.
func (mr *Mirror) Source(p auth.Principal) (m MirrorSource, ok bool, err error) {
	if err := mr.mayPull(p); err != nil {
		return m, false, err
	}
	err = mr.tables.View(func(v *table.View) error {
		row, err := v.Get(table.MirrorBucket, mirrorKey)
		if err == nil && row != nil && json.Unmarshal(row, &m) != nil {
			err = fmt.Errorf("%w: mirror", engine.ErrCorrupt)
		}
		ok = row != nil
		return err
	})
	return m, ok, err
}

// SetSource stores the server that records are pulled from. It returns ErrMirrorAtCentre or *Forbidden.
func (mr *Mirror) SetSource(p auth.Principal, m MirrorSource) error {
	if err := mr.mayPull(p); err != nil {
		return err
	}
	row, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return mr.tables.Do(func(o *table.Tx) error {
		o.Put(table.MirrorBucket, mirrorKey, row)
		return nil
	})
}

func (mr *Mirror) mayPull(p auth.Principal) error {
	if mr.tables.Identity.IsLeaf() {
		return ErrMirrorAtCentre
	}
	return p.CheckWhole()
}

// Pulled lists the records of a kind that were pulled and are still here, in id order.
func (mr *Mirror) Pulled(p auth.Principal, k *record.Kind) (ids []int64, err error) {
	if err := mr.mayPull(p); err != nil {
		return nil, err
	}
	err = mr.tables.EachRow(table.MirrorBucket, []byte{k.Number}, func(v *table.View, key, _ []byte) error {
		id, _ := k.KeyID(key[1:])
		st, err := v.Load(k, id)
		if err == nil && st != nil {
			ids = append(ids, id.Int())
		}
		return err
	})
	return ids, err
}

// Pull writes up to MaxRows rows as another server has them, each under the row's own id. A bad row is rejected and blocks no other.
// A record that is here stays as it is if it was not pulled, or was changed or deleted since: the result is Kept, unless the record
// says the same. dryRun decides all and writes nothing; its rows do not see each other. Pull returns ErrMirrorAtCentre or *Forbidden.
func (mr *Mirror) Pull(p auth.Principal, rows []entry.Row, dryRun bool) ([]desk.RowResult, error) {
	if err := mr.mayPull(p); err != nil {
		return nil, err
	}
	author := p.Unsigned() // as with imports
	return desk.EachAlone(mr.tables, rows, dryRun, func(row entry.Row) func(*table.Tx) (desk.RowResult, error) {
		sum := sumOf(row.Patch)
		return func(o *table.Tx) (desk.RowResult, error) { return pull(o, author, row, sum) }
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

// pull makes or changes the record of one row, or keeps it.
func pull(o *table.Tx, p auth.Principal, row entry.Row, sum [16]byte) (desk.RowResult, error) {
	k := row.Kind
	if k.ULID || entry.WrittenAs(k) == record.Ticket || row.ID.IsZero() {
		return desk.RowResult{}, table.ErrNotFound
	}
	if err := entry.MayCreate(p, k); err != nil {
		return desk.RowResult{}, err
	}
	mark, err := LoadPulled(o.View, k, row.ID)
	if err != nil {
		return desk.RowResult{}, err
	}
	before, err := o.Load(k, row.ID)
	switch {
	case err != nil:
		return desk.RowResult{}, err
	case before == nil && mark != nil:
		return desk.RowResult{Fate: desk.Kept, ID: row.ID}, nil // it was pulled, and then deleted here
	case before == nil:
		return pullNew(o, p, row, sum)
	case mark == nil || mark.revision != before.Revision:
		return pullOver(o, row, before, sum)
	case mark.Sum == sum:
		return desk.RowResult{Fate: desk.Unchanged, ID: row.ID}, nil
	}
	seq := o.State.Seq
	in := entry.Prepare(o.Store, row.Patch)
	st := before
	for range 2 { // the rules of some kinds set a date to today; the second update sets the date of the source
		if st, err = desk.Update(o, p, k, st, in); err != nil {
			return desk.RowResult{}, err
		}
	}
	notePulled(o, k, st, sum)
	if o.State.Seq == seq {
		return desk.RowResult{Fate: desk.Unchanged, ID: row.ID}, nil
	}
	return desk.RowResult{Fate: desk.Updated, ID: row.ID}, nil
}

// pullNew makes a record. It returns Kept for a record that was erased.
func pullNew(o *table.Tx, p auth.Principal, row entry.Row, sum [16]byte) (desk.RowResult, error) {
	erased, err := table.IsErased(o.View, row.Kind, row.ID)
	if err != nil {
		return desk.RowResult{}, err
	}
	if erased {
		return desk.RowResult{Fate: desk.Kept, ID: row.ID}, nil
	}
	st, err := desk.Create(o, p, row.Kind, row.ID, entry.PrepareNew(o.Store, p, row.Patch))
	if err != nil {
		return desk.RowResult{}, err
	}
	notePulled(o, row.Kind, st, sum)
	return desk.RowResult{Fate: desk.Created, ID: row.ID}, nil
}

// pullOver keeps a record that was changed since it was pulled, or was never pulled. If it says the same as the row, it counts as
// pulled from now on.
func pullOver(o *table.Tx, row entry.Row, before *table.Stored, sum [16]byte) (desk.RowResult, error) {
	is, err := before.Decode(row.Kind)
	if err != nil {
		return desk.RowResult{}, err
	}
	is.Apply(row.Patch)
	if !entry.SameBody(is.Encode(), before.Body) {
		return desk.RowResult{Fate: desk.Kept, ID: row.ID}, nil
	}
	notePulled(o, row.Kind, before, sum)
	return desk.RowResult{Fate: desk.Unchanged, ID: row.ID}, nil
}

func notePulled(o *table.Tx, k *record.Kind, st *table.Stored, sum [16]byte) {
	o.Put(table.MirrorBucket, table.TreeKey(k, st.ID), appendPulled(&pulled{st.Revision, sum}))
}

func appendPulled(p *pulled) []byte {
	row := binary.AppendUvarint(nil, p.revision.Generation)
	return slices.Concat(row, p.revision.Hash[:], p.Sum[:])
}

// LoadPulled reads the mark of a record that was pulled; nil = it was not pulled.
func LoadPulled(v *table.View, k *record.Kind, id record.ID) (*pulled, error) {
	row, err := v.Get(table.MirrorBucket, table.TreeKey(k, id))
	if err != nil || row == nil {
		return nil, err
	}
	return parsePulled(row)
}

func parsePulled(row []byte) (*pulled, error) {
	c := table.Cutter{Rest: row}
	p := &pulled{revision: rev.ID{Generation: c.Uvarint()}}
	copy(p.revision.Hash[:], c.Bytes(16))
	copy(p.Sum[:], c.Bytes(16))
	if c.Short || len(c.Rest) > 0 {
		return nil, fmt.Errorf("%w: mirror", engine.ErrCorrupt)
	}
	return p, nil
}

// ForgetPulled removes the hash of a deleted record's content. The mark that it was pulled stays.
func ForgetPulled(o *table.Tx, k *record.Kind, id record.ID) {
	if row, err := o.Get(table.MirrorBucket, table.TreeKey(k, id)); err == nil && row == nil {
		return // a row that cannot be read is overwritten too
	}
	o.Put(table.MirrorBucket, table.TreeKey(k, id), appendPulled(&pulled{}))
}

// VerifyMirror checks a row of the bucket.
func VerifyMirror(key, value []byte) error {
	if len(key) == 1 && key[0] == mirrorKey[0] {
		var m MirrorSource
		if json.Unmarshal(value, &m) != nil {
			return engine.ErrCorrupt
		}
		return nil
	}
	_, err := parsePulled(value)
	return err
}
