package engine_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"doorward/kv/engine"
	"doorward/kv/engine/enginetest"
	"doorward/kv/engine/wal"
	"doorward/kv/kvtest/proof"

	"go.etcd.io/bbolt"
	"pgregory.net/rapid"
)

// TestMain acts a play of the laboratory where it is called for that.
func TestMain(m *testing.M) {
	if said, ok := os.LookupEnv(playVariable); ok {
		if err := acts(said); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	proof.Draws(30, 600)
	os.Exit(m.Run())
}

// TestContractWithoutLog: each commit goes into the file at once.
func TestContractWithoutLog(t *testing.T) {
	enginetest.Run(t, func(c engine.Config) (enginetest.Engine, error) {
		c.Unlogged = true
		return engine.Open(c)
	})
}

// TestContractFolding folds after each operation.
func TestContractFolding(t *testing.T) {
	enginetest.Run(t, func(c engine.Config) (enginetest.Engine, error) {
		db, err := engine.Open(c)
		return folding{db}, err
	})
}

// TestContractGathering gathers the rows of both buckets after each operation, and spreads them after some.
func TestContractGathering(t *testing.T) {
	enginetest.Run(t, func(c engine.Config) (enginetest.Engine, error) {
		schema := *c.Schema
		schema[one].Scattered, schema[two].Scattered = true, true
		c.Schema = &schema
		db, err := engine.Open(c)
		return &gathering{DB: db}, err
	})
}

type gathering struct {
	*engine.DB
	times atomic.Int64
}

func (g *gathering) Do(door bool, run func(*engine.Tx) error) error {
	err := g.DB.Do(door, run)
	if err == nil {
		err = g.FoldGathering()
	}
	if err == nil && g.times.Add(1)%5 == 0 {
		err = g.Spread()
	}
	return err
}

type folding struct{ *engine.DB }

func (f folding) Do(door bool, run func(*engine.Tx) error) error {
	if err := f.DB.Do(door, run); err != nil {
		return err
	}
	return f.DB.Fold()
}

const (
	one engine.Bucket = iota + 1
	two
)

// subject is an open engine and what it must hold.
type subject struct {
	testing.TB
	*engine.DB
	config engine.Config
	rows   map[string]string
}

func newSubject(t testing.TB) *subject {
	t.Helper()
	s := &subject{TB: t, rows: map[string]string{}, config: engine.Config{
		Path: filepath.Join(proof.Memory(t), "a.db"), Schema: &engine.Schema{one: {Name: "one", Scattered: true}, two: {Name: "two"}},
	}}
	s.open()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (s *subject) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *subject) open() {
	s.Helper()
	db, err := engine.Open(s.config)
	s.must(err)
	s.DB = db
	s.Start(engine.Hooks{})
}

// write puts rows in one operation; a value of "" deletes the row.
func (s *subject) write(rows map[string]string) {
	s.Helper()
	s.must(s.Do(false, func(tx *engine.Tx) error {
		for key, value := range rows {
			if value == "" {
				tx.Delete(one, []byte(key))
			} else {
				tx.Put(one, []byte(key), []byte(value))
			}
		}
		return nil
	}))
	for key, value := range rows {
		if s.rows[key] = value; value == "" {
			delete(s.rows, key)
		}
	}
}

// holds wants a View to show what was written: upwards, downwards, by a cursor, by key, and counted.
func (s *subject) holds() {
	s.Helper()
	want := slices.Sorted(maps.Keys(s.rows))
	s.must(s.View(func(v *engine.View) error {
		var up, down, met []string
		take := func(to *[]string) func(key, value []byte) (bool, error) {
			return func(key, value []byte) (bool, error) {
				*to = append(*to, string(key))
				if s.rows[string(key)] != string(value) {
					s.Errorf("%s = %q, want %q", key, value, s.rows[string(key)])
				}
				return true, nil
			}
		}
		if err := errors.Join(v.Scan(one, nil, nil, take(&up)), v.ScanDown(one, nil, []byte("\xff"), take(&down))); err != nil {
			return err
		}
		c := v.Cursor(one)
		for row := c.Seek(nil); row.Key != nil; row = c.Next() {
			value, err := row.Value()
			if err != nil || string(value) != s.rows[string(row.Key)] {
				s.Errorf("the cursor meets %s = %q, %v", row.Key, value, err)
			}
			met = append(met, string(row.Key))
		}
		slices.Reverse(down)
		for how, got := range map[string][]string{"upwards": up, "downwards": down, "by a cursor": met} {
			if !slices.Equal(got, want) {
				s.Errorf("%s %q, want %q", how, got, want)
			}
		}
		for _, stride := range []int{1, 2, 5, 37} { // the last also goes back
			s.seeks(v, want, stride)
		}
		for i := range 40 {
			key := fmt.Sprintf("k%02d", i)
			if value, err := v.Get(one, []byte(key)); err != nil || string(value) != s.rows[key] {
				s.Errorf("%s = %q, %v, want %q", key, value, err, s.rows[key])
			}
		}
		if n := v.Count(one); n != len(want) {
			s.Errorf("%d rows are counted, want %d", n, len(want))
		}
		return nil
	}))
	s.must(s.CheckLog())
}

// TestSixLargeRowsShareAPage: rows of people that came in order lie six to a page.
func TestSixLargeRowsShareAPage(t *testing.T) {
	const rows = 6000
	config := engine.Config{Path: filepath.Join(proof.Memory(t), "a.db"), Schema: &engine.Schema{one: {Name: "one", Tail: true}}}
	s := &subject{TB: t, rows: map[string]string{}, config: config}
	s.open()
	person := bytes.Repeat([]byte{'x'}, 1290)
	s.must(s.Do(false, func(tx *engine.Tx) error {
		for i := range uint64(rows) {
			tx.Put(one, binary.BigEndian.AppendUint64(nil, i), person)
		}
		return nil
	}))
	s.must(s.Close())
	file, err := bbolt.Open(config.Path, 0o600, &bbolt.Options{ReadOnly: true})
	s.must(err)
	defer func() { s.must(file.Close()) }()
	s.must(file.View(func(tx *bbolt.Tx) error {
		if n := tx.Bucket([]byte("one")).Stats().LeafPageN; n > rows/6*21/20 {
			t.Errorf("%d rows take %d pages, want six to a page and a twentieth more", rows, n)
		}
		return nil
	}))
}

// seeks wants a cursor to find each place in its keys, and what follows on every third.
func (s *subject) seeks(v *engine.View, keys []string, stride int) {
	s.Helper()
	c := v.Cursor(one)
	for n := range 40 {
		key := fmt.Sprintf("k%02d", n*stride%40)
		at, _ := slices.BinarySearch(keys, key)
		row := c.Seek([]byte(key))
		if n%3 == 0 && row.Key != nil {
			row, at = c.Next(), at+1
		}
		want := ""
		if at < len(keys) {
			want = keys[at]
		}
		value, err := s.rows[want], error(nil)
		if row.Key != nil {
			var got []byte
			if got, err = row.Value(); string(got) != value {
				s.Errorf("the cursor meets %s = %q, want %q", row.Key, got, value)
			}
		}
		if string(row.Key) != want || err != nil {
			s.Errorf("from %s in strides of %d the cursor meets %q, %v, want %q", key, stride, row.Key, err, want)
		}
	}
}

// image copies the file and the log as they are now, as a kill leaves them.
func (s *subject) image() (dir string) {
	s.Helper()
	dir = proof.Memory(s)
	from := filepath.Dir(s.config.Path)
	s.must(filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, name), 0o700)
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a spare segment that the disk had no room for
		}
		return errors.Join(err, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}))
	return dir
}

