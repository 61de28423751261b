package table

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
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
	Id   record.ID
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
	st := &Stored{Id: id}
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
		st.Id = id
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

// refCache keeps the records that others name and replies show: churches, roles, accounts, groups. It belongs to the lists of a
// commit. The next lists share it until a commit changes a record of these kinds, so it never shows another state.
type refCache struct {
	mu      sync.RWMutex
	records map[refKey]*Stored // nil: there is none
}

type refKey struct {
	kind byte
	id   record.ID
}

// maxRefs bounds the cache; what is beyond is read each time.
const maxRefs = 10_000

func newRefCache() *refCache { return &refCache{records: make(map[refKey]*Stored)} }

// cached tells whether a refCache keeps a kind.
func cached(k *record.Kind) bool {
	return k.Class == record.Everyones || k.Class == record.Finances || k == record.Group
}

// LoadRef reads a referred record of a View's state; nil where there is none.
func (v *View) LoadRef(k *record.Kind, id record.ID) (*Stored, error) {
	if v.Writing() || !cached(k) {
		return v.Load(k, id)
	}
	c, key := v.Lists.refs, refKey{k.Number, id}
	c.mu.RLock()
	st, known := c.records[key]
	c.mu.RUnlock()
	if known {
		return st, nil
	}
	st, err := v.Load(k, id)
	if err != nil {
		return nil, err
	}
	if st != nil {
		st.Body.Shown, st.Body.Hidden = bytes.Clone(st.Body.Shown), bytes.Clone(st.Body.Hidden)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.records) < maxRefs {
		c.records[key] = st
	}
	return st, nil
}

// Walk is scan, or scan the other way.
func (v *View) Walk(b engine.Bucket, down bool, prefix, from []byte, fn func(key, value []byte) (bool, error)) error {
	if !down {
		return v.Scan(b, prefix, from, fn)
	}
	return v.ScanDown(b, prefix, from, fn)
}

func OrCorrupt(err error) error {
	if err == nil {
		return engine.ErrCorrupt
	}
	return err
}

// KeysBefore are the first keys of a bucket that lie before a key, at most so many; where a row is damaged, those before it.
func KeysBefore(r *engine.View, b engine.Bucket, end []byte, most int) (keys [][]byte, err error) {
	err = r.Scan(b, nil, nil, func(key, _ []byte) (bool, error) {
		if len(keys) == most || bytes.Compare(key, end) >= 0 {
			return false, nil
		}
		keys = append(keys, bytes.Clone(key))
		return true, nil
	})
	return keys, err
}
