package kv_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/bbolt"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/door"
	"doorward/kv/engine"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

func TestNewStoreIsItsOwnersAlone(t *testing.T) {
	dir := folder(t)
	s := reopenable(t, kv.Config{Dir: dir})
	realm, node := s.Tables.Identity.Realm(), s.Tables.Identity.Node()
	closed(t, s)
	for path, want := range map[string]os.FileMode{dir: 0o700, table.Path(dir): 0o600, filepath.Join(dir, "doorward.mark"): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %s = %v, %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 2 {
		t.Errorf("a new store's folder holds %v, want the file and its mark", names)
	}
	s = kvtest.OpenConfig(t, kv.Config{Dir: dir})
	if s.Tables.Identity.Realm() != realm || s.Tables.Identity.Node() != node || len(realm) != 26 || realm == node {
		t.Errorf("realm and node are %s and %s after a restart, were %s and %s", s.Tables.Identity.Realm(), s.Tables.Identity.Node(), realm, node)
	}
}

// A crash while a store is made leaves a temporary file and no store; the next start makes one.
func TestHalfMadeStoreIsNone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".doorward-new-1.db"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	healthy(t, kvtest.OpenConfig(t, kv.Config{Dir: dir}))
}

func TestSecondOpenIsRefused(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	kvtest.OpenConfig(t, kv.Config{Dir: dir})
	if _, err := kv.Open(kv.Config{Dir: dir}); !errors.Is(err, disk.ErrInUse) {
		t.Errorf("second Open = %v, want ErrInUse", err)
	}
}

func TestFileOfAnotherProgramIsRefused(t *testing.T) {
	dir := t.TempDir()
	tampered(t, dir, func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte("theirs"))
		return err
	})
	if _, err := kv.Open(kv.Config{Dir: dir}); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("Open = %v, want ErrCorrupt", err)
	}
}