// killed goes on with an image of what is on the disk now. The first engine goes on, and is forgotten.
func (s *subject) killed() {
	s.Helper()
	dir, old, was := s.image(), s.DB, filepath.Dir(s.config.Path)
	s.config.Path = filepath.Join(dir, "a.db")
	s.open()
	_ = old.Close()
	s.must(os.RemoveAll(was)) // many images would fill the memory
}

// TestDrawnOperationsFoldsAndKills: mixed operations, folds, rewritings, kills and reopenings, against a map.
func TestDrawnOperationsFoldsAndKills(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newSubject(t)
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			switch rapid.IntRange(0, 14).Draw(r, "step") {
			case 0:
				s.must(s.Fold())
			case 1:
				s.killed()
			case 2:
				s.must(s.Close())
				s.open()
			case 3:
				s.must(s.Rewrite(t.Context(), func(*engine.Tx) {}))
			case 4, 5:
				s.must(s.FoldGathering())
			case 6:
				s.must(s.Spread())
			default:
				rows := map[string]string{}
				for range rapid.IntRange(1, 6).Draw(r, "rows") {
					key := fmt.Sprintf("k%02d", rapid.IntRange(0, 39).Draw(r, "key"))
					rows[key] = rapid.SampledFrom([]string{"", "v", "another value", strings.Repeat("long", 3000)}).Draw(r, "value")
				}
				s.write(rows)
			}
			s.holds()
		}
		s.must(s.Close())
		s.must(os.RemoveAll(filepath.Dir(s.config.Path)))
	})
}

