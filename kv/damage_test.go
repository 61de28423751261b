package kv_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/bbolt"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/engine"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

func TestAFileThatWasCutShortIsSaidToBeDamaged(t *testing.T) {
	dir := t.TempDir()
	s, err := kv.Open(kv.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		kvtest.Create(t, s, record.Church, fmt.Sprintf(`{"name":"Church %d"}`, i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(table.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{100_000, 40_000, 16_384, 8_192, 100, 0} {
		cut := t.TempDir()
		if err := os.WriteFile(table.Path(cut), whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := kv.Open(kv.Config{Dir: cut})
		if err == nil {
			t.Errorf("Open of the first %d bytes of %d succeeds", size, len(whole))
			_ = s.Close() // it should not have opened
			continue
		}
		if size > 8_192 && !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("Open of the first %d bytes = %v, want ErrCorrupt", size, err)
		}
	}
}

// TestADamagedHeadIsNoEarlierStore flips a bit of each byte of the two heads. bbolt would go on from the other one without a word, a
// commit earlier where it was the newer one: what was acknowledged would be gone.
func TestADamagedHeadIsNoEarlierStore(t *testing.T) {
	c := kv.Config{Dir: folder(t), Aside: true}
	s := reopenable(t, c)
	id := kvtest.Create(t, s, record.Church, `{"name":"Acknowledged"}`)
	closed(t, s)
	file, err := os.OpenFile(table.Path(c.Dir), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	flip := func(at int64, bit int) {
		b := make([]byte, 1)
		_, err := file.ReadAt(b, at)
		b[0] ^= 1 << bit
		if _, failed := file.WriteAt(b, at); errors.Join(err, failed) != nil {
			t.Fatal(err, failed)
		}
	}
	const head, page = 64, 8192
	for i := range 2 * head {
		at, bit := int64(i/head*page+16+i%head), i%8
		flip(at, bit)
		s, err := kv.Open(c)
		if bad := (*engine.BadFile)(nil); err == nil {
			_, err = s.Desk.Retrieve(auth.Operator(), target(record.Church, id))
			t.Errorf("with bit %d of byte %d flipped the store opens, and Retrieve = %v", bit, at, err)
			closed(t, s)
		} else if !errors.As(err, &bad) || bad.Path != table.Path(c.Dir) {
			t.Errorf("Open with bit %d of byte %d flipped = %v, want a BadFile", bit, at, err)
		}
		flip(at, bit)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	closed(t, reopenable(t, c))
}

// TestADoorIsToldOfDamageNotThatThereIsNothing damages the keys of the rows that a door looks for: none of them is there any more,
// and a code is unknown as little as its ticket was never used.
func TestADoorIsToldOfDamageNotThatThereIsNothing(t *testing.T) {
	for _, bucket := range []string{"code", "admission"} {
		for _, bit := range []byte{0x01, 0x80} {
			registry := prometheus.NewRegistry()
			c := kv.Config{Dir: folder(t), Registerer: registry}
			s := reopenable(t, c)
			event := newEvent(t, s, "")
			newTicket(t, s, event, "USED", "")
			scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "USED"}, outcome.Admitted)
			closed(t, s)
			misplaced(t, c.Dir, bucket, bit)
			s = kvtest.OpenConfig(t, c)
			d, err := s.Door.CheckIn(auth.Operator(), door.Attempt{Event: event, Code: "USED"})
			if !errors.Is(err, engine.ErrCorrupt) {
				t.Errorf("check-in with keys of bucket %s damaged = %v, %v, want ErrCorrupt", bucket, d.Outcome, err)
			}
			if n := kvtest.Metric(t, registry, "doorward_store_corrupt_reads_total"); n == 0 {
				t.Errorf("damaged keys of bucket %s are not counted", bucket)
			}
			closed(t, s)
		}
	}
}

// TestALogEndsNotBeforeADamagedKey damages the key of the last row of a database's log, so that it seems to be another's: what was last
// before is not the end.
func TestALogEndsNotBeforeADamagedKey(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	newTicket(t, s, newEvent(t, s, ""), "FIRST", "")
	closed(t, s)
	keys := keysOf(t, dir, "scope_log")
	last := keys[len(keys)-1]
	bad := bytes.Clone(last)
	bad[1] ^= 0x40 // of the scope's id
	rewrite(t, dir, func(file []byte) []byte { return bytes.ReplaceAll(file, last, bad) })
	s = kvtest.OpenConfig(t, kv.Config{Dir: dir})
	db, err := s.Docs.Database(auth.Operator(), scopes.Scope{Sort: scopes.Sort(last[0]), ID: int64(last[1])}.String())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := db.Info(); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("Info = %+v, %v, want ErrCorrupt", info, err)
	}
}

// misplaced flips a bit in the middle of each of a bucket's keys, wherever the file has them.
func misplaced(t *testing.T, dir, bucket string, bit byte) {
	t.Helper()
	keys := keysOf(t, dir, bucket)
	rewrite(t, dir, func(file []byte) []byte {
		for _, key := range keys {
			bad := bytes.Clone(key)
			bad[len(bad)/3] ^= bit
			file = bytes.ReplaceAll(file, key, bad)
		}
		return file
	})
}

// keysOf are a bucket's keys in the file of a folder.
func keysOf(t *testing.T, dir, bucket string) (keys [][]byte) {
	t.Helper()
	db, err := bbolt.Open(table.Path(dir), 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucket)).ForEach(func(key, _ []byte) error {
			keys = append(keys, bytes.Clone(key))
			return nil
		})
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return keys
}

// rewrite changes bytes of a folder's file.
func rewrite(t *testing.T, dir string, change func([]byte) []byte) {
	t.Helper()
	file, err := os.ReadFile(table.Path(dir))
	if err == nil {
		err = os.WriteFile(table.Path(dir), change(file), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestADamagedNameIsNoBucketToMakeAnew damages a bucket's name: to make an empty one in its place would be to lose what is in it.
func TestADamagedNameIsNoBucketToMakeAnew(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	kvtest.Create(t, s, record.Person, `{"full_name":"Ana"}`)
	closed(t, s)
	file, err := os.ReadFile(table.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	file = bytes.ReplaceAll(file, []byte("kind:person"), []byte("kind:persoo")) // in the same place among the others
	if err := os.WriteFile(table.Path(dir), file, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := kv.Open(kv.Config{Dir: dir}); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("Open = %v, want ErrCorrupt", err)
		if err == nil {
			closed(t, s)
		}
	}
}
