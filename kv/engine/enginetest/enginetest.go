// Package enginetest is the contract of an engine as tests. Whatever keeps ordered bytes for the store runs it:
//
//	func TestContract(t *testing.T) {
//		enginetest.Run(t, func(c engine.Config) (enginetest.Engine, error) { return engine.Open(c) })
//	}
//
// It asks for ordered scans; an operation's writes over those of its group over those of the file; isolation of Views; errors and panics that
// leave nothing; hooks in their order; versions that grow; a rewriting that keeps every row; and what a crash leaves: a copy of the file that
// is taken at any moment holds whole operations, and all that were answered before.
package enginetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"doorward/kv/disk"
	"doorward/kv/engine"
)

// Engine is what is tested.
type Engine interface {
	Start(engine.Hooks)
	View(func(*engine.View) error) error
	Do(door bool, run func(*engine.Tx) error) error
	DoAll([]engine.Op) error
	Rewrite(ctx context.Context, first func(*engine.Tx)) error
	CopyTo(f disk.SyncWriter, about func(*engine.View) error) (int64, error)
	Close() error
}

// Opener opens an engine.
type Opener func(engine.Config) (Engine, error)

// The buckets of the tests.
const (
	one engine.Bucket = iota + 1
	two
)

func schema() *engine.Schema {
	return &engine.Schema{one: {Name: "one"}, two: {Name: "two", Tail: true}}
}

var errRefused = errors.New("refused")

// bench is an engine under test.
type bench struct {
	*testing.T
	Engine
	open   Opener
	config engine.Config
}

// Run runs the contract.
func Run(t *testing.T, open Opener) {
	t.Helper()
	for name, test := range map[string]func(*bench){
		"rows are scanned in the order of their keys":           scansInOrder,
		"an operation sees its own writes over the group's":     seesOwnWrites,
		"a View does not change":                                isolates,
		"a View beside another shows the same":                  readsBeside,
		"an operation that fails leaves nothing":                failsWhole,
		"each operation of a bulk keeps its own error":          keepsErrors,
		"hooks come in their order, and versions grow":          hooksInOrder,
		"what was kept is there when the file is opened again":  reopens,
		"a rewriting keeps every row that is written beside it": rewrites,
		"a copy at any moment holds whole operations":           copiesWhole,
		"drawn operations do what a map does":                   followsMap,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bench{T: t, open: open, config: engine.Config{Path: filepath.Join(t.TempDir(), "a.db"), Schema: schema()}}
			b.reopen(engine.Hooks{})
			t.Cleanup(func() { _ = b.Close() })
			test(b)
		})
	}
}

