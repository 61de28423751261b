package kv

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"doorward/kv/fault"
	"doorward/kv/record"
)

// Where is one condition. Either In is set, or From and To, both inclusive, nil = open.
type Where struct {
	Field    string
	In       []any // int64, bool, string, or nil for null; any of them
	From, To any   // time.Time or int64
}

// checkChoices refuses filters that name a record which p does not see.
func checkChoices(v *sight, p Principal, q Query) error {
	var faults fault.ByField
	for _, w := range q.Where {
		f, ok := q.Kind.Field(w.Field)
		if !ok {
			continue
		}
		k, ok := record.ByName(refersTo(f))
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
func choosable(v *sight, p Principal, k *record.Kind, n int64) (bool, error) {
	st, err := v.load(k, record.Int(n))
	if err != nil || st == nil {
		return false, err
	}
	if k == record.Church && !p.IsOf(EventOf) {
		return holdsChurch(v, p, n)
	}
	return sees(v, p, k, st)
}

// where answers the ids that fulfil one condition, sorted.
func where(v *sight, k *record.Kind, w Where, m *matches) ([]record.ID, error) {
	field := lookupPrefix(make([]byte, 0, 64), k, w.Field)
	if w.In == nil {
		var from, to []byte
		if w.From != nil {
			from = appendValue(bytes.Clone(field), w.From)
		}
		if w.To != nil {
			to = appendValue(bytes.Clone(field), w.To)
		}
		return lookupRange(v, k, field, from, to)
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
func holding(v *sight, k *record.Kind, field []byte, value any, m *matches) ([]record.ID, error) {
	if text, ok := value.(string); ok && strings.IndexByte(text, 0) >= 0 {
		return nil, nil // no stored text has one; in a key it would end the value
	}
	if value != nil {
		return lookupRange(v, k, appendValue(bytes.Clone(field), value), nil, nil)
	}
	some, err := lookupRange(v, k, field, nil, nil)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(m.everything()), func(id record.ID) bool {
		_, found := slices.BinarySearchFunc(some, id, record.ID.Compare)
		return found
	}), nil
}
