package kv

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime/debug"
	"sync"
)

// verifyPage is how many rows Verify reads in one View.
const verifyPage = 2000

// verifier walks the store bucket by bucket, in pages, so that it holds no View for long. Each page judges its rows against
// the state of its own View; rows that a writer moves meanwhile are right in whatever state they are met.
type verifier struct {
	store    *Store
	progress func(done, total int)
	seed     *maphash.Seed // of balances; nil = each row is held against what it leads to
	total    int           // rows

	mu     sync.Mutex // guards what is below
	due    bucket     // the next page's
	from   []byte     // its first key
	report Report
	left   uint64 // of all pages' balances
}

// walker is who checks a page.
type walker struct {
	report  Report
	balance *balance // nil = each row is held against what it leads to
}

// all walks the store by so many goroutines. An error is also what a broken file does to its reader.
func (w *verifier) all(walkers int) error {
	errs := make([]error, walkers)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() {
				if v := recover(); v != nil {
					errs[i] = fmt.Errorf("panic: %v", v)
				}
			}()
			errs[i] = w.walk()
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// walk checks pages until there are no more.
func (w *verifier) walk() error {
	for more := true; more; {
		err := w.store.view(func(v *sight) error {
			v.bare = true
			b, page := w.next(v)
			at := w.newWalker()
			for _, row := range page {
				at.check(v, b, row)
			}
			w.note(at)
			more = len(page) > 0
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *verifier) newWalker() *walker {
	if w.seed == nil {
		return &walker{}
	}
	return &walker{balance: newBalance(*w.seed)}
}

// countRows answers how many rows the store has.
func (s *Store) countRows() (total int, err error) {
	err = s.view(func(v *sight) error {
		for b := range numBuckets {
			if bucketNames[b] != nil {
				total += v.in(bucket(b)).Stats().KeyN
			}
		}
		return nil
	})
	return total, err
}

// verifyRow is a row as it lies in the file.
type verifyRow struct{ key, sealed []byte }

// next answers the rows of the next page, as they are in this View: none at the end.
func (w *verifier) next(v *sight) (b bucket, page []verifyRow) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; w.due < bucket(numBuckets) && len(page) == 0; w.due++ {
		if b = w.due; bucketNames[b] == nil {
			continue
		}
		c := v.in(b).Cursor()
		for key, sealed := c.Seek(w.from); key != nil; key, sealed = c.Next() {
			if len(page) == verifyPage {
				w.from = bytes.Clone(key)
				return b, page
			}
			page = append(page, verifyRow{key, sealed})
		}
		w.from = nil
	}
	return b, page
}

// note adds what was found in a page.
func (w *verifier) note(at *walker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.add(at.report)
	if at.balance != nil {
		w.left += at.balance.left
	}
	if w.progress != nil {
		w.progress(w.report.Rows, max(w.total, w.report.Rows))
	}
}

// check checks a row.
func (w *walker) check(v *sight, b bucket, row verifyRow) {
	w.report.Rows++
	value, err := unseal(b, row.key, row.sealed)
	if err != nil {
		w.report.damage(damagedRow(b, row.key))
		return
	}
	if err := w.row(v, b, row.key, value); err != nil {
		w.report.damage(Damage{Bucket: string(bucketNames[b]), Row: rowName(b, row.key), Reason: err.Error()})
	}
}
