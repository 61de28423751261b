package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"doorward/kv/crash"
	"doorward/kv/disk"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockPatience is how long opening waits for another process to let go of the file.
const lockPatience = 2 * time.Second

// Options are how a file of some size is opened to be written.
func Options(size int64) *bbolt.Options {
	return &bbolt.Options{
		Timeout: lockPatience, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, PageSize: pageSize,
		InitialMmapSize: int(max(1<<30, 2*size)),
	}
}

// access is how a file of some size is opened, to be written or only to be read.
func access(readOnly bool, size int64) (flag int, o *bbolt.Options) {
	if !readOnly {
		return os.O_RDWR, Options(size)
	}
	return os.O_RDONLY, &bbolt.Options{ReadOnly: true, Timeout: lockPatience, PageSize: pageSize}
}

// file is the file as it lies open. Rewrite puts another in its place, and its own transactions begin at 1 again: versions go on.
type file struct {
	*bbolt.DB
	base   int // what is added to bbolt's number of a transaction
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

// version is a transaction's: each commit's is larger than all before it.
func (f *file) version(tx *bbolt.Tx) int { return f.base + tx.ID() }

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
	first := alone(tx, c.Schema)
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
	return nil
}

// prepare looks at a file, and adds the buckets that it lacks: a version that does not know a kind has made it.
func prepare(db *bbolt.DB, c Config) error {
	missing, unknown := false, false
	err := db.View(func(tx *bbolt.Tx) error {
		for _, d := range c.Schema {
			missing = missing || d.Name != "" && tx.Bucket([]byte(d.Name)) == nil
		}
		err := tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
			_, known := c.Schema.named(name)
			unknown = unknown || !known
			return nil
		})
		if err != nil || c.Accept == nil {
			return err
		}
		return named(c.Path, c.Accept(&View{tx: tx, schema: c.Schema, cache: &cache{}}))
	})
	switch {
	case err != nil || !missing:
		return err
	case unknown: // a bucket's name is damaged: to make the bucket again would hide what is in it
		return fmt.Errorf("%w: a bucket is missing, and another is there that is not known", ErrCorrupt)
	case c.ReadOnly:
		return fmt.Errorf("%w, and an older version has written the store: copy the folder to a disk that can be written", ErrReadOnly)
	}
	return db.Update(c.Schema.create)
}

// Read calls fn with what a file holds that no process has open: disk.ErrInUse, *BadFile. A file that is broken all the same is ErrCorrupt.
func Read(path string, s *Schema, fn func(*View) error) (err error) {
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
	return named(path, db.View(func(tx *bbolt.Tx) error { return fn(&View{tx: tx, schema: s, cache: &cache{}}) }))
}

// Edit runs an operation on a file that no process has open, durably.
func Edit(path string, s *Schema, fn func(*Tx) error) error {
	db, err := bbolt.Open(path, 0o600, Options(disk.Size(path)))
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		t := alone(tx, s)
		if err := fn(t); err != nil {
			return err
		}
		return t.flush()
	})
	return errors.Join(err, db.Close())
}
