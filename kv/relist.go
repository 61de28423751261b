package kv

import (
	"encoding/binary"
	"maps"
	"slices"

	"doorward/kv/record"
)

// What a damaged row says of itself is not believed: neither its id, nor whose it is, nor that it is deleted. The logs say all
// three, in rows of their own, so the lists of a kind with a damaged row are made of its sound rows and of those in the logs. Then they
// count right, and whoever reads the record itself meets the damage. Only whether an unreadable ticket counts as issued stands nowhere
// else: it does.
//
// Rows of the logs may be damaged too. A record is then in its lists by whichever of its rows is sound. Where none is, it is listed as
// a record without a home, for nobody knows that it was deleted, and no list of a home answers: see kindLists.doubtful.

// relisting collects the records of a kind of which a row is damaged.
type relisting struct {
	rows
	kind *record.Kind
	all  map[record.ID]*stored
	lost map[string]bool // keys of damaged rows in the log of which no sound row tells the record
	damages
}

// relist collects a kind's records in order of their ids. doubtful tells that of some nothing but the id is known.
func relist(r rows, k *record.Kind) (l *relisting, doubtful bool) {
	l = &relisting{rows: r, kind: k, all: map[record.ID]*stored{}, lost: map[string]bool{}}
	l.readLog()
	l.readScopeLog()
	doubtful = l.claim(l.readRows())
	return l, doubtful
}

// readLog notes which records the log tells of, and whether they are deleted.
func (l *relisting) readLog() {
	l.sound(logBucket, nil, func(key, row []byte) {
		if c, err := parseLog(key, row); err == nil && c.Kind == l.kind {
			l.all[c.ID] = &stored{id: c.ID, header: header{deleted: c.Deleted}}
		}
	}, func(key []byte) { l.lost[string(key)] = true })
}

// readScopeLog notes the scopes that records are in.
func (l *relisting) readScopeLog() {
	l.sound(scopeLogBucket, nil, func(key, row []byte) {
		s, seq, err := cutScope(key)
		if err != nil || len(seq) != 8 || row[0] == opaqueKind {
			return
		}
		c, removed, err := parseLogRow(binary.BigEndian.Uint64(seq), row)
		if err != nil || removed {
			return
		}
		delete(l.lost, string(seq))
		if c.Kind != l.kind {
			return
		}
		if l.all[c.ID] == nil {
			l.all[c.ID] = &stored{id: c.ID, header: header{deleted: c.Deleted}}
		}
		l.all[c.ID].join(s)
	}, nil)
}

// readRows notes what sound records say themselves, and answers the ids of damaged ones that no log tells of.
func (l *relisting) readRows() (unknown []record.ID) {
	l.sound(kindBucket(l.kind), nil, func(key, row []byte) {
		var st stored
		if id, ok := l.kind.KeyID(key); ok && st.parse(row) == nil {
			st.id = id
			l.all[id] = &st
			delete(l.lost, string(seqKey(st.seq)))
		}
	}, func(key []byte) {
		l.damages.add(damagedRow(kindBucket(l.kind), key))
		if id, ok := l.kind.KeyID(key); ok && l.all[id] == nil {
			unknown = append(unknown, id)
		}
	})
	return unknown
}

// claim takes damaged records that no log tells of for what rows of the log have told of that are lost. Where none is lost, the damage
// is in their ids: they are others, which the log tells of.
func (l *relisting) claim(unknown []record.ID) (doubtful bool) {
	if len(unknown) == 0 || len(l.lost) == 0 {
		return false
	}
	for _, k := range record.Kinds() {
		l.sound(kindBucket(k), nil, func(_, row []byte) {
			var st stored
			if st.parse(row) == nil {
				delete(l.lost, string(seqKey(st.seq)))
			}
		}, nil)
	}
	if len(l.lost) == 0 {
		return false
	}
	for _, id := range unknown {
		l.all[id] = &stored{id: id}
	}
	return true
}

// each calls fn with each record in order of the ids, and with whether it counts as issued. The record is fn's only until it answers.
func (l *relisting) each(fn func(st *stored, counts bool)) {
	for _, id := range slices.SortedFunc(maps.Keys(l.all), record.ID.Compare) {
		st := l.all[id]
		readable := st.seq != 0 // it is a row's own
		fn(st, l.kind == record.Ticket && !st.deleted && (!readable || issued(l.kind, st.body)))
	}
}

// join adds a scope.
func (h *header) join(s record.Scope) {
	if i := slices.Index(h.scopes[:], record.Scope{}); i >= 0 {
		h.scopes[i] = s
	}
}
