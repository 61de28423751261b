package table

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/record"
)

// View is one consistent state of the store. In a write transaction it has the operation's own writes.
type View struct {
	*engine.View
	Store  *Set
	Now    time.Time
	Lists  *lists         // of the committed state; an operation asks Listed instead
	Group  *group         // of an operation: those before it in its commit; nil = the View shows a committed state
	Page   *record.Page   // members that the replies of a page share; nil = each reply has its own
	Shown  record.View    // of the latest reply
	Bare   bool           // concealed records are read too
	Reader auth.Principal // replies are for this key; the zero one sees only what every key sees
}

// View runs fn on the latest committed state, and reports what is damaged.
func (s *Set) View(fn func(*View) error) error {
	err := s.Glance(fn)
	s.Damage.Note(err)
	return err
}

// Glance is View for a caller that reads again after an error: it does not report damage.
func (s *Set) Glance(fn func(*View) error) error {
	for {
		again := false
		err := s.Engine.View(func(v *engine.View) error {
			l := s.Lists.at(v.Version())
			if l == nil {
				again = true // several commits have passed since the View was opened
				return nil
			}
			return fn(&View{View: v, Store: s, Now: s.Clock.Now(), Lists: l})
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

// LoadDoc reads a live record and its document; nil where there is none.
func (v *View) LoadDoc(k *record.Kind, id record.ID) (*Stored, *record.Doc, error) {
	st, err := v.Load(k, id)
	if err != nil || st == nil {
		return nil, nil, err
	}
	d, err := st.Decode(k)
	return st, d, err
}

// LoadAny reads a record or its tombstone; nil where the store never had it. A body that was written under another version of the
// kind's table is converted.
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

// Each calls fn with the live records of ascending ids. It walks where records lie side by side. fn must not keep the record.
func (v *View) Each(k *record.Kind, ids []record.ID, fn func(*Stored) error) error {
	var st Stored
	var buf [16]byte
	c := v.Cursor(KindBucket(k))
	var at *engine.Row
	for _, id := range ids {
		want := k.AppendID(buf[:0], id)
		if at != nil {
			at = c.Next()
		}
		if at == nil || !bytes.Equal(at.Key, want) {
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

// EachRow calls fn with all rows of a bucket under a prefix. Each page of them has a View of its own.
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

// refCache keeps records that other records name and replies show: churches, roles, accounts, groups. It belongs to the lists of a
// commit. The next lists share it until a commit changes a record of these kinds, so it always shows the state of its View.
type refCache struct {
	mu      sync.RWMutex
	records map[refKey]*Stored // nil: there is none
}

type refKey struct {
	kind byte
	id   record.ID
}

// maxRefs is how many records the cache keeps. Others are read each time.
const maxRefs = 10_000

func newRefCache() *refCache { return &refCache{records: make(map[refKey]*Stored)} }

// cached tells whether a refCache keeps a kind.
func cached(k *record.Kind) bool {
	return k.Class == record.Everyones || k.Class == record.Finances || k == record.Group
}

// LoadRef reads a record that another one names; nil where there is none.
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
		st = st.Kept()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.records) < maxRefs {
		c.records[key] = st
	}
	return st, nil
}

// Walk is Scan, or with down ScanDown.
func (v *View) Walk(b engine.Bucket, down bool, prefix, from []byte, fn func(key, value []byte) (bool, error)) error {
	if !down {
		return v.Scan(b, prefix, from, fn)
	}
	return v.ScanDown(b, prefix, from, fn)
}

// OrCorrupt returns err, or ErrCorrupt where err is nil.
func OrCorrupt(err error) error { return cmp.Or(err, engine.ErrCorrupt) }

// OrNotFound returns err, or ErrNotFound if it is nil.
func OrNotFound(err error) error { return cmp.Or(err, ErrNotFound) }

// KeysBefore returns the first keys of a bucket before a key, at most most of them. At a damaged row it returns the keys before that
// row with the error.
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
