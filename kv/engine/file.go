package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"doorward/kv/crash"
	"doorward/kv/disk"
	"doorward/kv/engine/pages"
	"doorward/kv/engine/wal"
)

// lockPatience is how long opening waits for another process to let go of the file.
const lockPatience = 2 * time.Second

// options are how a file that uses so many bytes is opened to be written.
func options(used int64) *bbolt.Options {
	return &bbolt.Options{
		Timeout: lockPatience, FreelistType: bbolt.FreelistMapType, PageSize: pages.Size,
		InitialMmapSize: mapped(used), OpenFile: disk.OpenFile,
	}
}

// mapped is how much of the address space a file that uses so many bytes takes: while it grows beyond that, neither reads nor folds go on. Where
// addresses are many that never happens. Windows makes the file as large as what is mapped.
func mapped(used int64) int {
	switch {
	case runtime.GOOS == "windows":
		return int(min(used+windowsRoom, math.MaxInt))
	case math.MaxInt == math.MaxInt32:
		return int(min(max(1<<30, 2*used), math.MaxInt32))
	}
	return mappable(disk.Addresses(max(plenty, 4*used), used))
}

// mappable is a size that bbolt does not round up: a power of two below a GiB, whole GiB above.
func mappable(size int64) int {
	const step = 1 << 30
	if size >= step {
		return int(size / step * step)
	}
	return 1 << (bits.Len64(uint64(max(size, 1))) - 1)
}

// openBolt is bbolt.Open. Its error names the limit of addresses if that keeps the file from being mapped.
func openBolt(path string, o *bbolt.Options) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o600, o)
	if limit := disk.AddressLimit(); errors.Is(err, syscall.ENOMEM) && limit > 0 {
		err = fmt.Errorf("%s cannot be mapped into memory: this process may have %d MiB of addresses (ulimit -v, or LimitAS of systemd): raise that limit", path, limit>>20)
	}
	return db, err
}

// windowsRoom is by how much a file can grow on Windows until it is mapped again.
const windowsRoom = 64 << 20

// plenty is what is mapped where there are 64 bits for an address.
const plenty int64 = 64 << 30

// openFile opens the file, and makes it if it is not there and can be.
func openFile(c Config) (*file, error) {
	if !c.ReadOnly {
		if err := disk.SyncDir(filepath.Dir(c.Path)); err != nil {
			return nil, err // no change could be made durable
		}
	}
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
	flag := os.O_RDWR
	if c.ReadOnly {
		flag = os.O_RDONLY
	}
	w, err := guard(c.Path, flag)
	if err != nil {
		return nil, err
	}
	o := options(w.Size())
	if o.ReadOnly = c.ReadOnly; o.ReadOnly {
		o.InitialMmapSize = 0
	}
	o.NoFreelistSync = !w.HasFreelist() // otherwise bbolt writes a list at once
	db, err := openBolt(c.Path, o)
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, disk.ErrInUse
	}
	if err != nil {
		return nil, err
	}
	if now, err := os.Stat(c.Path); err != nil || !os.SameFile(info, now) {
		return nil, errors.Join(disk.ErrInUse, err, db.Close()) // another file was put in its place
	}
	return newFile(db, info, newSurvey(c.Path, w)), nil
}

// create makes an empty file under a temporary name and links it into place, so that no crash leaves half of one and of two processes that
// try one wins.
func create(c Config) error {
	dir := filepath.Dir(c.Path)
	if err := disk.KeepOwn(dir); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, disk.OwnPrefix+"new-*.db")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // linked already, or of no use
	if err := errors.Join(disk.Lock(tmp), tmp.Close()); err != nil {
		return err
	}
	db, err := openBolt(tmp.Name(), options(0))
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
	if _, err := tx.CreateBucketIfNotExists(gatheredBucket); err != nil || tx.Bucket(ownBucket) != nil {
		return err
	}
	_, err := tx.CreateBucket(ownBucket)
	return errors.Join(err, firstMark.put(tx))
}

// prepare reads what lies in a file and its log, has the file looked at before anything is changed, and has read from it what is derived. All that goes on beside
// the survey of the leaves. Then it takes up the log.
func (db *DB) prepare(f *file, c Config) error {
	tail, err := db.look(f, c)
	if err == nil && c.Derive != nil {
		err = db.View(c.Derive)
	}
	if bad := f.wait(); bad != nil { // it says more than what was read from a page that is damaged
		err = bad
	}
	if err = named(c.Path, err); err != nil || c.ReadOnly {
		return err
	}
	f.NoFreelistSync = false
	if db.unlogged {
		return db.folding.spread() // a commit goes below them
	}
	return db.journal.takeUp(tail)
}