// TestAnEngineIsWritableWhileItIsRewritten: who asks between the next file's new name and its use is not told that the file was replaced.
func TestAnEngineIsWritableWhileItIsRewritten(t *testing.T) {
	s := newSubject(t)
	over := make(chan struct{})
	var asks sync.WaitGroup
	for range 4 {
		asks.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if err := s.Writable(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range proof.Count(40, 400) {
		s.must(s.Rewrite(t.Context(), func(*engine.Tx) {}))
	}
	close(over)
	asks.Wait()
}

// TestAReaderSeesOneMoment: two rows that are always written together, or one after the other, are never seen apart or in the wrong order, while tables
// are folded under the readers.
func TestAReaderSeesOneMoment(t *testing.T) {
	s := newSubject(t)
	key := func(n byte) []byte { return []byte{'k', n} }
	put := func(n byte, value string) {
		s.must(s.Do(false, func(tx *engine.Tx) error { tx.Put(one, key(n), []byte(value)); return nil }))
	}
	put(1, "000000")
	put(2, "000000")
	over := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for last := ""; ; {
				select {
				case <-over:
					return
				default:
				}
				_ = s.View(func(v *engine.View) error {
					first, err1 := v.Get(one, key(1)) // is written first
					second, err2 := v.Get(one, key(2))
					if err1 != nil || err2 != nil || string(second) > string(first) || string(first) < last {
						t.Errorf("a reader sees %s, and the write after it %s; before it saw %s (%v, %v)", first, second, last, err1, err2)
					}
					last = string(first)
					return nil
				})
			}
		})
	}
	readers.Go(func() { s.foldUntil(over) })
	for i := range proof.Count(1500, 20000) {
		put(1, fmt.Sprintf("%06d", i+1))
		put(2, fmt.Sprintf("%06d", i+1))
	}
	close(over)
	readers.Wait()
}

// foldUntil folds again and again.
func (s *subject) foldUntil(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		default:
			_ = s.Fold()
		}
	}
}

// TestACopyShowsOneMomentBesideFolds: while doors are about a fold is several transactions of the file, and no copy is made between two of them.
func TestACopyShowsOneMomentBesideFolds(t *testing.T) {
	s := newSubject(t)
	const rows = 3000 // as three transactions take
	round := 0
	write := func() {
		round++
		s.must(s.Do(true, func(tx *engine.Tx) error {
			for i := range rows {
				tx.Put(one, fmt.Appendf(nil, "%06d", i), fmt.Append(nil, round))
			}
			return nil
		}))
	}
	write()
	over := make(chan struct{})
	var folds sync.WaitGroup
	folds.Go(func() { s.foldUntil(over) })
	copied := make(chan error, 1)
	for i := range proof.Count(10, 100) {
		path := filepath.Join(proof.Memory(t), fmt.Sprintf("%d.db", i))
		go func() { copied <- copyTo(s.DB, path) }()
		for more := true; more; {
			write()
			select {
			case err := <-copied:
				s.must(err)
				more = false
			default:
			}
		}
		values := map[string]int{}
		s.must(engine.Read(path, s.config.Schema, func(v *engine.View) error {
			return v.Scan(one, nil, nil, func(_, value []byte) (bool, error) { values[string(value)]++; return true, nil })
		}))
		if len(values) != 1 {
			t.Fatalf("a copy has rows of several moments: %v", values)
		}
	}
	close(over)
	folds.Wait()
}

func copyTo(db *engine.DB, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = db.CopyTo(f, func(*engine.View) error { return nil })
	return errors.Join(err, f.Close())
}

// TestACleanStopLeavesTheFileAlone: no log, and what was written is in the file.
func TestACleanStopLeavesTheFileAlone(t *testing.T) {
	s := newSubject(t)
	s.write(map[string]string{"k01": "kept"})
	log := filepath.Join(filepath.Dir(s.config.Path), "log")
	if _, err := os.Stat(log); err != nil {
		t.Errorf("an open engine has no log: %v", err)
	}
	s.must(s.Close())
	if _, err := os.Stat(log); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a stop the log's folder: %v", err)
	}
	s.open()
	s.holds()
}

