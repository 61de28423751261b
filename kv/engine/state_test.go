package engine

import (
	"errors"
	"testing"

	"go.etcd.io/bbolt"
)

// TestASnapshotIsOneMoment: while a snapshot is taken, other goroutines commit and fold. A reader must see no write without the one before it, and what it
// sees must be of one version.
func TestASnapshotIsOneMoment(t *testing.T) {
	for name, inBetween := range map[string]struct{ before, after bool }{
		"they commit and fold before the transaction of the file begins": {before: true},
		"they commit and fold when it has begun":                         {after: true},
		"they do so before and after":                                    {before: true, after: true},
	} {
		t.Run(name, func(t *testing.T) {
			db := opened(t)
			n := byte(0)
			put := func(key byte) {
				if err := db.Do(false, func(tx *Tx) error { tx.Put(1, []byte{key}, []byte{n}); return nil }); err != nil {
					t.Fatal(err)
				}
			}
			commit := func(yes bool) {
				if !yes {
					return
				}
				n++
				put('a')
				put('b')
				if err := db.Fold(); err != nil {
					t.Fatal(err)
				}
				n++
				put('a')
			}
			commit(true) // one row is in a table, the other in the file
			times := 0
			tx, at, err := db.snapshotBy(func(f *file) (*bbolt.Tx, error) {
				times++
				commit(inBetween.before && times == 1)
				tx, err := f.Begin(false)
				commit(inBetween.after && times == 1)
				return tx, err
			})
			if err != nil {
				t.Fatal(err)
			}
			v := db.view(tx, at, &cache{})
			a, err1 := v.Get(1, []byte("a"))
			b, err2 := v.Get(1, []byte("b"))
			if err := errors.Join(err1, err2, tx.Rollback()); err != nil {
				t.Fatal(err)
			}
			if a[0] != b[0]+1 || v.Version() != db.state.Load().sequence || a[0] != n {
				t.Errorf("the version %d of %d shows a = %d and b = %d, want %d and %d", v.Version(), db.state.Load().sequence, a[0], b[0], n, n-1)
			}
		})
	}
}