// look makes the first state, and has it accepted. Then it adds the buckets that the file lacks: a version that does not know a kind has made it.
func (db *DB) look(f *file, c Config) (tail wal.Tail, err error) {
	tx, err := f.Begin(false)
	if err != nil {
		return tail, err
	}
	defer func() { _ = tx.Rollback() }() // it has ended already, unless the file made bbolt panic
	missing, unknown := db.schema.missing(tx)
	if tail, err = db.begin(f, tx); err == nil && c.Accept != nil {
		err = c.Accept(db.view(tx, db.state.Load(), &cache{}))
	}
	if err == nil && missing && unknown { // a bucket's name is damaged: to make the bucket again would hide what is in it
		err = fmt.Errorf("%w: a bucket is missing, and another is there that is not known", ErrCorrupt)
	}
	if err = errors.Join(err, tx.Rollback()); err != nil || !missing {
		return tail, err
	}
	if c.ReadOnly {
		return tail, fmt.Errorf("%w, and an older version has written the store: let this version serve it once, on a disk that can be written", ErrReadOnly)
	}
	if err := f.wait(); err != nil {
		return tail, err
	}
	s := *db.state.Load()
	if err := f.Update(func(tx *bbolt.Tx) error { s.tx = tx.ID(); return c.Schema.create(tx) }); err != nil {
		return tail, err
	}
	db.set(&s)
	return tail, nil
}

// begin makes the first state: the file, and above it what its log has.
func (c *current) begin(f *file, tx *bbolt.Tx) (tail wal.Tail, err error) {
	s := &state{file: f, tx: tx.ID()}
	if s.mark, err = c.schema.readMark(tx); err != nil {
		return tail, err
	}
	t, tail, err := replay(c.path, s.mark)
	if bad := (*BadFile)(nil); c.certain && errors.As(err, &bad) {
		tail.Sequence = max(tail.Sequence, s.mark.Sequence)
		c.lost, err = fmt.Sprintf("what was written after sequence %d may be missing: the log of the file is missing or damaged", tail.Sequence), nil
	}
	if err != nil {
		return tail, err
	}
	if s.gathered, err = readGathered(tx); err != nil {
		return tail, err
	}
	s.setTables(t, nil)
	s.sequence = int(tail.Sequence)
	c.set(s)
	return tail, nil
}

// missing tells whether a file lacks buckets of the schema, and whether it has others.
func (s *Schema) missing(tx *bbolt.Tx) (missing, unknown bool) {
	missing = tx.Bucket(ownBucket) == nil || tx.Bucket(gatheredBucket) == nil
	for _, d := range s {
		missing = missing || d.Name != "" && tx.Bucket([]byte(d.Name)) == nil
	}
	_ = tx.ForEach(func(name []byte, _ *bbolt.Bucket) error { // it returns what the function does
		_, known := s.named(name)
		unknown = unknown || !known && string(name) != string(ownBucket) && string(name) != string(gatheredBucket)
		return nil
	})
	return missing, unknown
}

// Read calls fn with what a file and its log hold that no process has open: disk.ErrInUse, *BadFile. A file that is broken all the same is
// ErrCorrupt.
func Read(path string, s *Schema, fn func(*View) error) (err error) {
	return readFile(path, func(tx *bbolt.Tx) error {
		m, err := s.readMark(tx)
		if err != nil {
			return err
		}
		t, _, err := replay(path, m)
		if err != nil {
			return err
		}
		at := &state{}
		var bad error
		at.gathered, bad = readGathered(tx)
		at.setTables(t, nil)
		return errors.Join(fn(&View{tx: tx, schema: s, cache: &cache{}, tables: at.tables}), bad)
	})
}

