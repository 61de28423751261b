package kv

import (
	"errors"
	"slices"

	"doorward/kv/record"
)

// clear erases all but the memberships and the person.
func (e *eraser) clear() error {
	var steps []step
	for _, id := range e.all[record.Ticket] {
		steps = append(steps, step{run: func(o *op) error { return unname(o, id, e.key) }})
	}
	for _, id := range e.past {
		steps = append(steps, step{run: func(o *op) error {
			l := &leftover{author: e.key}
			err := noteSince(o, id, e.all[record.Person], l)
			if l.emptied && !slices.Contains(e.left, id) {
				e.left = append(e.left, id)
			}
			return errors.Join(err, forgetTicket(o, id, nil))
		}})
	}
	if err := errors.Join(e.store.doEach(steps), e.stop("unnamed")); err != nil {
		return err
	}
	if err := errors.Join(e.clearListed(record.Conflict, &e.found.Conflicts), e.clearListed(record.Refusal, &e.found.Refusals), e.stop("listed")); err != nil {
		return err
	}
	return errors.Join(e.clearAnswers(), e.stop("answers"))
}

// clearListed erases what staff were to look at.
func (e *eraser) clearListed(k *record.Kind, n *int) error {
	var ids []record.ID
	err := eachListed(e.store.tables, k, func(st *stored, d *record.Doc) {
		if e.lists(k, d) {
			ids = append(ids, st.id)
		}
	})
	*n += len(ids)
	var steps []step
	for _, id := range ids {
		steps = append(steps, step{run: func(o *op) error { return obliterate(o, k, id, e.key) }})
	}
	return errors.Join(err, e.store.doEach(steps))
}

// clearAnswers deletes kept answers that show what is erased.
func (e *eraser) clearAnswers() error {
	var keys [][]byte
	err := e.store.eachRow(onceBucket, nil, func(_ *sight, key, row []byte) error {
		r, _, expires, err := parseOnce(row)
		if err == nil && e.answers(r) {
			keys = append(keys, slices.Clone(key), onceExpiryKey(expires, key))
		}
		return err
	})
	e.found.Answers += len(keys) / 2
	var steps []step
	for pair := range slices.Chunk(keys, 2) {
		steps = append(steps, step{run: func(o *op) error {
			o.delete(onceBucket, pair[0])
			o.delete(onceExpiryBucket, pair[1])
			return nil
		}})
	}
	return errors.Join(err, e.store.doEach(steps))
}

// erasePage is how many rows an eraser looks at in one View.
const erasePage = 500

// keys calls fn with all keys of a bucket, a page of them in one View. What they stand for may be damaged.
func (e *eraser) keys(b bucket, fn func(key []byte)) error {
	var from []byte
	for more := true; more; {
		more = false
		n := 0
		err := e.store.view(func(v *sight) error {
			c := v.Cursor(b)
			for row := c.Seek(from); row.Key != nil; row = c.Next() {
				if n++; n > erasePage {
					from, more = slices.Clone(row.Key), true
					return nil
				}
				fn(row.Key)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
