package engine

import "go.etcd.io/bbolt"

// touched are the rows that were written while the file is rewritten: bucket 1, key.
type touched map[string]struct{}

func (t touched) note(entries []entry) {
	for i := range entries {
		t[string(append([]byte{byte(entries[i].bucket)}, entries[i].key...))] = struct{}{}
	}
}

// carryOver makes rows in the next file what they are in the old one.
func (s *Schema) carryOver(old *bbolt.Tx, next *bbolt.DB, written touched) error {
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
		return nil
	})
}
