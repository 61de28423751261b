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
	kinds := db.access.kinds()
	if r.Descending {
		slices.Reverse(kinds)
	}
	limit := min(r.Limit, DocPage)
	for _, k := range kinds {
		if len(page) >= limit {
			break
		}
		if v.Lists.Kind(k).Doubtful && db.access.scope.Sort != 0 {
			return nil, table.ErrDoubtful(k)
		}
		ids := r.part(k, liveIDs(v, db.access.scope, k), limit-len(page))
		err := v.Each(k, ids, func(st *table.Stored) error {
			page = append(page, DocRow{ID: k.DocID(st.ID), Seq: st.Seq, Winner: st.Revision})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	others, err := db.unknown().list(v, r)
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

// liveIDs are the ids of a kind's live records in a scope.
func liveIDs(v *table.View, s scopes.Scope, k *record.Kind) *table.IdList {
	lists := v.Lists.Kind(k)
	switch {
	case s.ID != 0 && k == record.Event && s.Sort == scopes.Event:
		id := record.Int(s.ID)
		if !lists.All.Contains(id) {
			return nil
		}
		one := (*table.IdList)(nil).Own(0)
		one.Push(id)
		return one
	case s.ID != 0:
		return lists.Home.Of(s.ID)
	case s.Sort == scopes.Reference && k.Class == record.Shared:
		return lists.Home.Of(0)
	}
	return lists.All
}

// part cuts the ids of a kind that a range asks for, in its order.
func (r Range) part(k *record.Kind, l *table.IdList, limit int) []record.ID {
	n := l.Len()
	start := 0 // how many ids lie before From; of a descending range, up to From
	if r.From != "" || !r.Descending {
		start = sort.Search(n, func(i int) bool {
			id := k.DocID(l.At(i))
			if r.Descending != r.Past { // ascending: the first id that is not before From, or with Past the first after it
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