func (b *bench) reopen(h engine.Hooks) {
	b.Helper()
	if b.Engine != nil {
		b.must(b.Close())
	}
	e, err := b.open(b.config)
	b.must(err)
	b.Engine = e
	e.Start(h)
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// put writes rows of one bucket in one operation.
func (b *bench) put(at engine.Bucket, pairs ...string) {
	b.Helper()
	b.must(b.Do(false, func(tx *engine.Tx) error {
		for i := 0; i < len(pairs); i += 2 {
			tx.Put(at, []byte(pairs[i]), []byte(pairs[i+1]))
		}
		return nil
	}))
}

// all are the rows of a bucket from a key on, as key=value.
func all(v *engine.View, at engine.Bucket, prefix, from string) (rows []string, err error) {
	err = v.Scan(at, []byte(prefix), []byte(from), func(key, value []byte) (bool, error) {
		rows = append(rows, string(key)+"="+string(value))
		return true, nil
	})
	return rows, err
}

func (b *bench) wants(v *engine.View, at engine.Bucket, prefix, from string, want ...string) {
	b.Helper()
	rows, err := all(v, at, prefix, from)
	if err != nil || !slices.Equal(rows, want) {
		b.Errorf("rows of %q from %q = %q, %v, want %q", prefix, from, rows, err, want)
	}
}

func scansInOrder(b *bench) {
	b.put(one, "b", "2", "ab", "1", "a", "0", "c", "3", "\xff", "4")
	b.put(two, "a", "other")
	b.must(b.View(func(v *engine.View) error {
		b.wants(v, one, "", "", "a=0", "ab=1", "b=2", "c=3", "\xff=4")
		b.wants(v, one, "a", "", "a=0", "ab=1")
		b.wants(v, one, "", "b", "b=2", "c=3", "\xff=4")
		b.wants(v, one, "x", "")
		var down []string
		err := v.ScanDown(one, nil, []byte("c"), func(key, _ []byte) (bool, error) {
			down = append(down, string(key))
			return true, nil
		})
		if !slices.Equal(down, []string{"c", "b", "ab", "a"}) {
			b.Errorf("down from c: %q", down)
		}
		c := v.Cursor(two)
		row := c.Seek(nil)
		if value, err := row.Value(); string(row.Key) != "a" || string(value) != "other" || err != nil || c.Next().Key != nil {
			b.Errorf("the cursor meets %q = %q, %v", row.Key, value, err)
		}
		return err
	}))
}

func readsBeside(b *bench) {
	b.put(one, "a", "1")
	b.must(b.View(func(v *engine.View) error {
		same := func(beside *engine.View) error {
			b.wants(beside, one, "", "", "a=1")
			return nil
		}
		b.must(v.Beside(same))
		b.put(one, "b", "2")
		if err := v.Beside(same); err != nil && !errors.Is(err, engine.ErrBusy) {
			b.Errorf("after another write: %v", err)
		}
		if err := v.Beside(func(*engine.View) error { return errRefused }); !errors.Is(err, errRefused) && !errors.Is(err, engine.ErrBusy) {
			b.Errorf("the function's own error is %v", err)
		}
		return nil
	}))
}

func seesOwnWrites(b *bench) {
	b.put(one, "a", "file", "b", "file", "c", "file")
	ops := []engine.Op{
		{Run: func(tx *engine.Tx) error {
			tx.Put(one, []byte("b"), []byte("group"))
			tx.Put(one, []byte("d"), []byte("group"))
			return nil
		}},
		{Run: func(tx *engine.Tx) error {
			tx.Put(one, []byte("c"), []byte("own"))
			tx.Delete(one, []byte("d"))
			tx.Put(one, []byte("aa"), nil)
			b.wants(&tx.View, one, "", "", "a=file", "aa=", "b=group", "c=own")
			if value, err := tx.Get(one, []byte("d")); value != nil || err != nil {
				b.Errorf("a deleted row = %q, %v", value, err)
			}
			tx.Put(one, []byte("d"), []byte("again"))
			if value, err := tx.Get(one, []byte("d")); string(value) != "again" || err != nil {
				b.Errorf("a row that was deleted and written = %q, %v", value, err)
			}
			return nil
		}},
	}
	b.must(b.DoAll(ops))
	b.must(b.View(func(v *engine.View) error {
		b.wants(v, one, "", "", "a=file", "aa=", "b=group", "c=own", "d=again")
		return nil
	}))
}

func isolates(b *bench) {
	b.put(one, "a", "before")
	version := 0
	b.must(b.View(func(v *engine.View) error {
		b.put(one, "a", "after", "b", "new")
		b.wants(v, one, "", "", "a=before")
		version = v.Version()
		return nil
	}))
	b.must(b.View(func(v *engine.View) error {
		b.wants(v, one, "", "", "a=after", "b=new")
		if v.Version() <= version {
			b.Errorf("the version after a commit is %d, before it was %d", v.Version(), version)
		}
		return nil
	}))
}

func failsWhole(b *bench) {
	b.put(one, "a", "before")
	refused := b.Do(false, func(tx *engine.Tx) error {
		tx.Put(one, []byte("a"), []byte("never"))
		tx.OnCommitted(func() { b.Error("a refused operation was committed") })
		return errRefused
	})
	panicked := b.Do(true, func(tx *engine.Tx) error {
		tx.Delete(one, []byte("a"))
		panic("deliberate")
	})
	long := b.Do(false, func(tx *engine.Tx) error {
		tx.Put(one, bytes.Repeat([]byte("k"), 1<<16), nil)
		return nil
	})
	if refused != errRefused || !errors.Is(panicked, engine.ErrPanicked) || !errors.Is(long, engine.ErrTooLong) {
		b.Errorf("errors: %v, %v, %v", refused, panicked, long)
	}
	b.must(b.View(func(v *engine.View) error {
		b.wants(v, one, "", "", "a=before")
		return nil
	}))
}

func keepsErrors(b *bench) {
	ops := make([]engine.Op, 10)
	for i := range ops {
		ops[i].Run = func(tx *engine.Tx) error {
			tx.Put(one, []byte{byte('a' + i)}, nil)
			if i%2 == 1 {
				return errRefused
			}
			return nil
		}
	}
	b.must(b.DoAll(ops))
	for i, o := range ops {
		if (o.Err != nil) != (i%2 == 1) {
			b.Errorf("operation %d: %v", i, o.Err)
		}
	}
	b.must(b.View(func(v *engine.View) error {
		b.wants(v, one, "", "", "a=", "c=", "e=", "g=", "i=")
		return nil
	}))
}

func hooksInOrder(b *bench) {
	var told []string
	tell := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	last := 0
	b.reopen(engine.Hooks{
		Begin: func() { tell("begin") },
		Kept:  func() { tell("kept") },
		Seal: func(tx *engine.Tx, version int) {
			tell("seal")
			tx.Put(two, []byte("sealed"), binary.BigEndian.AppendUint64(nil, uint64(version)))
			if version <= last {
				b.Errorf("version %d comes after %d", version, last)
			}
			last = version
		},
		Committed: func() { tell("committed") },
	})
	b.must(b.Do(true, func(tx *engine.Tx) error {
		tell("run")
		tx.Put(one, []byte("a"), nil)
		tx.OnCommitted(func() { tell("answered") })
		return nil
	}))
	if err := b.Do(true, func(tx *engine.Tx) error { tx.Put(one, []byte("b"), nil); return errRefused }); err != errRefused {
		b.Errorf("an operation that fails: %v", err)
	}
	b.must(b.Do(true, func(*engine.Tx) error { return nil })) // it writes nothing, so nothing is committed
	if want := []string{"begin", "run", "kept", "seal", "committed", "answered", "begin", "begin"}; !slices.Equal(told, want) {
		b.Errorf("told %q, want %q", told, want)
	}
	b.must(b.View(func(v *engine.View) error {
		value, err := v.Get(two, []byte("sealed"))
		if len(value) != 8 || binary.BigEndian.Uint64(value) != uint64(v.Version()) {
			b.Errorf("the View of version %d shows %x as its last row", v.Version(), value)
		}
		return err
	}))
}

func reopens(b *bench) {
	b.put(one, "a", "kept")
	b.reopen(engine.Hooks{})
	b.must(b.View(func(v *engine.View) error {
		b.wants(v, one, "", "", "a=kept")
		return nil
	}))
}

func rewrites(b *bench) {
	const rows = 3000
	key := func(i int) []byte { return fmt.Appendf(nil, "%05d", i) }
	for i := range rows {
		if i%500 == 0 {
			b.must(b.Do(false, func(tx *engine.Tx) error {
				for n := i; n < i+500; n++ {
					tx.Put(one, key(n), bytes.Repeat([]byte("x"), 200))
				}
				return nil
			}))
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- b.Rewrite(b.Context(), func(tx *engine.Tx) { tx.Put(two, []byte("rewritten"), nil) }) }()
	version, gone := 0, 0
	for done := false; !done; gone++ {
		select {
		case err := <-ended:
			b.must(err)
			done = true
		default:
		}
		b.must(b.Do(false, func(tx *engine.Tx) error {
			tx.Delete(one, key(gone))
			tx.Put(one, []byte("new"), key(gone))
			return nil
		}))
		b.must(b.View(func(v *engine.View) error {
			if v.Version() <= version {
				b.Fatalf("version %d comes after %d", v.Version(), version)
			}
			version = v.Version()
			return nil
		}))
	}
	b.reopen(engine.Hooks{})
	b.must(b.View(func(v *engine.View) error {
		if n := v.Count(one); n != max(rows-gone, 0)+1 {
			b.Errorf("%d rows after %d of %d were deleted and one was written", n, gone, rows)
		}
		b.wants(v, one, "new", "", "new="+string(key(gone-1)))
		b.wants(v, two, "", "", "rewritten=")
		return nil
	}))
}

// copiesWhole writes pairs of rows that belong together, and looks at copies that are made beside.
func copiesWhole(b *bench) {
	var answered sync.Map
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 100 {
				key := fmt.Sprintf("%d-%03d", w, i)
				err := b.Do(i%2 == 0, func(tx *engine.Tx) error {
					tx.Put(one, []byte(key), nil)
					tx.Put(two, []byte(key), nil)
					return nil
				})
				if err != nil {
					b.Errorf("write: %v", err)
				}
				answered.Store(key, true)
			}
		})
	}
	for range 5 {
		var before []string
		answered.Range(func(key, _ any) bool {
			before = append(before, key.(string))
			return true
		})
		b.looksWhole(before)
	}
	writers.Wait()
}

