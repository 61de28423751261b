package kv

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
	all      map[record.ID]*stored // seq 0: only the logs tell of it
	lost     map[string]bool       // sequences of damaged rows in the log for which no sound row names the record
	scopes   map[string]bool       // of damaged rows in the logs of scopes, likewise
	unknown  []record.ID           // of damaged rows that no log names
	doubtful bool                  // where some of the live records belong is not known
	counts   bool                  // nor how many records each scope has
	damages
}

// relist collects a kind's records in order of their ids.
func relist(r *engine.View, k *record.Kind) *relisting {
	l := &relisting{View: r, kind: k, all: map[record.ID]*stored{}, lost: map[string]bool{}, scopes: map[string]bool{}}
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
			l.all[id] = &stored{id: id}
		}
	}
	for _, st := range l.all {
		if st.seq == 0 && len(l.scopes) > 0 {
			l.doubtful, l.counts = l.doubtful || !st.deleted, true
		}
	}
	return l
}

// told is a record as a log describes it.
func (l *relisting) told(c Change) *stored {
	st := l.all[c.ID]
	if st == nil {
		st = &stored{id: c.ID, header: header{deleted: c.Deleted}}
		l.all[c.ID] = st
	}
	return st
}

// readScopeLog notes the scopes that records are in.
func (l *relisting) readScopeLog() {
	sound(l.View, scopeLogBucket, nil, func(key, row []byte) {
		s, seq, err := cutScope(key)
		if err != nil || len(seq) != 8 || row[0] == opaqueKind {
			return
		}
		c, removed, err := parseLogRow(binary.BigEndian.Uint64(seq), row)
		if err == nil && !removed && c.Kind == l.kind {
			l.told(c).join(s)
		}
	}, func(key []byte) {
		if _, seq, err := cutScope(key); err == nil {
			key = seq
		}
		l.scopes[string(key)] = true
	})
}

// readLog notes which records the log names, and whether they are deleted.
func (l *relisting) readLog() {
	sound(l.View, logBucket, nil, func(key, row []byte) {
		switch c, err := parseLog(key, row); {
		case err == nil && c.Kind == l.kind:
			l.told(c)
		case err == nil:
			delete(l.scopes, string(key)) // another kind's
		}
	}, func(key []byte) { l.lost[string(key)] = true })
}

// readRows notes what sound records say themselves, and the ids of damaged ones that no log names.
func (l *relisting) readRows() {
	sound(l.View, kindBucket(l.kind), nil, func(key, row []byte) {
		st := &stored{}
		if id, ok := l.kind.KeyID(key); ok && st.parse(row) == nil {
			st.id = id
			l.all[id] = st
			l.known(st.seq)
		}
	}, func(key []byte) {
		l.damages.add(damagedRow(kindBucket(l.kind), key))
		if id, ok := l.kind.KeyID(key); ok && l.all[id] == nil {
			l.unknown = append(l.unknown, id)
		}
	})
}

// known notes that the record with this latest change is known, by the change's sequence.
func (l *relisting) known(seq uint64) {
	delete(l.lost, string(seqKey(seq)))
	delete(l.scopes, string(seqKey(seq)))
}

// readOthers takes those lost rows off the list that belong to sound records of other kinds.
func (l *relisting) readOthers() {
	for _, k := range record.Kinds() {
		sound(l.View, kindBucket(k), nil, func(_, row []byte) {
			var st stored
			if st.parse(row) == nil {
				l.known(st.seq)
			}
		}, nil)
	}
	// A row of the log that is lost, and one of a scope's that is not, tell of the same record.
	sound(l.View, scopeLogBucket, nil, func(key, row []byte) {
		if _, seq, err := cutScope(key); err == nil && len(row) > 1 && row[1]&rowRemoved == 0 {
			delete(l.lost, string(seq))
		}
	}, nil)
}

// each calls fn with each record in order of the ids, and with whether it counts as issued. fn must not keep the record after it returns.
func (l *relisting) each(fn func(st *stored, counts bool)) {
	for _, id := range slices.SortedFunc(maps.Keys(l.all), record.ID.Compare) {
		st := l.all[id]
		readable := st.seq != 0
		fn(st, l.kind == record.Ticket && !st.deleted && (!readable || issued(l.kind, st.body)))
	}
}

// join adds a scope.
func (h *header) join(s scopes.Scope) {
	if i := slices.Index(h.scopes[:], scopes.Scope{}); i >= 0 {
		h.scopes[i] = s
	}
}
