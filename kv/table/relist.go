package table

import (
	"encoding/binary"
	"maps"
	"slices"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/scopes"
)

// A damaged row is not believed: neither its id, nor its home, nor that it is deleted. The logs have all three, in rows of
// their own. So the lists of a kind with a damaged row are made of its sound rows and of those in the logs. Then they count
// right, and a caller that reads the record itself meets the damage. Only whether an unreadable ticket counts as issued stands
// nowhere else: it counts.
//
// Rows of the logs may be damaged too. A record is in its lists if any of its rows is sound. If none is, it is listed as a
// record without a home, because nothing shows that it was deleted. If a lost row of a scope's log may say where a record
// belongs, no list of a home returns ids: see kindLists.doubtful.

// relisting collects the records of a kind of which a row is damaged.
type relisting struct {
	*engine.View
	kind     *record.Kind
	all      map[record.ID]*Stored // seq 0: only the logs tell of it
	lost     map[string]bool       // sequences of damaged rows in the log for which no sound row names the record
	scopes   map[string]bool       // of damaged rows in the logs of scopes, likewise
	unknown  []record.ID           // of damaged rows that no log names
	doubtful bool                  // where some of the live records belong is not known
	counts   bool                  // nor how many records each scope has
	damages
}

// relist collects a kind's records in order of their ids.
func relist(r *engine.View, k *record.Kind) *relisting {
	l := &relisting{View: r, kind: k, all: map[record.ID]*Stored{}, lost: map[string]bool{}, scopes: map[string]bool{}}
	l.readScopeLog()
	l.readLog()
	l.readRows()
	if len(l.lost)+len(l.scopes) > 0 {
		l.readOthers()
	}
	// If no row of the log is lost, the damage is in the keys: the log names the records under their right ids.
	if len(l.lost) > 0 && len(l.unknown) > 0 {
		l.doubtful, l.counts = true, true
		for _, id := range l.unknown {
			l.all[id] = &Stored{ID: id}
		}
	}
	for _, st := range l.all {
		if st.Seq == 0 && len(l.scopes) > 0 {
			l.doubtful, l.counts = l.doubtful || !st.Deleted, true
		}
	}
	return l
}

// told is a record as a log describes it.
func (l *relisting) told(c Change) *Stored {
	st := l.all[c.ID]
	if st == nil {
		st = &Stored{ID: c.ID, Header: Header{Deleted: c.Deleted}}
		l.all[c.ID] = st
	}
	return st
}

// readScopeLog notes the scopes that records are in.
func (l *relisting) readScopeLog() {
	Sound(l.View, ScopeLogBucket, nil, func(key, row []byte) {
		s, seq, err := CutScope(key)
		if err != nil || len(seq) != 8 || row[0] == OpaqueKind {
			return
		}
		c, removed, err := ParseLogRow(binary.BigEndian.Uint64(seq), row)
		if err == nil && !removed && c.Kind == l.kind {
			l.told(c).join(s)
		}
	}, func(key []byte) {
		if _, seq, err := CutScope(key); err == nil {
			key = seq
		}
		l.scopes[string(key)] = true
	})
}

// readLog notes which records the log names, and whether they are deleted.
func (l *relisting) readLog() {
	Sound(l.View, LogBucket, nil, func(key, row []byte) {
		switch c, err := ParseLog(key, row); {
		case err == nil && c.Kind == l.kind:
			l.told(c)
		case err == nil:
			delete(l.scopes, string(key)) // another kind's
		}
	}, func(key []byte) { l.lost[string(key)] = true })
}

// readRows notes what sound records say themselves, and the ids of damaged ones that no log names.
func (l *relisting) readRows() {
	Sound(l.View, KindBucket(l.kind), nil, func(key, row []byte) {
		st := &Stored{}
		if id, ok := l.kind.KeyID(key); ok && st.Parse(row) == nil {
			st.ID = id
			l.all[id] = st
			l.known(st.Seq)
		}
	}, func(key []byte) {
		l.damages.add(DamagedRow(KindBucket(l.kind), key))
		if id, ok := l.kind.KeyID(key); ok && l.all[id] == nil {
			l.unknown = append(l.unknown, id)
		}
	})
}

// known notes that the record with this latest change is known, by the change's sequence.
func (l *relisting) known(seq uint64) {
	delete(l.lost, string(SeqKey(seq)))
	delete(l.scopes, string(SeqKey(seq)))
}

// readOthers takes those lost rows off the list that belong to sound records of other kinds.
func (l *relisting) readOthers() {
	for _, k := range record.Kinds() {
		Sound(l.View, KindBucket(k), nil, func(_, row []byte) {
			var st Stored
			if st.Parse(row) == nil {
				l.known(st.Seq)
			}
		}, nil)
	}
	// A row of the log that is lost, and one of a scope's that is not, tell of the same record.
	Sound(l.View, ScopeLogBucket, nil, func(key, row []byte) {
		if _, seq, err := CutScope(key); err == nil && len(row) > 1 && row[1]&RowRemoved == 0 {
			delete(l.lost, string(seq))
		}
	}, nil)
}

// each calls fn with each record in order of the ids, and with whether it counts as issued. fn must not keep the record after it returns.
func (l *relisting) each(fn func(st *Stored, counts bool)) {
	for _, id := range slices.SortedFunc(maps.Keys(l.all), record.ID.Compare) {
		st := l.all[id]
		readable := st.Seq != 0
		fn(st, l.kind == record.Ticket && !st.Deleted && (!readable || Issued(l.kind, st.Body)))
	}
}

// join adds a scope.
func (h *Header) join(s scopes.Scope) {
	if i := slices.Index(h.Scopes[:], scopes.Scope{}); i >= 0 {
		h.Scopes[i] = s
	}
}
