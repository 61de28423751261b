package kv

import (
	"bytes"
	"sync"

	"doorward/kv/record"
)

// refCache keeps the records that others name and replies show: churches, roles, accounts, groups. It belongs to the lists of a
// commit. The next lists share it until a commit changes a record of these kinds, so it never shows another state.
type refCache struct {
	mu      sync.RWMutex
	records map[refKey]*stored // nil: there is none
}

type refKey struct {
	kind byte
	id   record.ID
}

// maxRefs bounds the cache; what is beyond is read each time.
const maxRefs = 10_000

func newRefCache() *refCache { return &refCache{records: make(map[refKey]*stored)} }

// cached tells whether a refCache keeps a kind.
func cached(k *record.Kind) bool {
	return k.Class == record.Everyones || k.Class == record.Finances || k == record.Group
}

// loadRef reads a referred record of a View's state; nil where there is none.
func (v *sight) loadRef(k *record.Kind, id record.ID) (*stored, error) {
	if v.Writing() || !cached(k) {
		return v.load(k, id)
	}
	c, key := v.lists.refs, refKey{k.Number, id}
	c.mu.RLock()
	st, known := c.records[key]
	c.mu.RUnlock()
	if known {
		return st, nil
	}
	st, err := v.load(k, id)
	if err != nil {
		return nil, err
	}
	if st != nil {
		st.body.Shown, st.body.Hidden = bytes.Clone(st.body.Shown), bytes.Clone(st.body.Hidden)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.records) < maxRefs {
		c.records[key] = st
	}
	return st, nil
}
