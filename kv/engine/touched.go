package engine

import "go.etcd.io/bbolt"

// touched are the rows that were written into the file while it is rewritten: bucket 1, key.
type touched map[string]struct{}

// note notes the rows of a table that goes into the file.
func (t touched) note(from *table) {
	for b, tr := range from.trees {
		if tr == nil {
			continue
		}
		tr.Scan(func(it item) bool {
			t[string(append([]byte{byte(b)}, it.name()...))] = struct{}{}
			return true
		})
	}
}

// carryOver makes rows in the next file what they are in the old one, and its mark.
func (s *Schema) carryOver(old *bbolt.Tx, next *bbolt.DB, written touched) error {
	m, err := readMark(old)
	if err != nil {
		return err
	}
	return next.Update(func(tx *bbolt.Tx) error {
		from, to := View{tx: old, schema: s, cache: &cache{}}, View{tx: tx, schema: s, cache: &cache{}}
		for row := range written {
			b, key := Bucket(row[0]), []byte(row[1:])
			var err error
			if value := from.in(b).Get(key); value != nil {
				err = to.in(b).Put(key, value)
			} else {
				err = to.in(b).Delete(key)
			}
			if err != nil {
				return err
			}
		}
		return m.put(tx)
	})
}