// readFile calls fn with a transaction of a file that no process has open.
func readFile(path string, fn func(*bbolt.Tx) error) (err error) {
	w, err := guard(path, os.O_RDWR)
	if err != nil {
		return err
	}
	f, err := disk.OpenFile(path, os.O_RDONLY, 0)
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
	db, err := openBolt(path, &bbolt.Options{
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
	if err := lookAtLeaves(path, w); err != nil {
		return err
	}
	return named(path, db.View(fn))
}

// Edit runs an operation on a file that no process has open and that stands alone, durably.
func Edit(path string, s *Schema, fn func(*Tx) error) error {
	db, err := openBolt(path, options(disk.Size(path)))
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

// Settle folds the log of a file that no process has open into it, so that the file alone is whole. It does nothing to a file that names no log.
func Settle(path string, s *Schema) error {
	names := false
	err := readFile(path, func(tx *bbolt.Tx) error {
		m, err := readMark(tx)
		names = !m.log.IsZero()
		return err
	})
	if err != nil || !names {
		return err
	}
	db, err := Open(Config{Path: path, Schema: s})
	if err != nil {
		return err
	}
	db.Start(Hooks{})
	return db.Close()
}

// guard refuses a file that would end the process in bbolt: one that is shorter than its meta page says, or has a page that leads beyond its end or
// to a page that another leads to. It opens the file with the flag, and no other process has the file open until it returns: *BadFile, disk.ErrInUse.
// It does not look at leaves: see survey.
func guard(path string, flag int) (w *pages.Walk, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	bad := func(format string, args ...any) (*pages.Walk, error) {
		return nil, &BadFile{Path: path, Reason: fmt.Sprintf(format, args...)}
	}
	if !info.Mode().IsRegular() {
		return bad("is no file")
	}
	f, err := disk.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := disk.LockWithin(f, lockPatience); err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	h, size, both, err := pages.ReadHead(f)
	switch {
	case err != nil:
		return nil, err
	case info.Size() == 0:
		return bad("is empty")
	case size == 0:
		return bad("is no store, or both of its heads are damaged")
	case size != pages.Size:
		return bad("is a store of another program: its pages have %d bytes", size)
	case info.Size() < h.Size():
		return bad("%s", cutShort(info.Size(), h))
	case !both:
		return bad("is damaged: of its two heads one cannot be read, so its latest commit may be missing")
	}
	w = pages.New(h)
	reason, err := w.Branches(f)
	if err == nil && reason != "" {
		return bad("is damaged: %s", reason)
	}
	return w, err
}

// survey looks at the leaves of a file beside what else is done with it, which must change nothing.
type survey struct {
	ended chan struct{}
	err   error // a *BadFile; set when it has ended
}

// newSurvey begins to look at what the guard has put off.
func newSurvey(path string, w *pages.Walk) *survey {
	s := &survey{ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		s.err = lookAtLeaves(path, w)
	}()
	return s
}

// wait returns what was found, once all was looked at.
func (s *survey) wait() error {
	<-s.ended
	return s.err
}

// lookAtLeaves looks at what the guard has put off. What does not fit is a *BadFile.
func lookAtLeaves(path string, w *pages.Walk) error {
	reason, err := guarded(func() (string, error) { return w.Leaves(path) })
	if err == nil && reason != "" {
		err = &BadFile{Path: path, Reason: "is damaged: " + reason}
	}
	return err
}

// Walk looks at a file that cannot be opened, page by page, and tells bad of each page that is damaged, and met of each row as far as sound
// pages lead to it. It trusts nothing that it reads, never maps the file, and takes no lock. reason is what is wrong with the file as a whole;
// "" = nothing. A *BadFile is a file that holds no pages of a store.
func Walk(path string, s *Schema, bad func(page uint64, reason string), met func(Bucket, Row)) (reason string, err error) {
	f, err := disk.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	h, size, both, err := pages.ReadHead(f)
	switch {
	case err != nil:
		return "", err
	case size != pages.Size:
		return "", &BadFile{Path: path, Reason: "holds no pages of a store"}
	case info.Size() < h.Size():
		reason = cutShort(info.Size(), h)
	case !both:
		reason = "has two heads, of which one cannot be read"
	}
	pages.New(h).All(f, bad, func(name string, key, sealed []byte) {
		if b, known := s.named([]byte(name)); known {
			met(b, Row{key, sealed, b, s})
		}
		if name != string(gatheredBucket) {
			return
		}
		rows, err := unsealGathered(key, sealed)
		if err == nil {
			err = eachRow(rows, func(b Bucket, it item) {
				if !it.deleted() {
					met(b, Row{it.name(), it.sealed(), b, s})
				}
			})
		}
		if err != nil {
			reason = "has rows that wait to be written into their buckets, of which some are damaged"
		}
	})
	return reason, nil
}

// cutShort says that a file is shorter than its head says.
func cutShort(size int64, h pages.Head) string {
	return fmt.Sprintf("has been cut short: it has %d bytes, of %d that it should have", size, h.Size())
}
