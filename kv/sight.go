package kv

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"doorward/kv/engine"
	"doorward/kv/record"
)

// sight is one consistent state of the store: of a View, or of the write transaction with an operation's own writes.
type sight struct {
	*engine.View
	store  *tables
	now    time.Time
	lists  *lists
	page   *record.Page // what the replies of a page share; nil = each is shown by itself
	shown  record.View  // of the record that is shown last
	bare   bool         // what is concealed is read too
	reader Principal    // whom replies are for: the zero one sees only what everybody sees
}

// stored is a record as it lies in the store.
type stored struct {
	header
	id   record.ID
	body record.Body
}

// view runs fn on the latest committed state, and reports what is damaged.
func (s *tables) view(fn func(*sight) error) error {
	err := s.glance(fn)
	s.noteCorrupt(err)
	return err
}

// glance is view for those whose reading is done again where it fails.
func (s *tables) glance(fn func(*sight) error) error {
	for {
		again := false
		err := s.engine.View(func(v *engine.View) error {
			l := s.listsOf(v.Version())
			if l == nil {
				again = true // several commits have passed since the View was opened
				return nil
			}
			return fn(&sight{View: v, store: s, now: s.clock(), lists: l})
		})
		if !again {
			return err
		}
	}
}

// load reads a live record; nil where there is none.
func (v *sight) load(k *record.Kind, id record.ID) (*stored, error) {
	st, err := v.loadAny(k, id)
	if err != nil || st == nil || st.deleted {
		return nil, err
	}
	return st, nil
}

// loadAny reads a record or its tombstone; nil where there never was one. A body that was written under another version of the
// kind's table comes as this version writes it.
func (v *sight) loadAny(k *record.Kind, id record.ID) (*stored, error) {
	var buf [16]byte
	row, err := v.Get(kindBucket(k), k.AppendID(buf[:0], id))
	if err != nil || row == nil {
		return nil, err
	}
	st := &stored{id: id}
	if err := st.read(k, row); err != nil {
		return nil, err
	}
	if !v.Writing() { // what an operation works on is what there is
		err = unshown(v, k, st)
	}
	return st, err
}

// read takes a row apart.
func (st *stored) read(k *record.Kind, row []byte) error {
	if err := st.parse(row); err != nil {
		return fmt.Errorf("%s: %w", k.Name, err)
	}
	if st.version != k.Version && !st.deleted {
		d, err := st.decode(k)
		if err != nil {
			return err
		}
		st.body = d.Encode()
	}
	return nil
}

// each loads the live records of ascending ids out of a View, walking where they lie side by side. The record is fn's only
// until it answers.
func (v *sight) each(k *record.Kind, ids []record.ID, fn func(*stored) error) error {
	var st stored
	var buf [16]byte
	c := v.Cursor(kindBucket(k))
	var at engine.Row
	for _, id := range ids {
		want := k.AppendID(buf[:0], id)
		if at.Key != nil {
			at = c.Next()
		}
		if !bytes.Equal(at.Key, want) {
			at = c.Seek(want)
		}
		if !bytes.Equal(at.Key, want) {
			return fmt.Errorf("%w: kind %s lacks a listed record", ErrCorrupt, k.Name)
		}
		row, err := at.Value()
		if err != nil {
			return err
		}
		st.id = id
		if err := st.read(k, row); err != nil {
			return err
		}
		if err := unshown(v, k, &st); err != nil {
			return err
		}
		if err := fn(&st); err != nil {
			return err
		}
	}
	return nil
}

// ref answers a referred record's body for a reply; one that the reader does not see is as if it were gone.
func ref(v *sight, k *record.Kind, id record.ID) (record.Body, bool) {
	seen := false
	st, err := v.loadRef(k, id)
	if st != nil {
		seen, err = sees(v, v.reader, k, st)
	}
	if seen && v.Writing() {
		err = unshown(v, k, st)
	}
	v.store.noteCorrupt(err)
	if !seen {
		return record.Body{}, false
	}
	return st.body, true
}

// show appends a record's reply.
func show(v *sight, dst []byte, s record.Surface, k *record.Kind, st *stored) ([]byte, error) {
	if k == record.Ticket && s == record.Admin {
		return showTicket(v, dst, st)
	}
	return showAs(v, dst, s, k, st), nil
}

func showAs(v *sight, dst []byte, s record.Surface, k *record.Kind, st *stored) []byte {
	rv := &v.shown
	if rv.Ref == nil {
		*rv = record.View{Now: v.now, Zone: v.store.zone, Ref: func(k *record.Kind, id record.ID) (record.Body, bool) { return ref(v, k, id) }, Page: v.page}
	}
	rv.ID, rv.Body, rv.UpdatedAt, rv.UpdatedBy = st.id, st.body, st.updated(), st.updatedBy
	if k == record.Event {
		rv.Count = func(string) int { return v.lists.kind(record.Ticket).issued.of(st.id.Int()).len() }
	}
	return k.Show(dst, s, rv)
}

// reply is a record as a surface shows it, on memory of its own.
func reply(v *sight, s record.Surface, k *record.Kind, st *stored) (Reply, error) {
	revision, err := revisionOf(v, s, k, st)
	if err != nil {
		return Reply{}, err
	}
	shown := *st
	if err := unshown(v, k, &shown); err != nil {
		return Reply{}, err
	}
	json, err := show(v, nil, s, k, &shown)
	return Reply{ID: st.id, JSON: json, Revision: revision}, err
}

// revisionOf names the state of what a surface shows as one record.
func revisionOf(v *sight, s record.Surface, k *record.Kind, st *stored) (string, error) {
	if k == record.Ticket && s == record.Admin {
		return ticketRevision(v, st)
	}
	return st.revision.String(), nil
}

// eachRow calls fn with all rows of a bucket that begin with a prefix, a page of them in one View.
func (s *tables) eachRow(b bucket, prefix []byte, fn func(v *sight, key, row []byte) error) error {
	from := prefix
	for more := true; more; {
		more = false
		n := 0
		err := s.view(func(v *sight) error {
			return v.Scan(b, prefix, from, func(key, row []byte) (bool, error) {
				if n++; n > erasePage {
					from, more = slices.Clone(key), true
					return false, nil
				}
				return true, fn(v, key, row)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
