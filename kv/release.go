package kv

import (
	"encoding/binary"
	"slices"
	"time"

	"doorward/kv/record"
)

// Release takes out of the file what a database of records holds up to a sequence: without a tombstone, for another store has it and
// keeps it. *Forbidden, ErrNotFound for a name that is no database of records.
func (s *Store) Release(p Principal, name string, upto uint64) error {
	if err := p.CheckWhole(); err != nil {
		return err
	}
	scope, ok := record.ParseScope(name)
	if !ok {
		return ErrNotFound
	}
	for {
		done := 0
		steps := []step{{run: func(o *op) (err error) {
			done, err = o.release(scope, upto)
			return err
		}}}
		err := s.doAll(steps)
		if err == nil {
			err = steps[0].err
		}
		if err != nil || done < MaxRows {
			return err
		}
	}
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

// release purges some of a scope's records, and forgets which have left it.
func (o *op) release(scope record.Scope, upto uint64) (done int, err error) {
	prefix := appendScope(nil, scope)
	var rows []Change
	err = o.walk(scopeLogBucket, false, prefix, nil, func(key, row []byte) (bool, error) {
		if len(key) != len(prefix)+8 {
			return false, ErrCorrupt
		}
		c, removed, err := parseLogRow(binary.BigEndian.Uint64(key[len(prefix):]), row)
		if err != nil || c.Seq > upto || len(rows) == MaxRows {
			return false, err
		}
		if !removed {
			rows = append(rows, c)
		}
		return true, nil
	})
	if err != nil {
		return 0, err
	}
	if len(rows) > 0 {
		if err := o.noteReleased(); err != nil {
			return 0, err
		}
	}
	for _, c := range rows {
		st, err := o.loadAny(c.Kind, c.ID)
		if err != nil {
			return 0, err
		}
		if st == nil || st.seq != c.Seq {
			return 0, ErrCorrupt
		}
		if err := o.purge(c.Kind, st); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
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