// tampered changes a closed store's file behind its back.
func tampered(t testing.TB, dir string, fn func(tx *bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(table.Path(dir), 0o600, &bbolt.Options{PageSize: 8 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		t.Fatalf("tamper: %v", err)
	}
}

// sealed is a value with the checksum that doc.go draws, which covers the bucket's number and the key.
func sealed(number byte, key, value []byte) []byte {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	for _, part := range [][]byte{{number}, key, value} {
		_, _ = sum.Write(part) // never fails
	}
	return binary.BigEndian.AppendUint32(bytes.Clone(value), sum.Sum32())
}

func putFormat(tx *bbolt.Tx, row ...byte) error {
	key := []byte("format")
	return tx.Bucket([]byte("meta")).Put(key, sealed(0, key, row))
}

// TestNewerFormatIsRefusedAndLeftAlone: so is a file that a version with a newer table has written to, which notes that as it opens the file.
func TestNewerFormatIsRefusedAndLeftAlone(t *testing.T) {
	tables := byte(record.Tables())
	for _, newer := range [][]byte{{kv.FormatNumber + 1, tables}, {kv.FormatNumber, tables + 1}} {
		dir := folder(t)
		closed(t, reopenable(t, kv.Config{Dir: dir}))
		tampered(t, dir, func(tx *bbolt.Tx) error { return putFormat(tx, newer...) })
		for range 2 {
			if _, err := kv.Open(kv.Config{Dir: dir}); !errors.Is(err, table.ErrNewerFormat) {
				t.Errorf("Open of format %d = %v, want ErrNewerFormat", newer, err)
			}
		}
	}
	for _, restored := range []bool{false, true} {
		dir := folder(t)
		closed(t, reopenable(t, kv.Config{Dir: dir}))
		tampered(t, dir, func(tx *bbolt.Tx) error { return putFormat(tx, kv.FormatNumber, tables-1) })
		closed(t, reopenable(t, kv.Config{Dir: dir, Restored: restored}))
		tampered(t, dir, func(tx *bbolt.Tx) error {
			if row := tx.Bucket([]byte("meta")).Get([]byte("format")); !bytes.HasPrefix(row, []byte{kv.FormatNumber, tables}) {
				t.Errorf("a file of earlier tables, restored %v, has format %v once it is open, want tables %d", restored, row, tables)
			}
			return nil
		})
	}
}

func TestAnOlderFormatIsRefusedAndLeftAlone(t *testing.T) {
	dir := folder(t)
	closed(t, reopenable(t, kv.Config{Dir: dir}))
	tampered(t, dir, func(tx *bbolt.Tx) error { return putFormat(tx, kv.OldestFormat-1) })
	if err := table.NoteBeside(dir, table.Backup{At: sunday, Path: filepath.Join(dir, "monday.db")}); err != nil {
		t.Fatal(err)
	}
	_, err := kv.Open(kv.Config{Dir: dir})
	if way := "doorward replicate " + dir + " all.ndjson.zst"; !errors.Is(err, table.ErrOlderFormat) || !strings.Contains(err.Error(), way) || strings.Contains(err.Error(), "backup") {
		t.Errorf("Open = %v, want ErrOlderFormat with the way %q, and no backup, which is of that format too", err, way)
	}
	tampered(t, dir, func(tx *bbolt.Tx) error { return putFormat(tx, kv.FormatNumber) })
	healthy(t, kvtest.OpenConfig(t, kv.Config{Dir: dir}))
}

// flipped turns one bit of a stored value; at counts from its end where negative.
func flipped(t testing.TB, dir, bucket string, key []byte, at int) {
	t.Helper()
	tampered(t, dir, func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		value := bytes.Clone(b.Get(key))
		if at < 0 {
			at += len(value)
		}
		value[at] ^= 4
		return b.Put(key, value)
	})
}

func key8(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// TestDamagedValuesAreReportedAndNeverServed flips a bit of a person's record: header, body or checksum.
func TestDamagedValuesAreReportedAndNeverServed(t *testing.T) {
	for _, at := range []int{0, 20, 60, 120, -1} {
		registry := prometheus.NewRegistry()
		c := kv.Config{Dir: folder(t), Registerer: registry}
		s := reopenable(t, c)
		for range 3 {
			kvtest.Create(t, s, record.Person, `{"full_name":"Ana Souza","email":"ana@example.org"}`)
		}
		closed(t, s)
		flipped(t, c.Dir, "kind:person", key8(2), at)
		s = kvtest.OpenConfig(t, c)
		if _, err := s.Desk.Retrieve(auth.Operator(), target(record.Person, 2)); !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("Retrieve of a record with byte %d turned = %v, want ErrCorrupt", at, err)
		}
		if n := kvtest.Metric(t, registry, "doorward_store_corrupt_reads_total"); n == 0 {
			t.Error("doorward_store_corrupt_reads_total = 0 after a damaged read")
		}
		if _, err := s.Desk.Update(auth.Operator(), target(record.Person, 2), kvtest.Parse(t, record.Person, `{"full_name":"Eva"}`, false)); !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("Update = %v, want ErrCorrupt", err)
		}
		for _, id := range []int64{1, 3} {
			if _, err := s.Desk.Retrieve(auth.Operator(), target(record.Person, id)); err != nil {
				t.Errorf("Retrieve of a neighbour: %v", err)
			}
		}
		r, err := s.Files.Verify(auth.Operator(), nil)
		if err != nil || r.Damaged == 0 || !strings.Contains(strings.Join(r.Damage, "\n"), "kind:person") {
			t.Errorf("Verify = %+v, %v, want damage in bucket kind:person", r, err)
		}
		if id := kvtest.Create(t, s, record.Person, `{"full_name":"Eva"}`); id != 4 {
			t.Errorf("the next person has id %d, want 4", id)
		}
	}
}

