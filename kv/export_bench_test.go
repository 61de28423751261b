package kv

import (
	"bytes"
	"errors"
	"slices"

	"go.etcd.io/bbolt"

	"doorward/kv/record"
)

// What `make bench` needs of the store's inside: the rows of one operation, a way to write given rows through the writer,
// a page that nobody counts, and reads that nobody does.

// BenchRow is one row as bbolt is handed it: the value ends with its checksum.
type BenchRow struct {
	Bucket     string
	Key, Value []byte
	Fill       float64 // of the bucket, as the store sets it
	number     bucket
}

// BenchOptions are the options that the store opens its file with.
func BenchOptions(size int64) *bbolt.Options { return boltOptions(size) }

// BenchRows runs one call of the store that writes, and answers the rows that it wrote. The call is given a store whose queue
// nobody serves; its job is overheard there and handed on to the real one.
func BenchRows(s *Store, call func(*Store) error) (rows []BenchRow, err error) {
	ear := &Store{clock: s.clock, zone: s.zone, log: s.log, identity: s.identity, metrics: s.metrics}
	ear.file.Store(s.file.Load())
	ear.caches.New = s.caches.New
	ear.versions.Store(s.versions.Load())
	ear.logins.Store(s.logins.Load())
	ear.writer = &writer{store: ear, queue: newQueue()}
	answer := make(chan error, 1)
	go func() { answer <- call(ear) }()
	j := ear.writer.queue.wait()
	for i := range j.steps {
		run := j.steps[i].run
		j.steps[i].run = func(o *op) error {
			err := run(o)
			for _, e := range o.over.entries {
				rows = append(rows, BenchRow{string(bucketNames[e.bucket]), bytes.Clone(e.key), bytes.Clone(e.sealed), o.in(e.bucket).FillPercent, e.bucket})
			}
			return err
		}
	}
	j.taken.Store(false) // the real writer is to take it once more
	if !s.writer.queue.push(j) {
		return nil, ErrStopped
	}
	err = <-answer // only then are the rows complete
	return rows, err
}

// BenchState is the row that every commit writes besides.
func BenchState(s *Store) (row BenchRow, err error) {
	err = s.file.Load().View(func(tx *bbolt.Tx) error {
		value := tx.Bucket(bucketNames[metaBucket]).Get(stateKey)
		if value == nil {
			return errors.New("the store has not written anything yet")
		}
		row = BenchRow{string(bucketNames[metaBucket]), stateKey, bytes.Clone(value), bbolt.DefaultFillPercent, metaBucket}
		return nil
	})
	return row, err
}

// BenchWrite writes rows through the writer as one operation of a door. draw is given the change's sequence.
func BenchWrite(s *Store, draw func(seq uint64) []BenchRow) error {
	return s.do(true, func(o *op) error {
		o.state.seq++
		for _, r := range draw(o.state.seq) {
			o.put(r.number, r.Key, r.Value[:len(r.Value)-checksumSize])
		}
		return nil
	})
}

// BenchUncounted is List without the count. The query must name whole lists.
func BenchUncounted(s *Store, p Principal, q Query) (results []byte, err error) {
	if err := p.checkKind(q.Surface, q.Kind, "GET"); err != nil {
		return nil, err
	}
	err = s.view(func(v *sight) error {
		v.reader = p
		if err := checkChoices(v, p, q); err != nil {
			return err
		}
		m, err := match(v, p, q, nil)
		if err != nil {
			return err
		}
		if m.exact || len(m.lists) != 1 {
			return errors.New("the query's matches are no whole list")
		}
		ids := m.lists[0].page(make([]record.ID, 0, q.Limit), q.Offset, q.Limit)
		results, err = showAll(v, slices.Grow(q.Into[:0], 1024+len(ids)*pageRow), q, ids)
		return err
	})
	return results, err
}

// BenchNoteReads counts as many reads of a person.
func BenchNoteReads(s *Store, p Principal, n int) {
	for range n {
		s.noteReads(p, record.Person, 1)
	}
}
