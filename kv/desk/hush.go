package desk

import (
	"slices"

	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// HushAnswers takes out of the kept answers what they show of the records of a scope that go out of the file. That the create has
// happened stays, so that a client which asks again makes no second one: it is shown what is left (Create).
func HushAnswers(s *table.Set, scope scopes.Scope, goes func(*record.Kind, *table.Stored) bool) error {
	var from []byte
	for more := true; more; {
		var found [][]byte
		n := 0
		more = false
		err := s.View(func(v *table.View) error {
			return v.Scan(table.OnceBucket, nil, from, func(key, row []byte) (bool, error) {
				if n++; n > table.ErasePage {
					from, more = slices.Clone(key), true
					return false, nil
				}
				shows, err := answers(v, row, scope, goes)
				if shows {
					found = append(found, slices.Clone(key))
				}
				return true, err
			})
		})
		if err == nil && len(found) > 0 {
			err = s.Do(false, func(o *table.Tx) error { return hush(o, found) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// answers tells whether a kept answer shows a record that goes.
func answers(v *table.View, row []byte, scope scopes.Scope, goes func(*record.Kind, *table.Stored) bool) (bool, error) {
	r, _, _, err := ParseOnce(row)
	if err != nil || len(r.JSON) == 0 {
		return false, err
	}
	for _, k := range record.KindsIn(scope.Sort) {
		if !showsKind(k, r.JSON) {
			continue
		}
		if st, err := v.LoadAny(k, r.ID); err != nil || st != nil && st.In(scope) && goes(k, st) {
			return err == nil, err
		}
	}
	return false, nil
}

// showsKind tells whether an answer is one about records of a kind. A ticket's shows its name and its private half too.
func showsKind(k *record.Kind, reply []byte) bool {
	if k == record.Ticket || k == record.HolderName || k == record.Holder {
		return record.TicketForm.ShowsAll(record.Admin, reply)
	}
	return !k.ULID && (k.ShowsAll(record.V1, reply) || k.ShowsAll(record.Admin, reply))
}

// hush empties kept answers.
func hush(o *table.Tx, keys [][]byte) error {
	for _, key := range keys {
		row, err := o.Get(table.OnceBucket, key)
		if err != nil {
			return err
		}
		if row == nil {
			continue // its time is over by now
		}
		r, body, expires, err := ParseOnce(row)
		if err != nil {
			return err
		}
		r.JSON = nil
		o.Put(table.OnceBucket, key, appendOnce(nil, r, body, expires))
	}
	return table.NoteReleased(o)
}
