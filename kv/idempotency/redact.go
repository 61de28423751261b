package idempotency

import (
	"slices"

	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// Redact empties the kept answers that show records of a scope which leave the file. An emptied answer still says that the create has
// happened, so a client that asks again makes no second record. It is shown the record as it is then.
func Redact(s *table.Set, scope scopes.Scope, goes func(*record.Kind, *table.Stored) bool) error {
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
				shows, err := showsOne(v, row, scope, goes)
				if shows {
					found = append(found, slices.Clone(key))
				}
				return true, err
			})
		})
		if err == nil && len(found) > 0 {
			err = s.Do(func(o *table.Tx) error { return empty(o, found) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// showsOne tells whether a kept answer shows a record that leaves.
func showsOne(v *table.View, row []byte, scope scopes.Scope, goes func(*record.Kind, *table.Stored) bool) (bool, error) {
	r, _, _, err := Parse(row)
	if err != nil || len(r.JSON) == 0 {
		return false, err
	}
	for _, k := range record.KindsIn(scope.Sort) {
		if !showsKind(k, r.JSON) {
			continue
		}
		id, err := shownIn(v, k, r.ID)
		if err != nil {
			return false, err
		}
		if st, err := v.LoadAny(k, id); err != nil || st != nil && st.In(scope) && goes(k, st) {
			return err == nil, err
		}
	}
	return false, nil
}

// shownIn is the record of a kind that an answer about a record shows: of a ticket its present holding.
func shownIn(v *table.View, k *record.Kind, id record.ID) (record.ID, error) {
	if !k.OfHolding() {
		return id, nil
	}
	ticket, err := v.Load(record.Ticket, id)
	if err != nil || ticket == nil {
		return record.ID{}, err
	}
	return entry.PresentOf(ticket.Body), nil
}

// showsKind tells whether an answer is one about records of a kind. A ticket's shows its name and its private half too.
func showsKind(k *record.Kind, reply []byte) bool {
	if entry.WrittenAs(k) == record.Ticket {
		return record.TicketForm.ShowsAll(record.Admin, reply)
	}
	return !k.ULID && (k.ShowsAll(record.V1, reply) || k.ShowsAll(record.Admin, reply))
}

// empty removes the replies of kept answers.
func empty(o *table.Tx, keys [][]byte) error {
	for _, key := range keys {
		row, err := o.Get(table.OnceBucket, key)
		if err != nil {
			return err
		}
		if row == nil {
			continue // it has expired
		}
		r, body, expires, err := Parse(row)
		if err != nil {
			return err
		}
		r.JSON = nil
		o.Put(table.OnceBucket, key, appendAnswer(nil, r, body, expires))
	}
	return table.NoteReleased(o)
}
