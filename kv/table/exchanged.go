package table

import (
	"math"
	"time"

	"doorward/kv/scopes"
)

// ScannedAt is when this store last took a fact of an event; zero = it has none.
func ScannedAt(v *View, event int64) (at time.Time, err error) {
	scope := scopes.Scope{Sort: scopes.Event, ID: event}
	last := ScopeSeqKey(nil, scope, math.MaxUint64)
	err = v.Walk(ScopeLogBucket, true, AppendScope(nil, scope), last, func(_, row []byte) (bool, error) {
		c, err := ParseScopeLog(0, row)
		if err != nil || c.Removed || c.Kind == nil || !c.Kind.Fact {
			return err == nil, err
		}
		st, err := v.LoadAny(c.Kind, c.ID)
		if err != nil || st == nil {
			return false, OrCorrupt(err)
		}
		at = st.Updated()
		return false, nil
	})
	return at, err
}