// TestWritesReportDamageToo: a check-in that meets a damaged ticket says so in the metric.
func TestWritesReportDamageToo(t *testing.T) {
	registry := prometheus.NewRegistry()
	c := kv.Config{Dir: folder(t), Registerer: registry}
	s := reopenable(t, c)
	event := newEvent(t, s, "")
	newTicket(t, s, event, "K1", "")
	newTicket(t, s, event, "K2", "")
	closed(t, s)
	flipped(t, c.Dir, "kind:ticket", key8(1), 60)
	s = kvtest.OpenConfig(t, c)
	before := kvtest.Metric(t, registry, "doorward_store_corrupt_reads_total")
	if _, err := s.Door.CheckIn(auth.Operator(), door.Attempt{Event: event, Code: "K1"}); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("check-in of a damaged ticket = %v, want ErrCorrupt", err)
	}
	if n := kvtest.Metric(t, registry, "doorward_store_corrupt_reads_total"); n != before+1 {
		t.Errorf("doorward_store_corrupt_reads_total = %v, want %v", n, before+1)
	}
	scanned(t, s, auth.Operator(), door.Attempt{Event: event, Code: "K2"}, outcome.Admitted)
}

// TestADamagedCheckInIsReported: a scan of the ticket of one that was undone, and an undo before one, are answered that the store is damaged.
func TestADamagedCheckInIsReported(t *testing.T) {
	c := kv.Config{Dir: folder(t)}
	s := reopenable(t, c)
	event := newEvent(t, s, "")
	newTicket(t, s, event, "K1", "")
	newTicket(t, s, event, "K2", "")
	k1, k2 := door.Attempt{Event: event, Code: "K1"}, door.Attempt{Event: event, Code: "K2"}
	undo := func(checkin string) error {
		_, err := s.Door.Undo(auth.Operator(), door.Undoing{Event: event, CheckinID: checkin})
		return err
	}
	undone, first := scanned(t, s, auth.Operator(), k1, outcome.Admitted), scanned(t, s, auth.Operator(), k2, outcome.Admitted)
	if err := undo(undone.CheckinID); err != nil {
		t.Fatal(err)
	}
	k2.LetIn = true
	double := scanned(t, s, auth.Operator(), k2, outcome.AlreadyAdmitted)
	closed(t, s)
	for _, checkin := range []string{undone.CheckinID, double.Double} {
		id, _ := record.Checkin.ParseID(checkin) // it is one
		flipped(t, c.Dir, "kind:checkin", record.Checkin.AppendID(nil, id), 60)
	}
	s = kvtest.OpenConfig(t, c)
	if d, err := s.Door.CheckIn(auth.Operator(), k1); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("a scan after the undone one = %+v, %v, want ErrCorrupt", d, err)
	}
	if err := undo(first.CheckinID); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("an undo before the other one = %v, want ErrCorrupt", err)
	}
}

// TestDamagedKeyLocksOutNobodyElse: the store starts, and the other keys log in.
func TestDamagedKeyLocksOutNobodyElse(t *testing.T) {
	for _, at := range []int{0, 40, -1} {
		c := kv.Config{Dir: folder(t)}
		s := reopenable(t, c)
		bad, badSecret := kvtest.Key(t, s, "denomination")
		good, goodSecret := kvtest.Key(t, s, "event:7")
		closed(t, s)
		flipped(t, c.Dir, "kind:api_key", key8(1), at)
		s = kvtest.OpenConfig(t, c)
		kvtest.Key(t, s, "event:8")
		if _, err := s.Keys.Login(good, goodSecret); err != nil {
			t.Errorf("Login with the other key: %v", err)
		}
		if _, err := s.Keys.Login(bad, badSecret); !errors.Is(err, table.ErrBadLogin) {
			t.Errorf("Login with a damaged key = %v, want ErrBadLogin", err)
		}
	}
}

// TestAFileThatOthersMayReadIsClosedToThem before anything is read, as one is that was copied there by hand.
func TestAFileThatOthersMayReadIsClosedToThem(t *testing.T) {
	dir := folder(t)
	closed(t, reopenable(t, kv.Config{Dir: dir}))
	if err := errors.Join(os.Chmod(table.Path(dir), 0o644), os.Truncate(table.Path(dir), 20_000)); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Open(kv.Config{Dir: dir}); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("Open of a file that was cut short = %v, want ErrCorrupt", err)
	}
	if info, err := os.Stat(table.Path(dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v, want 0600", info.Mode(), err)
	}
}
