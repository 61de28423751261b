package erase

import (
	"errors"
	"slices"

	"doorward/kv/desk"
	"doorward/kv/engine"
	"doorward/kv/inbox"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
)

// clear erases all but the records themselves.
func (e *eraser) clear() error {
	if err := errors.Join(e.clearListed(record.Conflict, &e.found.Conflicts), e.clearListed(record.Refusal, &e.found.Refusals), e.stop("listed")); err != nil {
		return err
	}
	return errors.Join(e.clearAnswers(), e.stop("answers"))
}

// clearListed erases what staff were to look at.
func (e *eraser) clearListed(k *record.Kind, n *int) error {
	var ids []record.ID
	err := inbox.EachListed(e.store.tables, k, func(st *table.Stored, d *record.Doc) {
		if e.lists(k, d) {
			ids = append(ids, st.ID)
		}
	})
	*n += len(ids)
	var steps []table.Step
	for _, id := range ids {
		steps = append(steps, table.Step{Run: func(o *table.Tx) error { return merge.Obliterate(o, k, id, e.key) }})
	}
	return errors.Join(err, e.store.tables.DoEach(steps))
}

// clearAnswers deletes kept answers that show what is erased.
func (e *eraser) clearAnswers() error {
	var keys [][]byte
	err := e.store.tables.EachRow(table.OnceBucket, nil, func(_ *table.View, key, row []byte) error {
		r, _, expires, err := desk.ParseOnce(row)
		if err == nil && e.answers(r) {
			keys = append(keys, slices.Clone(key), desk.OnceExpiryKey(expires, key))
		}
		return err
	})
	e.found.Answers += len(keys) / 2
	var steps []table.Step
	for pair := range slices.Chunk(keys, 2) {
		steps = append(steps, table.Step{Run: func(o *table.Tx) error {
			o.Delete(table.OnceBucket, pair[0])
			o.Delete(table.OnceExpiryBucket, pair[1])
			return nil
		}})
	}
	return errors.Join(err, e.store.tables.DoEach(steps))
}

// keys calls fn with all keys of a bucket, a page of them in one View. What they stand for may be damaged.
func (e *eraser) keys(b engine.Bucket, fn func(key []byte)) error {
	var from []byte
	for more := true; more; {
		more = false
		n := 0
		err := e.store.tables.View(func(v *table.View) error {
			c := v.Cursor(b)
			for row := c.Seek(from); row.Key != nil; row = c.Next() {
				if n++; n > table.ErasePage {
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