// TestALogThatIsMissingIsNoticed, and so is one that is damaged. Nothing in the folder changes.
func TestALogThatIsMissingIsNoticed(t *testing.T) {
	s := newSubject(t)
	for i := range 3 {
		s.write(map[string]string{fmt.Sprintf("k%02d", i): "kept"})
	}
	for what, log := range map[string]struct {
		change  func(log string) error
		certain int // the last sequence that is
	}{
		"its log is missing": {os.RemoveAll, 1},
		"its log is damaged: segment 00000001.seg at byte ": {func(log string) error {
			path := filepath.Join(log, "00000001.seg")
			b, err := os.ReadFile(path)
			b[600] ^= 1
			return errors.Join(err, os.WriteFile(path, b, 0o600))
		}, 2},
	} {
		dir := s.image()
		s.must(log.change(filepath.Join(dir, "log")))
		before, err := os.ReadFile(filepath.Join(dir, "a.db"))
		s.must(err)
		c := s.config
		c.Path = filepath.Join(dir, "a.db")
		_, err = engine.Open(c)
		var bad *engine.BadFile
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "is kept for certain") {
			t.Errorf("%s: %v", what, err)
		}
		c.ReadOnly, c.Certain = true, true
		certain, err := engine.Open(c)
		s.must(err)
		if want := fmt.Sprintf("what was written after sequence %d may be missing", log.certain); !strings.HasPrefix(certain.Lost(), want) {
			t.Errorf("%s: what is certain is read, and %q, want %q", what, certain.Lost(), want)
		}
		certain.Start(engine.Hooks{})
		s.must(certain.Close())
		if after, err := os.ReadFile(c.Path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: the file has changed, %v", what, err)
		}
	}
}

// TestAnotherFilesLogIsNotRead: a finished copy in the place of a file that was not stopped begins a log of its own, and that of the other is kept.
func TestAnotherFilesLogIsNotRead(t *testing.T) {
	s := newSubject(t)
	s.write(map[string]string{"k01": "early"})
	dir := proof.Memory(t)
	f, err := os.Create(filepath.Join(dir, "copy.db"))
	s.must(err)
	_, err = s.CopyTo(f, func(*engine.View) error { return nil })
	s.must(errors.Join(err, f.Close()))
	copied := maps.Clone(s.rows)
	s.write(map[string]string{"k02": "late"})
	at := s.image()
	s.must(os.Rename(filepath.Join(dir, "copy.db"), filepath.Join(at, "a.db")))
	s.config.Path, s.rows = filepath.Join(at, "a.db"), copied
	old := s.DB
	s.open()
	s.must(old.Close())
	s.holds()
	aside, err := filepath.Glob(filepath.Join(at, "a-*.log", "*.seg"))
	if err != nil || len(aside) != 1 {
		t.Errorf("%q is set aside, %v, want the other's log", aside, err)
	}
}

// TestAReadOnlyFolderIsReplayed into memory, and a copy of it has both.
func TestAReadOnlyFolderIsReplayed(t *testing.T) {
	s := newSubject(t)
	s.write(map[string]string{"k01": "folded"})
	s.must(s.Fold())
	s.write(map[string]string{"k03": "gathered", "k04": "gathered"})
	s.must(s.FoldGathering())
	s.write(map[string]string{"k01": "", "k02": "not folded", "k04": "changed since"})
	c := s.config
	c.Path, c.ReadOnly = filepath.Join(s.image(), "a.db"), true
	s.must(s.Close())
	s.config = c
	s.open()
	s.holds()
	path := filepath.Join(proof.Memory(t), "copy.db")
	f, err := os.Create(path)
	s.must(err)
	_, err = s.CopyTo(f, func(*engine.View) error { return nil })
	s.must(errors.Join(err, f.Close(), s.Close()))
	s.config.Path, s.config.ReadOnly = path, false
	s.open()
	s.holds()
}

// TestAStoreThatHasStoppedIsCopied with all that was answered: what stopped it does not keep a backup from being made.
func TestAStoreThatHasStoppedIsCopied(t *testing.T) {
	s := newSubject(t)
	s.write(map[string]string{"k01": "folded"})
	s.must(s.Fold())
	s.write(map[string]string{"k04": "gathered", "k05": "gathered"})
	s.must(s.FoldGathering())
	s.write(map[string]string{"k02": "not folded", "k04": "changed since", "k05": ""})
	s.stopsAndIsCopied()
}

// TestGatheredRowsAreCopied also where nothing else lies above the file: a copy has them in their buckets.
func TestGatheredRowsAreCopied(t *testing.T) {
	s := newSubject(t)
	s.write(map[string]string{"k04": "gathered", "k05": "gathered"})
	s.must(s.FoldGathering())
	s.stopsAndIsCopied()
	if n := s.Gathered(); n != 0 {
		t.Errorf("%d rows are gathered in the copy", n)
	}
}

