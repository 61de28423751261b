package kv

import (
	"encoding/binary"

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
