package backup

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime/debug"
	"sync"

	"doorward/kv/engine"
	"doorward/kv/table"
)

// verifyPage is how many rows Verify reads in one View.
const verifyPage = 2000

// verifier walks the store bucket by bucket, in pages, so that it holds no View for long. Each page judges its rows against the
// state of its own View. A writer may move rows between two pages; they are right in each state.
type verifier struct {
	store    *Keeper
	progress func(done, total int)
	seed     *maphash.Seed // of the balances; nil = the walk looks up each row
	total    int           // rows

	mu     sync.Mutex    // guards what is below
	due    engine.Bucket // the next page's
	from   []byte        // its first key
	report Report
	left   uint64 // of all pages' balances
}

// walker checks one page.
type walker struct {
	report  Report
	balance *balance // nil = the walk looks up each row
}

// all walks the store with several goroutines. A fault that a broken file causes is an error.
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
		err := w.store.tables.View(func(v *table.View) error {
			v.Bare = true
			b, page := w.next(v)
			at := w.newWalker()
			for _, row := range page {
				at.check(v, b, &row)
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

// countRows returns how many rows the store has.
func (kp *Keeper) countRows() (total int, err error) {
	err = kp.tables.View(func(v *table.View) error {
		for b := range engine.NumBuckets {
			if table.Schema[b].Name != "" {
				total += v.Count(engine.Bucket(b))
			}
		}
		return nil
	})
	return total, err
}

// next returns the rows of the next page, as they are in this View; none at the end.
func (w *verifier) next(v *table.View) (b engine.Bucket, page []engine.Row) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; w.due < engine.NumBuckets && len(page) == 0; w.due++ {
		if b = w.due; table.Schema[b].Name == "" {
			continue
		}
		c := v.Cursor(b)
		for row := c.Seek(w.from); row.Key != nil; row = c.Next() {
			if len(page) == verifyPage {
				w.from = bytes.Clone(row.Key)
				return b, page
			}
			page = append(page, *row)
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

// check reads a row's value and checks the row.
func (w *walker) check(v *table.View, b engine.Bucket, row *engine.Row) {
	w.report.Rows++
	value, err := row.Value()
	if err != nil {
		w.report.AddDamage(table.DamagedRow(b, row.Key))
		return
	}
	if err := w.row(v, b, row.Key, value); err != nil {
		w.report.AddDamage(table.Damage{Bucket: string(table.Schema[b].Name), Row: table.RowName(b, row.Key), Reason: err.Error()})
	}
}
