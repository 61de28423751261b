package kv

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"doorward/kv/record"
	"doorward/kv/scopes"
)

// Held returns the sequence of the latest change in a database of records that Release would take; 0 = there is none. It
// returns *Forbidden, or ErrNotFound if the name is no database of records.
func (s *Store) Held(p Principal, name string, kept ...string) (upto uint64, err error) {
	h, err := newHandover(p, name, kept)
	if err != nil {
		return 0, err
	}
	err = s.view(func(v *sight) error {
		last := scopeSeqKey(nil, h.scope, math.MaxUint64)
		return v.walk(scopeLogBucket, true, h.prefix, last, func(key, row []byte) (bool, error) {
			r, err := releasable(v, h, key, row)
			if r != nil && !r.removed {
				upto = r.Seq
			}
			return upto == 0, err
		})
	})
	return upto, err
}

// Release takes out of the file what a database of records holds up to a sequence. It writes no tombstone, because another
// store has the records and keeps them. Records that are also in one of the kept databases stay. Release returns *Forbidden, or
// ErrNotFound if the name is no database of records.
func (s *Store) Release(p Principal, name string, upto uint64, kept ...string) error {
	h, err := newHandover(p, name, kept)
	if err != nil {
		return err
	}
	if err := hushAnswers(s.tables, h.scope, func(_ *record.Kind, st *stored) bool { return st.seq <= upto && !h.keeps(st) }); err != nil {
		return err
	}
	for from := uint64(0); ; {
		steps := []step{{run: func(o *op) (err error) {
			from, err = releaseSome(o, h, from, upto)
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

// Releases grows whenever this process takes records out of the file without a tombstone, by Release or Leave. A follower of
// the log learns of them by this number alone.
func (s *tables) Releases() uint64 { return s.releases.Load() }

// handover says what of a database is taken out of the file.
type handover struct {
	scope  scopes.Scope
	prefix []byte // of its rows in the log
	kept   []scopes.Scope
}

func newHandover(p Principal, name string, kept []string) (h *handover, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	scope, ok := scopes.Parse(name)
	if !ok {
		return nil, ErrNotFound
	}
	h = &handover{scope: scope, prefix: appendScope(nil, scope)}
	for _, name := range kept {
		if s, ok := scopes.Parse(name); ok {
			h.kept = append(h.kept, s)
		}
	}
	return h, nil
}

// keeps tells whether a record is in a database that is kept.
func (h *handover) keeps(st *stored) bool { return slices.ContainsFunc(h.kept, st.in) }

// released is a row of a database's log, and the record that it is about; nil where that has left, or is of an unknown kind.
type released struct {
	scopeChange
	st *stored
}

// releasable reads a row of the database's log; nil for one of a record that stays.
func releasable(v *sight, h *handover, key, row []byte) (r *released, err error) {
	if len(key) != len(h.prefix)+8 {
		return nil, ErrCorrupt
	}
	r = &released{}
	r.scopeChange, err = parseScopeLog(binary.BigEndian.Uint64(key[len(h.prefix):]), row)
	if err != nil || r.removed || r.doc != "" {
		return r, err
	}
	if r.st, err = v.loadAny(r.Kind, r.ID); err != nil || r.st == nil || r.st.seq != r.Seq {
		return nil, orCorrupt(err)
	}
	if h.keeps(r.st) {
		return nil, nil
	}
	return r, nil
}

// Leave takes out of the file those of some documents that are still in a database of records, without a tombstone: elsewhere they
// have left it. One that has changed after a sequence is held back.
func (s *Store) Leave(p Principal, name string, ids []string, upto uint64) (held bool, err error) {
	if err := p.CheckWhole(); err != nil {
		return false, err
	}
	scope, ok := scopes.Parse(name)
	if !ok {
		return false, nil // of all records none is another's
	}
	gone := make(map[string]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
	}
	if err := hushAnswers(s.tables, scope, func(k *record.Kind, st *stored) bool { return gone[k.DocID(st.id)] && st.seq <= upto }); err != nil {
		return false, err
	}
	for some := range slices.Chunk(ids, MaxRows) {
		steps := []step{{run: func(o *op) error {
			for _, id := range some {
				late, err := leave(o, scope, id, upto)
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

func leave(o *op, scope scopes.Scope, text string, upto uint64) (late bool, err error) {
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
	if err := noteReleased(o); err != nil {
		return false, err
	}
	return false, purge(o, k, st)
}

// releaseSome purges some of the records of a database, from one sequence to another, and forgets those that have left it. It
// returns the sequence to continue from; 0 = there is no more.
func releaseSome(o *op, h *handover, from, upto uint64) (next uint64, err error) {
	var all []*released
	seen := 0
	err = o.Scan(scopeLogBucket, h.prefix, scopeSeqKey(nil, h.scope, from), func(key, row []byte) (bool, error) {
		r, err := releasable(o.sight, h, key, row)
		if r != nil && r.Seq <= upto {
			all = append(all, r)
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
	if err := noteReleased(o); err != nil {
		return 0, err
	}
	for _, r := range all {
		if err := releaseOne(o, h.scope, r); err != nil {
			return 0, err
		}
	}
	return next, nil
}

// releaseOne takes out of the file what a row of a scope's log is about, and the row.
func releaseOne(o *op, scope scopes.Scope, r *released) error {
	switch {
	case r.doc != "":
		return purgeOpaque(o, scope, r.doc)
	case r.removed:
		o.delete(scopeLogBucket, scopeSeqKey(nil, scope, r.Seq))
		o.delete(leftBucket, leftKey(r.Kind, r.ID, scope))
		return nil
	}
	return purge(o, r.Kind, r.st)
}

var releasedKey = []byte("released") // in meta: when the file first held bytes of what it has released, microseconds 8

// noteReleased notes that free pages of the file hold bytes of released records from now on.
func noteReleased(o *op) error {
	since, err := releasedSince(o.sight)
	if err == nil && (since == 0 || o.tx.Rewriting()) { // a file that a rewrite is writing holds them too
		o.put(metaBucket, releasedKey, seqKey(uint64(o.stamp)))
	}
	return err
}

// releasedSince returns the time since which the file holds bytes of released records. It returns 0 if it holds none, or if it
// was compacted since.
func releasedSince(v *sight) (int64, error) {
	row, err := v.Get(metaBucket, releasedKey)
	if err != nil || len(row) != 8 {
		return 0, err
	}
	since := int64(binary.BigEndian.Uint64(row))
	if compacted, err := compactedAt(v); err != nil || since <= compacted {
		return 0, err
	}
	return since, nil
}

func (s *tables) releasedSince() (since time.Time, err error) {
	err = s.view(func(v *sight) error {
		n, err := releasedSince(v)
		if n != 0 {
			since = time.UnixMicro(n)
		}
		return err
	})
	return since, err
}
