package kv

import (
	"maps"
	"slices"

	"doorward/kv/record"
)

// What a damaged row says of itself is not believed: neither its id, nor whose it is, nor that it is deleted. The logs say all
// three, in rows of their own, so the lists of a kind with a damaged row are made of them. Then they count right, and whoever
// reads the record itself meets the damage. Only whether an unreadable ticket counts as issued stands nowhere else: it does.

// eachLogged calls fn with each record of a kind, in order of the ids, as far as the logs tell of it.
func eachLogged(r rows, k *record.Kind, fn func(st *stored, counts bool)) error {
	all, err := logged(r, k)
	if err != nil {
		return err
	}
	for _, id := range slices.SortedFunc(maps.Keys(all), record.ID.Compare) {
		st := all[id]
		row, err := r.get(kindBucket(k), k.AppendID(nil, id))
		var whole stored
		readable := err == nil && row != nil && whole.parse(row) == nil
		fn(st, k == record.Ticket && !st.deleted && (!readable || issued(k, whole.body)))
	}
	return nil
}

// logged collects the records of a kind out of the logs: ids, whether they are deleted, scopes.
func logged(r rows, k *record.Kind) (map[record.ID]*stored, error) {
	all := map[record.ID]*stored{}
	err := r.scan(logBucket, nil, nil, func(key, row []byte) (bool, error) {
		c, err := parseLog(key, row)
		if err == nil && c.Kind == k {
			all[c.ID] = &stored{id: c.ID, header: header{deleted: c.Deleted}}
		}
		return true, err
	})
	if err != nil {
		return nil, err
	}
	err = r.scan(scopeLogBucket, nil, nil, func(key, row []byte) (bool, error) {
		if row[0] == opaqueKind {
			return true, nil
		}
		s, _, err := cutScope(key)
		if err != nil {
			return false, err
		}
		c, removed, err := parseLogRow(0, row)
		if err == nil && c.Kind == k && !removed {
			if st := all[c.ID]; st != nil {
				st.join(s)
			}
		}
		return true, err
	})
	return all, err
}

// join adds a scope.
func (h *header) join(s record.Scope) {
	if i := slices.Index(h.scopes[:], record.Scope{}); i >= 0 {
		h.scopes[i] = s
	}
}