// looksWhole opens a copy, which holds both rows of each pair, and every pair that was answered.
func (b *bench) looksWhole(answered []string) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "copy.db")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	b.must(err)
	_, err = b.CopyTo(f, func(*engine.View) error { return nil })
	b.must(errors.Join(err, f.Close()))
	c := b.config
	c.Path = path
	e, err := b.open(c)
	b.must(err)
	b.must(e.View(func(v *engine.View) error {
		first, err := all(v, one, "", "")
		second, failed := all(v, two, "", "")
		if !slices.Equal(first, second) {
			b.Errorf("half of an operation: %d rows and %d", len(first), len(second))
		}
		for _, key := range answered {
			if _, found := slices.BinarySearch(first, key+"="); !found {
				b.Errorf("%s was answered, and the copy lacks it", key)
			}
		}
		return errors.Join(err, failed)
	}))
	b.must(e.Close())
}

// followsMap draws operations, failures, rewritings and reopenings, and holds the rows against a map. The seed is in the test's output.
func followsMap(b *bench) {
	seed := rand.Uint64()
	b.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	model := map[string]string{}
	for range 300 {
		switch n := r.IntN(40); n {
		case 0:
			b.reopen(engine.Hooks{})
		case 1:
			b.must(b.Rewrite(b.Context(), func(*engine.Tx) {}))
		default:
			b.draw(r, model)
		}
	}
	var want []string
	for key, value := range model {
		want = append(want, key+"="+value)
	}
	slices.Sort(want)
	b.must(b.View(func(v *engine.View) error {
		b.wants(v, one, "", "", want...)
		return nil
	}))
}

// draw runs one drawn operation on the engine and on the map. One in four fails.
func (b *bench) draw(r *rand.Rand, model map[string]string) {
	fails := r.IntN(4) == 0
	next := map[string]string{}
	for key, value := range model {
		next[key] = value
	}
	err := b.Do(r.IntN(2) == 0, func(tx *engine.Tx) error {
		for range r.IntN(8) {
			key, value := fmt.Sprintf("k%02d", r.IntN(50)), fmt.Sprint(r.IntN(1000))
			if r.IntN(3) == 0 {
				tx.Delete(one, []byte(key))
				delete(next, key)
			} else {
				tx.Put(one, []byte(key), []byte(value))
				next[key] = value
			}
			got, err := tx.Get(one, []byte(key))
			if want, there := next[key]; err != nil || there != (got != nil) || want != string(got) {
				b.Errorf("%s = %q, %v, want %q", key, got, err, want)
			}
		}
		if fails {
			return errRefused
		}
		return nil
	})
	switch {
	case fails != (err == errRefused):
		b.Errorf("an operation returns %v", err)
	case err == nil:
		clear(model)
		for key, value := range next {
			model[key] = value
		}
	}
}
