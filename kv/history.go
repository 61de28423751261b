package kv

import (
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// Past is a revision of a record, or of a part of a ticket, as far as it is known.
type Past struct {
	Kind     *record.Kind // a ticket's parts have kinds of their own
	Revision string
	At       time.Time // zero: not known
	Key      int64     // api key of the author; 0 = none, or not known
	Node     string    // where it was made; "" = not known
	Fields   []string  // that changed; never nil
	Deleted  bool
	Winner   bool   // what the record is
	Held     bool   // its body is in the store
	Body     []byte // as /admin/v1 shows it; nil where it is not asked for or not held
}

// History tells the revisions of a record that p sees, newest first, with the bodies that are held if they are asked for. ErrNotFound,
// *Forbidden.
func (s *Store) History(p Principal, t Target, bodies bool) (all []Past, err error) {
	if err := p.CheckKind(record.Admin, t.Kind, "GET"); err != nil {
		return nil, err
	}
	kinds := []*record.Kind{t.Kind}
	if t.Kind == record.Ticket {
		kinds = ticketParts[:]
	}
	err = s.view(func(v *sight) error {
		v.reader = p
		if _, err := find(v, p, t.Kind, t.ID); err != nil {
			return err
		}
		s.noteReads(p, t.Kind, 1)
		for _, k := range kinds {
			st, err := v.loadAny(k, t.ID)
			if err != nil {
				return err
			}
			if st == nil {
				continue // this node does not have that part
			}
			past, err := history(v, k, st, bodies)
			if err != nil {
				return err
			}
			all = append(all, past...)
		}
		return nil
	})
	return all, err
}

func history(v *sight, k *record.Kind, st *stored, bodies bool) (all []Past, err error) {
	t, err := loadTree(v, k, st)
	if err != nil {
		return nil, err
	}
	for _, n := range slices.Backward(t.Nodes()) {
		past := Past{Kind: k, Revision: n.Revision.String(), Key: n.Key, Fields: append([]string{}, n.Fields...), Deleted: n.Deleted,
			Winner: n.Revision == st.revision, Held: n.Held && !n.Deleted}
		if n.At != 0 {
			past.At, past.Node = time.UnixMicro(n.At).UTC(), v.store.Node()
		}
		if n.Node != (ulid.ULID{}) {
			past.Node = n.Node.String()
		}
		if bodies && past.Held {
			if past.Body, err = bodyThen(v, k, st, n); err != nil {
				return nil, err
			}
		}
		all = append(all, past)
	}
	return all, nil
}

// bodyThen shows a record as it was.
func bodyThen(v *sight, k *record.Kind, st *stored, n rev.Node) ([]byte, error) {
	then := *st
	if n.Revision != st.revision {
		kept, err := keptBody(v, k, st.id, n.Revision)
		if err != nil || kept == nil {
			return nil, orCorrupt(err)
		}
		d, err := kept.decode(k)
		if err != nil {
			return nil, err
		}
		then.body = d.Encode()
	}
	then.updatedAt, then.updatedBy = n.At, n.Key
	return showAs(v, nil, record.Admin, k, &then), nil
}
