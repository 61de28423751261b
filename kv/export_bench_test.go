package kv

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"go.etcd.io/bbolt"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
)

// What `make bench` needs of the store's inside: the rows of one operation, a way to write given rows through the writer,
// a page that nobody counts, and reads that nobody does.

// BenchRow is one row as bbolt is handed it: the value ends with its checksum.
type BenchRow struct {
	Bucket     string
	Key, Value []byte
	Fill       float64 // of the bucket, as the store sets it
	number     engine.Bucket
}

// BenchRows runs one call of the store that writes, and answers the rows that are another after it. A deleted one has no value.
func BenchRows(s *Store, call func(*Store) error) (rows []BenchRow, err error) {
	before := benchAll(s)
	if err := call(s); err != nil {
		return nil, err
	}
	for b, now := range benchAll(s) {
		if engine.Bucket(b) == table.MetaBucket {
			continue // the row that every commit writes
		}
		for key, value := range now {
			if old, was := before[b][key]; !was || old != value {
				rows = append(rows, benchRow(engine.Bucket(b), key, []byte(value)))
			}
			delete(before[b], key)
		}
		for key := range before[b] {
			rows = append(rows, benchRow(engine.Bucket(b), key, nil))
		}
	}
	slices.SortFunc(rows, func(a, b BenchRow) int { return cmp.Or(cmp.Compare(a.number, b.number), bytes.Compare(a.Key, b.Key)) })
	return rows, nil
}

func benchRow(b engine.Bucket, key string, value []byte) BenchRow {
	fill := bbolt.DefaultFillPercent
	switch d := table.Schema[b]; {
	case d.Tail:
		fill = 0.95
	case d.Ranges:
		fill = 0.8
	}
	return BenchRow{table.Schema[b].Name, []byte(key), value, fill, b}
}

// benchAll is all that lies in the file.
func benchAll(s *Store) (all [engine.NumBuckets]map[string]string) {
	_ = boltOf(s).View(func(tx *bbolt.Tx) error {
		for b := range table.Schema {
			if table.Schema[b].Name == "" {
				continue
			}
			all[b] = map[string]string{}
			_ = tx.Bucket([]byte(table.Schema[b].Name)).ForEach(func(key, value []byte) error {
				all[b][string(key)] = string(value)
				return nil
			})
		}
		return nil
	})
	return all
}

// BenchState is the row that every commit writes besides.
func BenchState(s *Store) (row BenchRow, err error) {
	value := benchAll(s)[table.MetaBucket][string(table.StateKey)]
	if value == "" {
		return row, errors.New("the store has not written anything yet")
	}
	return benchRow(table.MetaBucket, string(table.StateKey), []byte(value)), nil
}

// BenchWrite writes rows through the writer as one operation of a door. draw is given the change's sequence.
func BenchWrite(s *Store, draw func(seq uint64) []BenchRow) error {
	return s.Tables.DoAtDoor(func(o *table.Tx) error {
		o.State.Seq++
		for _, r := range draw(o.State.Seq) {
			o.Put(r.number, r.Key, r.Value[:len(r.Value)-4])
		}
		return nil
	})
}

// BenchUncounted is List without the count. The query must name whole lists.
func BenchUncounted(s *Store, p auth.Principal, q desk.Query) (results []byte, err error) {
	if err := p.CheckKind(q.Surface, q.Kind, "GET"); err != nil {
		return nil, err
	}
	err = s.Tables.View(func(v *table.View) error {
		v.Reader = p
		if err := desk.CheckChoices(v, p, q); err != nil {
			return err
		}
		m, err := desk.Match(v, p, q, nil)
		if err != nil {
			return err
		}
		if m.Exact || len(m.Lists) != 1 {
			return errors.New("the query's matches are no whole list")
		}
		ids := m.Lists[0].Page(make([]record.ID, 0, q.Limit), q.Offset, q.Limit)
		results = append(slices.Grow(q.Into[:0], 1024+len(ids)*1536), '[')
		v.Page = record.NewPage(q.Kind)
		err = v.Each(q.Kind, ids, func(st *table.Stored) (err error) {
			if st.ID != ids[0] {
				results = append(results, ',')
			}
			results, err = entry.Show(v, results, q.Surface, q.Kind, st)
			return err
		})
		results = append(results, ']')
		return err
	})
	return results, err
}

// BenchNoteReads counts as many reads of a person.
func BenchNoteReads(s *Store, p auth.Principal, n int) {
	for range n {
		s.Tables.Reads.Note(p, record.Person, 1)
	}
}
