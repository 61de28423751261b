package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"doorward/kv/crash"
	"doorward/kv/disk"
	"doorward/kv/engine/wal"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockPatience is how long opening waits for another process to let go of the file.
const lockPatience = 2 * time.Second

// Options are how a file of some size is opened to be written.
func Options(size int64) *bbolt.Options {
	return &bbolt.Options{
		Timeout: lockPatience, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, PageSize: pageSize,
		InitialMmapSize: mapped(size),
	}
}

// mapped is how much of the address space a file of some size takes: while it grows beyond that, neither reads nor folds go on. Where
// addresses are many that never happens. Windows makes the file as large as what is mapped.
func mapped(size int64) int {
	if math.MaxInt == math.MaxInt32 || runtime.GOOS == "windows" {
		return int(min(max(1<<30, 2*size), math.MaxInt32))
	}
	return int(max(plenty, 4*size))
}

// plenty is what is mapped where there are 64 bits for an address.
const plenty int64 = 64 << 30

// access is how a file of some size is opened, to be written or only to be read.
func access(readOnly bool, size int64) (flag int, o *bbolt.Options) {
	if !readOnly {
		return os.O_RDWR, Options(size)
	}
	return os.O_RDONLY, &bbolt.Options{ReadOnly: true, Timeout: lockPatience, PageSize: pageSize}
}

// file is the file as it lies open.
type file struct {
	*bbolt.DB
	itself os.FileInfo
}

// stands returns an error where the file that was opened lies at its path no more: it was moved, removed or replaced, and the next to open
// the path will not find what is written to it.
func (f *file) stands(path string) error {
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, f.itself) {
		return fmt.Errorf("%s is not the file that was opened: it was moved, removed or replaced", path)
	}
	return nil // what cannot be looked at just now shows itself when it is written to
}

// openFile opens the file, and makes it if it is not there and can be.
func openFile(c Config) (*file, error) {
	info, err := os.Stat(c.Path)
	if errors.Is(err, fs.ErrNotExist) && !c.ReadOnly {
		if err := create(c); err != nil {
			return nil, fmt.Errorf("create: %w", err)
		}
		info, err = os.Stat(c.Path)
	}
	if err != nil {
		return nil, err
	}
	if link, err := os.Lstat(c.Path); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a link to a file: make the whole folder a link instead, for a store keeps and replaces more than that file", c.Path)
	}
	if info.Mode().Perm()&0o077 != 0 && info.Mode().IsRegular() && !c.ReadOnly {
		_ = os.Chmod(c.Path, 0o600) // where it cannot be, the folder keeps others out
	}
	flag, o := access(c.ReadOnly, info.Size())
	if err := guard(c.Path, flag); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(c.Path, 0o600, o)
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, disk.ErrInUse
	}
	if err != nil {
		return nil, err
	}
	if now, err := os.Stat(c.Path); err != nil || !os.SameFile(info, now) {
		return nil, errors.Join(disk.ErrInUse, err, db.Close()) // another file was put in its place
	}
	return &file{DB: db, itself: info}, nil
}

// create makes an empty file under a temporary name and links it into place, so that no crash leaves half of one and of two processes that
// try one wins.
func create(c Config) error {
	dir := filepath.Dir(c.Path)
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, disk.OwnPrefix+"new-*.db")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // linked already, or of no use
	if err := tmp.Close(); err != nil {
		return err
	}
	db, err := bbolt.Open(tmp.Name(), 0o600, Options(0))
	if err != nil {
		return err
	}
	if err := errors.Join(db.Update(c.fill), db.Sync(), db.Close()); err != nil {
		return err
	}
	crash.At(crash.BeforeCreate)
	err = os.Link(tmp.Name(), c.Path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(tmp.Name(), c.Path) // a file system without hard links
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	crash.At(crash.AfterCreate)
	return disk.SyncDir(dir)
}

func (c Config) fill(tx *bbolt.Tx) error {
	if err := c.Schema.create(tx); err != nil {
		return err
	}
	first := operation(tx, c.Schema)
	if c.Fill != nil {
		c.Fill(first)
	}
	return first.flush()
}

