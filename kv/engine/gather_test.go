package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gatheredRows is a file of which a few rows are gathered.
func gatheredRows(t *testing.T) *DB {
	t.Helper()
	db := startedAt(t, Config{Path: filepath.Join(t.TempDir(), "a.db"), Schema: &Schema{1: {Name: "one", Scattered: true}, 2: {Name: "two"}}})
	t.Cleanup(func() { _ = db.Close() })
	for i := range uint32(100) {
		err := db.Do(false, func(tx *Tx) error {
			tx.Put(1, binary.BigEndian.AppendUint32(nil, i*0x9e3779b9), []byte("scattered"))
			tx.Put(2, binary.BigEndian.AppendUint32(nil, i), []byte("in order"))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.FoldGathering(); err != nil {
		t.Fatal(err)
	}
	if n := db.Gathered(); n != 100 {
		t.Fatalf("%d rows are gathered, want the 100 of the scattered bucket", n)
	}
	return db
}

// areSpread waits until no rows are gathered.
func areSpread(t *testing.T, db *DB) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); db.Gathered() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("they are not spread")
		}
	}
}

// TestGatheredRowsAreSpreadInTime: a store that rests does not keep them in memory.
func TestGatheredRowsAreSpreadInTime(t *testing.T) {
	db := gatheredRows(t)
	db.change.Lock()
	db.folding.since = time.Now().Add(-foldLatest)
	db.change.Unlock()
	db.folding.ring()
	areSpread(t, db)
}

// TestGatheredRowsOfAKilledProcessAreRead, and a file in which they are damaged, or their bucket's name, is refused: without them a ticket would not be
// known.
func TestGatheredRowsOfAKilledProcessAreRead(t *testing.T) {
	db := gatheredRows(t)
	b, err := os.ReadFile(db.path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("scattered"))
	if at < 0 {
		t.Fatal("the file has no gathered row")
	}
	damaged := bytes.Clone(b)
	damaged[at] ^= 1
	for name, file := range map[string][]byte{"sound": b, "damaged": damaged, "no name": bytes.ReplaceAll(b, gatheredBucket, []byte("gatherex"))} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.db")
		if err := errors.Join(os.CopyFS(dir, os.DirFS(filepath.Dir(db.path))), os.WriteFile(path, file, 0o600)); err != nil {
			t.Fatal(err)
		}
		read, met := 0, 0
		err := Read(path, db.schema, func(v *View) error { read = v.Count(1); return nil })
		reason, failed := Walk(path, db.schema, func(uint64, string) {}, func(b Bucket, _ Row) {
			if b == 1 {
				met++
			}
		})
		if name == "sound" && (err != nil || read != 100 || reason != "" || met != 100) {
			t.Errorf("sound: %d rows are read and %d met, want 100 each (%v, %q, %v)", read, met, err, reason, failed)
		}
		if name == "damaged" && (!errors.Is(err, ErrCorrupt) || reason == "") {
			t.Errorf("damaged: it is read with %v, and a walk says %q", err, reason)
		}
		if name == "sound" {
			continue
		}
		if opened, err := Open(Config{Path: path, Schema: db.schema}); err == nil {
			t.Errorf("%s: it is opened", name)
			_ = opened.Close()
		}
	}
}

// TestNothingIsGatheredWhileTheFileIsRewritten: the next file gets the rows of buckets alone.
func TestNothingIsGatheredWhileTheFileIsRewritten(t *testing.T) {
	db := gatheredRows(t)
	err := db.Rewrite(t.Context(), func(*Tx) {
		err := db.Do(false, func(tx *Tx) error { tx.Put(1, []byte("beside"), nil); return nil })
		if err = errors.Join(err, db.FoldGathering()); err != nil {
			t.Error(err)
		}
		if n := db.Gathered(); n != 0 {
			t.Errorf("%d rows are gathered", n)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(v *View) error {
		if n := v.Count(1); n != 101 {
			t.Errorf("the next file has %d rows, want 101", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestATableBeingFoldedCoversGatheredRows: it has the later values.
func TestATableBeingFoldedCoversGatheredRows(t *testing.T) {
	db := gatheredRows(t)
	key := binary.BigEndian.AppendUint32(nil, 0)
	if err := db.Do(false, func(tx *Tx) error { tx.Put(1, key, []byte("later")); return nil }); err != nil {
		t.Fatal(err)
	}
	db.folding.freeze()
	err := db.View(func(v *View) error {
		value, err := v.Get(1, key)
		if string(value) != "later" {
			t.Errorf("a reader sees %q, want the later value", value)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestASpreadHoldsFewPagesAtOnce: without doors too it is several transactions, because bbolt holds each page until it has written it.
func TestASpreadHoldsFewPagesAtOnce(t *testing.T) {
	db := gatheredRows(t)
	err := db.Do(false, func(tx *Tx) error {
		for i := range uint32(spreadRows) {
			tx.Put(1, binary.BigEndian.AppendUint32([]byte("more"), i), nil)
		}
		return nil
	})
	if err = errors.Join(err, db.FoldGathering()); err != nil {
		t.Fatal(err)
	}
	before := db.state.Load().tx
	if err := db.Spread(); err != nil {
		t.Fatal(err)
	}
	if n := db.state.Load().tx - before; n != 2 {
		t.Errorf("%d rows were spread in %d transactions, want 2", spreadRows+100, n)
	}
}

// TestRowsThatAKilledProcessHasGatheredAreSpread, though nothing is written.
func TestRowsThatAKilledProcessHasGatheredAreSpread(t *testing.T) {
	killed := gatheredRows(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(killed.path))); err != nil {
		t.Fatal(err)
	}
	db, err := Open(Config{Path: filepath.Join(dir, "a.db"), Schema: killed.schema})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if n := db.Gathered(); n != 100 {
		t.Fatalf("%d rows are gathered, want 100", n)
	}
	db.folding.since = time.Now().Add(-foldLatest)
	db.Start(Hooks{})
	areSpread(t, db)
}

// TestACheckReadsGatheredRows as the disk has them.
func TestACheckReadsGatheredRows(t *testing.T) {
	db := gatheredRows(t)
	if err := db.CheckLog(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(db.path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(db.path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for at := bytes.Index(b, []byte("scattered")); at >= 0; at = bytes.Index(b, []byte("scattered")) {
		b[at] ^= 1
		if _, err := f.WriteAt(b[at:at+1], int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(f.Close(), db.CheckLog()); !errors.Is(err, ErrCorrupt) {
		t.Errorf("the error is %v, want %v", err, ErrCorrupt)
	}
}

// TestASpreadIsMeasured: its time and its rows are told, and those of a fold are not.
func TestASpreadIsMeasured(t *testing.T) {
	db, reg := gatheredRows(t), prometheus.NewRegistry()
	reg.MustRegister(db.metrics.collectors...)
	for _, want := range []float64{0, 1} {
		all, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		told := map[string]float64{}
		for _, family := range all {
			m := family.GetMetric()[0]
			told[family.GetName()] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
		if n, rows := told["doorward_store_spread_seconds"], told["doorward_store_spread_rows_total"]; n != want || rows != 100*want {
			t.Errorf("%v spreads of %v rows are told, want %v of %v", n, rows, want, 100*want)
		}
		if err := db.Spread(); err != nil {
			t.Fatal(err)
		}
	}
}
