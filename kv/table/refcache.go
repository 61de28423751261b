package table

import (
	"bytes"
	"sync"

	"doorward/kv/record"
)

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
