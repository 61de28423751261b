package pull

import (
	"errors"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
)

// seer tells whether the store has a record that a principal sees.
type seer interface {
	Sees(p auth.Principal, k *record.Kind, id record.ID) error
}

// references are the records that others name.
type references struct {
	store   seer
	who     auth.Principal
	there   map[Record]bool // whether the store has one; absent = not known yet
	unnamed map[string]int  // those that were left out, by kind
}

// fresh returns the records to write before some others, which refer to them. It removes a reference if the source does not say what it means
// and the store does not have it.
func (rs *references) fresh(all []*shaped) (fresh []*shaped, err error) {
	for _, s := range all {
		for _, r := range s.refs {
			one, err := rs.named(s, r)
			if err != nil {
				return nil, err
			}
			if one != nil {
				fresh = append(fresh, one)
			}
		}
	}
	return fresh, nil
}

// named returns the record to write for a reference; nil if there is nothing to write.
func (rs *references) named(s *shaped, r reference) (*shaped, error) {
	at := Record{r.kind.Name, r.id}
	if rs.there[at] {
		return nil, nil
	}
	if r.body != nil {
		rs.there[at] = true
		return referenced(r), nil
	}
	there, err := rs.holds(r)
	if err != nil {
		return nil, err
	}
	if rs.there[at] = there; !there {
		rs.unnamed[r.kind.Name]++
		s.drop(r)
	}
	return nil, nil
}

// holds tells whether the store has the record of a reference.
func (rs *references) holds(r reference) (bool, error) {
	err := rs.store.Sees(rs.who, r.kind, record.Int(r.id))
	if err == nil || errors.Is(err, table.ErrNotFound) {
		return err == nil, nil
	}
	return false, storeError{err}
}

func referenced(r reference) *shaped {
	s := &shaped{kind: r.kind, id: r.id}
	one := members(r.body)
	for i := range r.kind.Fields {
		if v, ok := one[r.kind.Fields[i].Name]; ok {
			s.set(r.kind.Fields[i].Name, v)
		}
	}
	return s
}