// stopsAndIsCopied goes on with a copy of an engine that was stopped.
func (s *subject) stopsAndIsCopied() {
	s.Helper()
	away := s.config.Path + ".away"
	s.must(os.Rename(s.config.Path, away))
	if err := s.Do(false, func(tx *engine.Tx) error { tx.Put(one, []byte("k03"), nil); return nil }); !errors.Is(err, engine.ErrStopped) {
		s.Errorf("a write into a file that was moved: %v", err)
	}
	path := filepath.Join(proof.Memory(s), "copy.db")
	f, err := os.Create(path)
	s.must(err)
	_, err = s.CopyTo(f, func(*engine.View) error { return nil })
	s.must(errors.Join(err, f.Close()))
	s.config.Path = path
	old := s.DB
	s.open()
	_ = old.Close() // it has stopped
	s.holds()
}

// TestARewritingErasesTheLog: what was deleted before is neither in the file nor in a segment.
func TestARewritingErasesTheLog(t *testing.T) {
	s := newSubject(t)
	secret := strings.Repeat("a secret of somebody ", 20)
	for i := range 400 {
		s.write(map[string]string{fmt.Sprintf("k%02d", i%40): secret + fmt.Sprint(i)})
	}
	for i := range 40 {
		s.write(map[string]string{fmt.Sprintf("k%02d", i): ""})
	}
	s.must(s.Rewrite(t.Context(), func(*engine.Tx) {}))
	s.write(map[string]string{"k01": "after"})
	s.holds()
	s.must(filepath.WalkDir(filepath.Dir(s.config.Path), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("a secret")) {
			t.Errorf("%s still has what was deleted", path)
		}
		return err
	}))
}

// TestSettleFoldsWhatAKillHasLeft: the file alone is whole afterwards.
func TestSettleFoldsWhatAKillHasLeft(t *testing.T) {
	s := newSubject(t)
	s.write(map[string]string{"k01": "kept"})
	path := filepath.Join(s.image(), "a.db")
	s.must(engine.Settle(path, s.config.Schema))
	s.must(os.RemoveAll(filepath.Join(filepath.Dir(path), "log")))
	s.must(s.Close())
	s.config.Path = path
	s.open()
	s.holds()
}

// TestAFolderThatFollowsIsEqual: a second engine is written from the records of the first, beside its folds, and holds the same rows in the end.
func TestAFolderThatFollowsIsEqual(t *testing.T) {
	s, second := newSubject(t), newSubject(t)
	s.write(map[string]string{"first": "begins the log"})
	const operations = 200
	last := 1
	followed, copied := make(chan error, 1), make(chan struct{})
	go func() {
		followed <- s.Follow(t.Context(), 1, func(sequence int, changes []engine.Change) error {
			if sequence != last+1 {
				return fmt.Errorf("sequence %d comes after %d", sequence, last)
			}
			last = sequence
			err := second.Do(false, func(tx *engine.Tx) error {
				for _, c := range changes {
					if c.Value == nil {
						tx.Delete(c.Bucket, c.Key)
					} else {
						tx.Put(c.Bucket, c.Key, c.Value)
					}
				}
				return nil
			})
			if err == nil && sequence == operations+2 {
				err = errEnough
			}
			copied <- struct{}{}
			return err
		})
		close(copied)
	}()
	<-copied
	for i := range operations {
		s.write(map[string]string{fmt.Sprintf("k%02d", i%40): strings.Repeat("v", i*100), fmt.Sprintf("k%02d", i*7%40): ""})
		if i%20 == 0 {
			s.must(s.Fold())
		}
		<-copied
	}
	if err := <-followed; err != errEnough {
		t.Fatal(err)
	}
	second.rows = s.rows
	second.holds()
	s.holds()
}

var errEnough = errors.New("enough")

// TestAFollowerThatIsTooSlowIsTold: a rewriting erases the records that it would have read next.
func TestAFollowerThatIsTooSlowIsTold(t *testing.T) {
	s := newSubject(t)
	for i := range 3 {
		s.write(map[string]string{fmt.Sprintf("k%02d", i): "kept"})
	}
	err := s.Follow(t.Context(), 2, func(sequence int, _ []engine.Change) error {
		if sequence != 3 {
			t.Errorf("the follower is given sequence %d after 2", sequence)
		}
		return s.Rewrite(t.Context(), func(*engine.Tx) {})
	})
	if !errors.Is(err, wal.ErrGone) {
		t.Errorf("a record that a rewriting has erased: %v", err)
	}
}
