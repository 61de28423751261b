package kv

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"doorward/kv/record"
)

// Held is the sequence of the latest change in a database of records that Release would take; 0 = there is none. *Forbidden,
// ErrNotFound for a name that is no database of records.
func (s *Store) Held(p Principal, name string, kept ...string) (upto uint64, err error) {
	h, err := newHandover(p, name, kept)
	if err != nil {
		return 0, err
	}
	err = s.view(func(v *sight) error {
		last := scopeSeqKey(nil, h.scope, math.MaxUint64)
		return v.walk(scopeLogBucket, true, h.prefix, last, func(key, row []byte) (bool, error) {
			_, st, err := v.releasable(h, key, row)
			if st != nil {
				upto = st.seq
			}
			return st == nil, err
		})
	})
	return upto, err
}

// Release takes out of the file what a database of records holds up to a sequence: without a tombstone, for another store has it and
// keeps it. What is also in one of the databases that are kept stays. *Forbidden, ErrNotFound for a name that is no database of
// records.
func (s *Store) Release(p Principal, name string, upto uint64, kept ...string) error {
	h, err := newHandover(p, name, kept)
	if err != nil {
		return err
	}
	for from := uint64(0); ; {
		steps := []step{{run: func(o *op) (err error) {
			from, err = o.release(h, from, upto)
			return err
		}}}
		if err := s.doAll(steps); err != nil {
			return err
		}
		if err := steps[0].err; err != nil || from == 0 {
			return err
		}
	}
}

// handover says what of a database is taken out of the file.
type handover struct {
	scope  record.Scope
	prefix []byte // of its rows in the log
	kept   []record.Scope
}

func newHandover(p Principal, name string, kept []string) (h *handover, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	scope, ok := record.ParseScope(name)
	if !ok {
		return nil, ErrNotFound
	}
	h = &handover{scope: scope, prefix: appendScope(nil, scope)}
	for _, name := range kept {
		if s, ok := record.ParseScope(name); ok {
			h.kept = append(h.kept, s)
		}
	}
	return h, nil
}

// releasable is the record of a row of the database's log, and its kind; nil for one that has left it, or stays.
func (v *sight) releasable(h *handover, key, row []byte) (*record.Kind, *stored, error) {
	if len(key) != len(h.prefix)+8 {
		return nil, nil, ErrCorrupt
	}
	c, removed, err := parseLogRow(binary.BigEndian.Uint64(key[len(h.prefix):]), row)
	if err != nil || removed {
		return nil, nil, err
	}
	st, err := v.loadAny(c.Kind, c.ID)
	if err != nil {
		return nil, nil, err
	}
	if st == nil || st.seq != c.Seq {
		return nil, nil, ErrCorrupt
	}
	if slices.ContainsFunc(h.kept, st.in) {
		return nil, nil, nil
	}
	return c.Kind, st, nil
}

// Leave takes out of the file those of some documents that are still in a database of records, without a tombstone: elsewhere they
// have left it. One that has changed after a sequence is held back.
func (s *Store) Leave(p Principal, name string, ids []string, upto uint64) (held bool, err error) {
	if err := p.CheckWhole(); err != nil {
		return false, err
	}
	scope, ok := record.ParseScope(name)
	if !ok {
		return false, nil // of all records none is another's
	}
	for some := range slices.Chunk(ids, MaxRows) {
		steps := []step{{run: func(o *op) error {
			for _, id := range some {
				late, err := o.leave(scope, id, upto)
				if err != nil {
					return err
				}
				held = held || late
			}
			return nil
		}}}
		if err := s.doAll(steps); err != nil {
			return held, err
		}
		if err := steps[0].err; err != nil {
			return held, err
		}
	}
	return held, nil
}

func (o *op) leave(scope record.Scope, text string, upto uint64) (late bool, err error) {
	k, id, ok := record.ParseDocID(text)
	if !ok {
		return false, nil // of a kind that this version does not know
	}
	st, err := o.loadAny(k, id)
	if err != nil || st == nil || !st.in(scope) {
		return false, err
	}
	if st.seq > upto {
		return true, nil
	}
	if err := o.noteReleased(); err != nil {
		return false, err
	}
	return false, o.purge(k, st)
}

// release purges some of what a database holds, from one sequence to another, and answers where to go on; 0 = there is no more.
func (o *op) release(h *handover, from, upto uint64) (next uint64, err error) {
	type found struct {
		kind *record.Kind
		*stored
	}
	var all []found
	seen := 0
	err = o.scan(scopeLogBucket, h.prefix, scopeSeqKey(nil, h.scope, from), func(key, row []byte) (bool, error) {
		k, st, err := o.releasable(h, key, row)
		if st != nil && st.seq <= upto {
			all = append(all, found{k, st})
		}
		seq := binary.BigEndian.Uint64(key[len(key)-8:])
		if seen++; err != nil || seq >= upto {
			return false, err
		}
		next = seq + 1
		return seen < MaxRows, nil
	})
	if err != nil || len(all) == 0 {
		return next, err
	}
	if err := o.noteReleased(); err != nil {
		return 0, err
	}
	for _, f := range all {
		if err := o.purge(f.kind, f.stored); err != nil {
			return 0, err
		}
	}
	return next, nil
}

var releasedKey = []byte("released") // in meta: when the file first held bytes of what it has released, microseconds 8

// noteReleased notes that free pages of the file hold from now on what it no longer shall.
func (o *op) noteReleased() error {
	since, err := o.releasedSince()
	if err == nil && (since == 0 || o.store.writer.touched != nil) { // a file that is being written anew holds them too
		o.put(metaBucket, releasedKey, seqKey(uint64(o.stamp)))
	}
	return err
}

// releasedSince is since when there are such bytes; 0 where the file was written anew meanwhile.
func (v *sight) releasedSince() (int64, error) {
	row, err := v.get(metaBucket, releasedKey)
	if err != nil || len(row) != 8 {
		return 0, err
	}
	since := int64(binary.BigEndian.Uint64(row))
	if compacted, err := v.compactedAt(); err != nil || since <= compacted {
		return 0, err
	}
	return since, nil
}

func (s *Store) releasedSince() (since time.Time, err error) {
	err = s.view(func(v *sight) error {
		n, err := v.releasedSince()
		if n != 0 {
			since = time.UnixMicro(n)
		}
		return err
	})
	return since, err
}
