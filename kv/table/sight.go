package table

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/record"
)

// View is one consistent state of the store: of a View, or of the write transaction with an operation's own writes.
type View struct {
	*engine.View
	Store  *Set
	Now    time.Time
	Lists  *lists
	Page   *record.Page   // what the replies of a page share; nil = each is shown by itself
	Shown  record.View    // of the record that is shown last
	Bare   bool           // what is concealed is read too
	Reader auth.Principal // whom replies are for: the zero one sees only what everybody sees
}

// Stored is a record as it lies in the store.
type Stored struct {
	Header
	ID   record.ID
	Body record.Body
}

// View runs fn on the latest committed state, and reports what is damaged.
func (s *Set) View(fn func(*View) error) error {
	err := s.Glance(fn)
	s.NoteCorrupt(err)
	return err
}

// Glance is view for those whose reading is done again where it fails.
func (s *Set) Glance(fn func(*View) error) error {
	for {
		again := false
		err := s.Engine.View(func(v *engine.View) error {
			l := s.listsOf(v.Version())
			if l == nil {
				again = true // several commits have passed since the View was opened
				return nil
			}
			return fn(&View{View: v, Store: s, Now: s.ClockNow(), Lists: l})
		})
		if !again {
			return err
		}
	}
}

// Load reads a live record; nil where there is none.
func (v *View) Load(k *record.Kind, id record.ID) (*Stored, error) {
	st, err := v.LoadAny(k, id)
	if err != nil || st == nil || st.Deleted {
		return nil, err
	}
	return st, nil
}

// LoadAny reads a record or its tombstone; nil where there never was one. A body that was written under another version of the
// kind's table comes as this version writes it.
func (v *View) LoadAny(k *record.Kind, id record.ID) (*Stored, error) {
	var buf [16]byte
	row, err := v.Get(KindBucket(k), k.AppendID(buf[:0], id))
	if err != nil || row == nil {
		return nil, err
	}
	st := &Stored{ID: id}
	if err := st.read(k, row); err != nil {
		return nil, err
	}
	if !v.Writing() { // what an operation works on is what there is
		err = Unshown(v, k, st)
	}
	return st, err
}

// read takes a row apart.
func (st *Stored) read(k *record.Kind, row []byte) error {
	if err := st.Parse(row); err != nil {
		return fmt.Errorf("%s: %w", k.Name, err)
	}
	if st.Version != k.Version && !st.Deleted {
		d, err := st.Decode(k)
		if err != nil {
			return err
		}
		st.Body = d.Encode()
	}
	return nil
}

// Each loads the live records of ascending ids out of a View, walking where they lie side by side. The record is fn's only
// until it answers.
func (v *View) Each(k *record.Kind, ids []record.ID, fn func(*Stored) error) error {
	var st Stored
	var buf [16]byte
	c := v.Cursor(KindBucket(k))
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
			return fmt.Errorf("%w: kind %s lacks a listed record", engine.ErrCorrupt, k.Name)
		}
		row, err := at.Value()
		if err != nil {
			return err
		}
		st.ID = id
		if err := st.read(k, row); err != nil {
			return err
		}
		if err := Unshown(v, k, &st); err != nil {
			return err
		}
		if err := fn(&st); err != nil {
			return err
		}
	}
	return nil
}

// EachRow calls fn with all rows of a bucket that begin with a prefix, a page of them in one View.
func (s *Set) EachRow(b engine.Bucket, prefix []byte, fn func(v *View, key, row []byte) error) error {
	from := prefix
	for more := true; more; {
		more = false
		n := 0
		err := s.View(func(v *View) error {
			return v.Scan(b, prefix, from, func(key, row []byte) (bool, error) {
				if n++; n > ErasePage {
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
