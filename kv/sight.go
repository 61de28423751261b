package kv

import (
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"doorward/kv/record"
)

// sight is one consistent state of the store: of a View, or of the write transaction with an operation's own writes.
type sight struct {
	rows
	store *Store
	now   time.Time
	lists *lists
	refs  map[refKey]refBody // bodies of referred records, read once a sight
}

type refKey struct {
	kind byte
	id   record.ID
}

type refBody struct {
	body record.Body
	ok   bool
}

// stored is a record as it lies in the store.
type stored struct {
	header
	id   record.ID
	body record.Body
}

// view runs fn on the latest committed state.
func (s *Store) view(fn func(*sight) error) error {
	for {
		again := false
		err := s.db.View(func(tx *bbolt.Tx) error {
			l := s.listsOf(tx.ID())
			if l == nil {
				again = true // several commits have passed since the View was opened
				return nil
			}
			return fn(&sight{rows: rows{tx: tx, buckets: &bucketCache{}}, store: s, now: s.clock(), lists: l})
		})
		if !again {
			s.noteCorrupt(err)
			return err
		}
	}
}

// load reads a live record; nil where there is none.
func (v *sight) load(k *record.Kind, id record.ID) (*stored, error) {
	st, err := v.loadAny(k, id)
	if st == nil || st.deleted {
		return nil, err
	}
	return st, nil
}

// loadAny reads a record or its tombstone; nil where there never was one. A body that was written under another version of the
// kind's table comes as this version writes it.
func (v *sight) loadAny(k *record.Kind, id record.ID) (*stored, error) {
	var buf [16]byte
	row, err := v.get(kindBucket(k), k.AppendID(buf[:0], id))
	if err != nil || row == nil {
		return nil, err
	}
	h, b, err := parseRow(row)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	}
	st := &stored{header: h, id: id, body: b}
	if h.version != k.Version && !h.deleted {
		d, err := st.decode(k)
		if err != nil {
			return nil, err
		}
		st.body = d.Encode()
	}
	return st, nil
}

// ref answers a referred record's body for a reply.
func (v *sight) ref(k *record.Kind, id record.ID) (record.Body, bool) {
	key := refKey{k.Number, id}
	if r, ok := v.refs[key]; ok {
		return r.body, r.ok
	}
	var r refBody
	st, err := v.load(k, id)
	v.store.noteCorrupt(err)
	if st != nil {
		r = refBody{st.body, true}
	}
	if v.refs == nil {
		v.refs = make(map[refKey]refBody)
	}
	v.refs[key] = r
	return r.body, r.ok
}

// show appends a record's reply.
func (v *sight) show(dst []byte, s record.Surface, k *record.Kind, st *stored) ([]byte, error) {
	if k == record.Ticket && s == record.Admin {
		return v.showTicket(dst, st)
	}
	return v.showAs(dst, s, k, st), nil
}

func (v *sight) showAs(dst []byte, s record.Surface, k *record.Kind, st *stored) []byte {
	rv := record.View{
		ID: st.id, Body: st.body, UpdatedAt: st.updated(), UpdatedBy: st.updatedBy,
		Now: v.now, Zone: v.store.zone, Ref: v.ref,
	}
	if k == record.Event {
		rv.Count = func(string) int { return v.lists.kind(record.Ticket).issued.of(st.id.Int()).len() }
	}
	return k.Show(dst, s, &rv)
}

// reply is a record as a surface shows it, on memory of its own.
func (v *sight) reply(s record.Surface, k *record.Kind, st *stored) (Reply, error) {
	json, err := v.show(nil, s, k, st)
	return Reply{ID: st.id, JSON: json, Revision: st.revision.String()}, err
}
