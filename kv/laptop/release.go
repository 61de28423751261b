package laptop

import (
	"encoding/binary"
	"math"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/idempotency"
	"doorward/kv/inbox"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// Held returns the sequence of the latest change in a database of records that Release would take; 0 = there is none. It
// returns *Forbidden, or ErrNotFound if the name is no database of records.
func (lp *Laptop) Held(p auth.Principal, name string, kept ...string) (upto uint64, err error) {
	h, err := newHandover(p, name, kept)
	if err != nil {
		return 0, err
	}
	err = lp.tables.View(func(v *table.View) error {
		last := table.ScopeSeqKey(nil, h.scope, math.MaxUint64)
		return v.Walk(table.ScopeLogBucket, true, h.prefix, last, func(key, row []byte) (bool, error) {
			r, err := releasable(v, h, key, row)
			if r != nil && !r.Removed {
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
func (lp *Laptop) Release(p auth.Principal, name string, upto uint64, kept ...string) error {
	h, err := newHandover(p, name, kept)
	if err != nil {
		return err
	}
	goes := func(_ *record.Kind, st *table.Stored) bool { return st.In(h.scope) && st.Seq <= upto && !h.keeps(st) }
	if err := idempotency.Redact(lp.tables, goes); err != nil {
		return err
	}
	for from := uint64(0); ; {
		err := table.DoEach(lp.tables, []*handover{h}, func(o *table.Tx, h *handover) (err error) {
			from, err = releaseSome(o, h, from, upto)
			return err
		})
		if err != nil || from == 0 {
			return err
		}
	}
}

// handover says what of a database is taken out of the file.
type handover struct {
	scope  scopes.Scope
	prefix []byte // of its rows in the log
	kept   []scopes.Scope
}

func newHandover(p auth.Principal, name string, kept []string) (h *handover, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	scope, ok := scopes.Parse(name)
	if !ok {
		return nil, table.ErrNotFound
	}
	h = &handover{scope: scope, prefix: table.AppendScope(nil, scope)}
	for _, name := range kept {
		if s, ok := scopes.Parse(name); ok {
			h.kept = append(h.kept, s)
		}
	}
	return h, nil
}

// keeps tells whether a record is in a database that is kept.
func (h *handover) keeps(st *table.Stored) bool { return slices.ContainsFunc(h.kept, st.In) }

// released is a row of a database's log and its record; st is nil if the record has left the database, or is of an unknown kind.
type released struct {
	table.ScopeChange
	st *table.Stored
}

// releasable reads a row of the database's log. It returns nil for a record that stays.
func releasable(v *table.View, h *handover, key, row []byte) (r *released, err error) {
	if len(key) != len(h.prefix)+8 {
		return nil, engine.ErrCorrupt
	}
	r = &released{}
	r.ScopeChange, err = table.ParseScopeLog(binary.BigEndian.Uint64(key[len(h.prefix):]), row)
	if err != nil || r.Removed || r.Doc != "" {
		return r, err
	}
	if r.st, err = v.LoadAny(r.Kind, r.ID); err != nil || r.st == nil || r.st.Seq != r.Seq {
		return nil, table.OrCorrupt(err)
	}
	if h.keeps(r.st) {
		return nil, nil
	}
	return r, nil
}

// releaseSome purges some of the records of a database, from one sequence to another, and forgets those that have left it. It
// returns the sequence to continue from; 0 = there is no more.
func releaseSome(o *table.Tx, h *handover, from, upto uint64) (next uint64, err error) {
	var all []*released
	seen := 0
	err = o.Scan(table.ScopeLogBucket, h.prefix, table.ScopeSeqKey(nil, h.scope, from), func(key, row []byte) (bool, error) {
		r, err := releasable(o.View, h, key, row)
		if r != nil && r.Seq <= upto {
			all = append(all, r)
		}
		seq := binary.BigEndian.Uint64(key[len(key)-8:])
		if seen++; err != nil || seq >= upto {
			return false, err
		}
		next = seq + 1
		return seen < table.MaxRows, nil
	})
	if err != nil || len(all) == 0 {
		return next, err
	}
	if err := table.NoteReleased(o); err != nil {
		return 0, err
	}
	for _, r := range all {
		if err := releaseOne(o, h.scope, r); err != nil {
			return 0, err
		}
	}
	return next, nil
}

// releaseOne removes the record or document of one row of a scope's log, and the row.
func releaseOne(o *table.Tx, scope scopes.Scope, r *released) error {
	switch {
	case r.Doc != "":
		return table.PurgeOpaque(o, scope, r.Doc)
	case r.Removed:
		o.Delete(table.ScopeLogBucket, table.ScopeSeqKey(nil, scope, r.Seq))
		o.Delete(table.LeftBucket, table.LeftKey(r.Kind, r.ID, scope))
		return nil
	}
	return merge.Purge(o, r.Kind, r.st)
}

// ReleaseRefusals removes the refusals of a database of records that is dropped for good, decided or not, because their records are gone. A
// refusal about a record in one of the kept databases stays. It returns *Forbidden, or ErrNotFound if the name is no database of records.
func (lp *Laptop) ReleaseRefusals(p auth.Principal, name string, kept ...string) error {
	h, err := newHandover(p, name, kept)
	if err != nil {
		return err
	}
	var ids []record.ID
	err = table.EachListed(lp.tables, record.Refusal, func(v *table.View, st *table.Stored, d *record.Doc) error {
		goes, err := goesWith(v, h, d)
		if goes {
			ids = append(ids, st.ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	return table.DoEach(lp.tables, ids, inbox.PurgeRefusal)
}

// goesWith tells whether a refusal goes with a database that is dropped.
func goesWith(v *table.View, h *handover, d *record.Doc) (bool, error) {
	if d.Text("db") != h.scope.String() {
		return false, nil
	}
	k, of, _ := table.ListedRecord(record.Refusal, d)
	if k == nil {
		return true, nil // of a kind that this version does not know
	}
	about, err := v.LoadAny(k, of)
	return err == nil && (about == nil || !h.keeps(about)), err
}