// create makes the buckets that are not there.
func (s *Schema) create(tx *bbolt.Tx) error {
	for _, d := range s {
		if d.Name == "" {
			continue
		}
		if _, err := tx.CreateBucketIfNotExists([]byte(d.Name)); err != nil {
			return err
		}
	}
	if tx.Bucket(ownBucket) != nil {
		return nil
	}
	_, err := tx.CreateBucket(ownBucket)
	return errors.Join(err, firstMark.put(tx))
}

// prepare reads what lies in a file's log, and has the file looked at before anything is changed. Then it adds the buckets that the file lacks: a
// version that does not know a kind has made it.
func (db *DB) prepare(f *file, c Config) error {
	tx, err := f.Begin(false)
	if err != nil {
		return err
	}
	missing, unknown := db.schema.missing(tx)
	var tail wal.Tail
	if db.folded, err = readMark(tx); err == nil {
		tail, err = db.begin(f, tx)
	}
	if err == nil && c.Accept != nil {
		err = named(c.Path, c.Accept(db.view(tx, db.state.Load(), &cache{})))
	}
	if err == nil && missing && unknown { // a bucket's name is damaged: to make the bucket again would hide what is in it
		err = fmt.Errorf("%w: a bucket is missing, and another is there that is not known", ErrCorrupt)
	}
	if err = errors.Join(err, tx.Rollback()); err != nil || c.ReadOnly {
		if err == nil && missing {
			err = fmt.Errorf("%w, and an older version has written the store: copy the folder to a disk that can be written", ErrReadOnly)
		}
		return err
	}
	if missing {
		var number int
		err := f.Update(func(tx *bbolt.Tx) error { number = tx.ID(); return c.Schema.create(tx) })
		if err != nil {
			return err
		}
		s := *db.state.Load()
		s.tx = number
		db.set(&s)
	}
	if db.unlogged {
		return nil
	}
	return db.takeUp(db.folded, tail)
}

// begin makes the first state: the file, and above it what its log has.
func (db *DB) begin(f *file, tx *bbolt.Tx) (wal.Tail, error) {
	t, tail, err := replay(db.path, db.folded)
	if err != nil {
		return tail, err
	}
	db.set(&state{file: f, tx: tx.ID(), tables: []*table{t}, sequence: int(tail.Sequence)})
	db.folding.since = time.Now()
	return tail, nil
}

// missing tells whether a file lacks buckets of the schema, and whether it has others.
func (s *Schema) missing(tx *bbolt.Tx) (missing, unknown bool) {
	missing = tx.Bucket(ownBucket) == nil
	for _, d := range s {
		missing = missing || d.Name != "" && tx.Bucket([]byte(d.Name)) == nil
	}
	_ = tx.ForEach(func(name []byte, _ *bbolt.Bucket) error { // it returns what the function does
		_, known := s.named(name)
		unknown = unknown || !known && string(name) != string(ownBucket)
		return nil
	})
	return missing, unknown
}

// Read calls fn with what a file and its log hold that no process has open: disk.ErrInUse, *BadFile. A file that is broken all the same is
// ErrCorrupt.
func Read(path string, s *Schema, fn func(*View) error) (err error) {
	return readFile(path, func(tx *bbolt.Tx) error {
		m, err := readMark(tx)
		if err != nil {
			return err
		}
		t, _, err := replay(path, m)
		if err != nil {
			return err
		}
		return fn(&View{tx: tx, schema: s, cache: &cache{}, tables: []*table{t}})
	})
}

// readFile calls fn with a transaction of a file that no process has open.
func readFile(path string, fn func(*bbolt.Tx) error) (err error) {
	if err := guard(path, os.O_RDWR); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // closed already, unless the file made bbolt panic
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if found := recover(); found != nil {
			err = fmt.Errorf("%w: the structure of %s is broken: %v", ErrCorrupt, path, found)
		}
	}()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{
		ReadOnly: true, Timeout: time.Millisecond,
		OpenFile: func(string, int, os.FileMode) (*os.File, error) { return f, nil },
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return disk.ErrInUse
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return named(path, db.View(fn))
}

// Edit runs an operation on a file that no process has open and that stands alone, durably.
func Edit(path string, s *Schema, fn func(*Tx) error) error {
	db, err := bbolt.Open(path, 0o600, Options(disk.Size(path)))
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		t := operation(tx, s)
		if err := fn(t); err != nil {
			return err
		}
		return t.flush()
	})
	return errors.Join(err, db.Close())
}
