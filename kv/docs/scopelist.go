package docs

import (
	"slices"
	"sort"

	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// list lists the live documents.
func (db *scopeDocs) list(v *table.View, r Range) (page []DocRow, err error) {
	kinds := db.kinds()
	if r.Descending {
		slices.Reverse(kinds)
	}
	limit := min(r.Limit, DocPage)
	for _, k := range kinds {
		if len(page) >= limit {
			break
		}
		if v.Lists.Kind(k).Doubtful && db.scope.Sort != 0 {
			return nil, table.ErrDoubtful(k)
		}
		ids := r.part(k, db.live(v, k), limit-len(page))
		err := v.Each(k, ids, func(st *table.Stored) error {
			page = append(page, DocRow{ID: k.DocID(st.ID), Seq: st.Seq, Winner: st.Revision})
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
func (db *scopeDocs) live(v *table.View, k *record.Kind) *table.IdList {
	lists := v.Lists.Kind(k)
	switch {
	case db.scope.ID != 0 && k == record.Event && db.scope.Sort == scopes.Event:
		id := record.Int(db.scope.ID)
		if !lists.All.Contains(id) {
			return nil
		}
		one := (*table.IdList)(nil).Own(0)
		one.Push(id)
		return one
	case db.scope.ID != 0:
		return lists.Home.Of(db.scope.ID)
	case db.scope.Sort == scopes.Reference && k.Class == record.Shared:
		return lists.Home.Of(0)
	}
	return lists.All
}

// part is the part of a kind's ids that a range wants, in its order.
func (r Range) part(k *record.Kind, l *table.IdList, limit int) []record.ID {
	n := l.Len()
	start := 0 // how many ids lie before From, or up to it where the range descends
	if r.From != "" || !r.Descending {
		start = sort.Search(n, func(i int) bool {
			id := k.DocID(l.At(i))
			if r.Descending != r.Past { // ascending: the first that is not before; past it: the first that is after; and so back
				return id > r.From
			}
			return id >= r.From
		})
	} else {
		start = n
	}
	if !r.Descending {
		return l.Page(nil, start, limit)
	}
	from := max(0, start-limit)
	ids := l.Page(nil, from, start-from)
	slices.Reverse(ids)
	return ids
}
