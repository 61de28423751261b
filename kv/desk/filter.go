package desk

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Where is one condition. Either In is set, or From and To, both inclusive, nil = open.
type Where struct {
	Field    string
	In       []any // int64, bool, string, or nil for null; any of them
	From, To any   // time.Time or int64
}

// CheckChoices refuses filters that name a record which p does not see.
func CheckChoices(v *table.View, p auth.Principal, q Query) error {
	var faults fault.ByField
	for _, w := range q.Where {
		f, ok := q.Kind.Field(w.Field)
		if !ok {
			continue
		}
		k, ok := record.ByName(table.RefersTo(f))
		if !ok {
			continue
		}
		for _, value := range w.In {
			n, ok := value.(int64)
			if !ok {
				continue
			}
			seen, err := choosable(v, p, k, n)
			if err != nil {
				return err
			}
			if !seen {
				faults.Add(w.Field, fault.InvalidChoice(strconv.FormatInt(n, 10)))
			}
		}
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}

// choosable tells whether a filter may name a record: it is there, and of churches only p's own.
func choosable(v *table.View, p auth.Principal, k *record.Kind, n int64) (bool, error) {
	st, err := v.Load(k, record.Int(n))
	if err != nil || st == nil {
		return false, err
	}
	if k == record.Church && !p.IsOf(auth.EventOf) {
		return entry.HoldsChurch(v, p, n)
	}
	return entry.Sees(v, p, k, st)
}

// where answers the ids that fulfil one condition, sorted.
func where(v *table.View, k *record.Kind, w Where, m *Matches) ([]record.ID, error) {
	field := table.LookupPrefix(make([]byte, 0, 64), k, w.Field)
	if w.In == nil {
		var from, to []byte
		if w.From != nil {
			from = table.AppendValue(bytes.Clone(field), w.From)
		}
		if w.To != nil {
			to = table.AppendValue(bytes.Clone(field), w.To)
		}
		return table.LookupRange(v, k, field, from, to)
	}
	var ids []record.ID
	for _, value := range w.In {
		found, err := holding(v, k, field, value, m)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	if len(w.In) > 1 {
		slices.SortFunc(ids, record.ID.Compare)
		ids = slices.Compact(ids)
	}
	return ids, nil
}

// holding answers the ids that hold one value. What holds none has no row: null is everything but what has one.
func holding(v *table.View, k *record.Kind, field []byte, value any, m *Matches) ([]record.ID, error) {
	if text, ok := value.(string); ok && strings.IndexByte(text, 0) >= 0 {
		return nil, nil // no stored text has one; in a key it would end the value
	}
	if value != nil {
		return table.LookupRange(v, k, table.AppendValue(bytes.Clone(field), value), nil, nil)
	}
	some, err := table.LookupRange(v, k, field, nil, nil)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(m.Everything()), func(id record.ID) bool {
		_, found := slices.BinarySearchFunc(some, id, record.ID.Compare)
		return found
	}), nil
}
