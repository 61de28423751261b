package kv

import (
	"slices"
	"sort"

	"doorward/kv/record"
	"doorward/kv/scopes"
)

// list lists the live documents.
func (db *scopeDocs) list(v *sight, r Range) (page []DocRow, err error) {
	kinds := db.kinds()
	if r.Descending {
		slices.Reverse(kinds)
	}
	limit := min(r.Limit, DocPage)
	for _, k := range kinds {
		if len(page) >= limit {
			break
		}
		if v.lists.kind(k).doubtful && db.scope.Sort != 0 {
			return nil, errDoubtful(k)
		}
		ids := r.part(k, db.live(v, k), limit-len(page))
		err := v.each(k, ids, func(st *stored) error {
			page = append(page, DocRow{ID: k.DocID(st.id), Seq: st.seq, Winner: st.revision})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	others, err := db.listOpaque(v, r)
	if err != nil || len(others) == 0 {
		return page, err
	}
	page = append(page, others...)
	slices.SortFunc(page, func(a, b DocRow) int {
		if (a.ID < b.ID) != r.Descending {
			return -1
		}
		return 1
	})
	return page[:min(len(page), limit)], nil
}

// live are the ids of a kind's live records in the database.
func (db *scopeDocs) live(v *sight, k *record.Kind) *idList {
	lists := v.lists.kind(k)
	switch {
	case db.scope.ID != 0 && k == record.Event && db.scope.Sort == scopes.Event:
		id := record.Int(db.scope.ID)
		if !lists.all.contains(id) {
			return nil
		}
		one := (*idList)(nil).own(0)
		one.push(id)
		return one
	case db.scope.ID != 0:
		return lists.home.of(db.scope.ID)
	case db.scope.Sort == scopes.Reference && k.Class == record.Shared:
		return lists.home.of(0)
	}
	return lists.all
}

// part is the part of a kind's ids that a range wants, in its order.
func (r Range) part(k *record.Kind, l *idList, limit int) []record.ID {
	n := l.len()
	start := 0 // how many ids lie before From, or up to it where the range descends
	if r.From != "" || !r.Descending {
		start = sort.Search(n, func(i int) bool {
			id := k.DocID(l.at(i))
			if r.Descending != r.Past { // ascending: the first that is not before; past it: the first that is after; and so back
				return id > r.From
			}
			return id >= r.From
		})
	} else {
		start = n
	}
	if !r.Descending {
		return l.page(nil, start, limit)
	}
	from := max(0, start-limit)
	ids := l.page(nil, from, start-from)
	slices.Reverse(ids)
	return ids
}
