package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"
	"unsafe"

	"go.etcd.io/bbolt"

	"doorward/kv/crash"
	"doorward/kv/disk"
	"doorward/kv/engine/pages"
	"doorward/kv/engine/wal"
)

// rewriteName is the file that takes the store's place once it is whole.
const rewriteName = "compact.db"

const (
	rewriteTx     = 4 << 20              // how many bytes of rows one transaction copies: small, because a door waits for the same disk
	rewriteFew    = 1000                 // rows that are carried over while writers wait
	rewriteRounds = 10                   // how often it is tried to get down to so few
	closePause    = 5 * time.Millisecond // between two looks whether the old file still has readers
)

// rewriting is the side that writes the file again. One is under way at a time.
type rewriting struct {
	*current
	journal *journal
	folding *folding
	mu      sync.Mutex
	closing context.Context // ends with the engine
	close   context.CancelFunc
}

func newRewriting(c *current, j *journal, f *folding) *rewriting {
	r := &rewriting{current: c, journal: j, folding: f}
	r.closing, r.close = context.WithCancel(context.Background())
	return r
}

// end ends what is under way, for good.
func (r *rewriting) end() {
	r.close()
	r.mu.Lock() // until it has ended
	defer r.mu.Unlock()
}

// Rewrite writes the file again, without the pages that are free: what was deleted before has no bytes left in it. first writes into the new
// file when it holds all rows of the View that is copied. The file is read and written while it does. At no moment is there no file, or half of
// one. Where a row is damaged the old file stays, with what can be read of it: ErrCorrupt. Also a *disk.Full, ErrStopped, the context's error.
func (db *DB) Rewrite(ctx context.Context, first func(*Tx)) (err error) {
	r := db.rewriting
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing.Err() != nil {
		return ErrStopped // the log's files may be another opening's by now
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.closing, cancel)()
	if err := r.room.CheckFile("a file written again", disk.Size(r.path)); err != nil {
		return err
	}
	left := disk.Leave(r.path)
	defer func() { left.Free(err == nil) }()
	defer r.underWay(false)
	if err := r.begin(); err != nil {
		return err
	}
	old := r.state.Load().file
	err = r.rewrite(ctx, old, first)
	if r.state.Load().file != old {
		for old.Stats().OpenTxN > 0 { // bbolt's Close keeps readers that want to end from it while it waits for another, such as a backup
			time.Sleep(closePause)
		}
		err = errors.Join(err, old.Close(), disk.Replaced(r.path)) // Close waits for its readers
	}
	return err
}

// underWay tells operations whether what they delete may be in the next file.
func (r *rewriting) underWay(yes bool) {
	r.change.Lock()
	defer r.change.Unlock()
	r.copied.Store(yes)
}

// begin writes over what the log has of the time before: all of it is in the file. What is deleted from now on may be in the next file. Segments are erased
// before the cut too, so that the cut and the writer behind it find some to begin: otherwise each rewriting would make one more.
func (r *rewriting) begin() error {
	r.underWay(true)
	if err := r.journal.erase(); err != nil {
		return err
	}
	err := r.journal.cut()
	if err == nil {
		err = r.folding.foldThen(r.journal.release)
	}
	return errors.Join(err, r.journal.erase())
}

// spare is by how much the next file grows at once, and so how much of it may be of no use yet: little where the old one is small.
func spare(size int64, most int) int {
	const part = 16
	return min(most, int(size/part/pages.Size+1)*pages.Size)
}

func (r *rewriting) rewrite(ctx context.Context, old *file, first func(*Tx)) (err error) {
	path := r.rewritten()
	if err := disk.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	next, err := bbolt.Open(path, 0o600, options(old.used()))
	if err != nil {
		return err
	}
	next.AllocSize = spare(disk.Size(r.path), old.AllocSize)
	defer func() {
		if r.state.Load().file.DB == next {
			return
		}
		r.folding.mu.Lock()
		r.folding.touched = nil // a file that is closed is written no more
		r.folding.mu.Unlock()
		err = errors.Join(err, next.Close(), disk.Remove(path))
	}()
	if err := r.copyAll(ctx, old, next, first); err != nil {
		return err
	}
	for range rewriteRounds {
		n, err := r.catchUp(old, next)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if n < rewriteFew {
			break
		}
	}
	return r.takeOver(old, next)
}

// copyAll copies what the file holds now. From now on the writer notes what it touches. A damaged file may end its reader by a panic.
func (r *rewriting) copyAll(ctx context.Context, old *file, next *bbolt.DB, first func(*Tx)) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if found := recover(); found != nil {
			err = fmt.Errorf("%w: the structure of the file is broken: %v", ErrCorrupt, found)
		}
	}()
	tx, _, err := r.beginCopy(old)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it was only read
	err = tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return r.copyBucket(ctx, next, name, b) })
	if err != nil {
		return err
	}
	return next.Update(func(tx *bbolt.Tx) error {
		t := operation(tx, r.schema)
		first(t)
		return t.flush()
	})
}

// copyBucket copies a bucket, a few megabytes in one transaction, and checks each of its rows.
func (r *rewriting) copyBucket(ctx context.Context, next *bbolt.DB, name []byte, from *bbolt.Bucket) error {
	at, known := r.schema.named(name)
	c := from.Cursor()
	key, value := c.First()
	for more := true; more; more = key != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err := next.Update(func(tx *bbolt.Tx) error {
			to, err := tx.CreateBucketIfNotExists(name)
			if err != nil {
				return err
			}
			to.FillPercent = tailFill
			for n := 0; key != nil && n < rewriteTx; key, value = c.Next() {
				if _, err := r.schema.unseal(at, key, value); known && err != nil {
					return err
				}
				if err := to.Put(key, value); err != nil {
					return err
				}
				n += len(key) + len(value)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// beginCopy folds what is committed and begins a transaction that shows it. It returns the rows that were written since the last one began.
func (r *rewriting) beginCopy(old *file) (tx *bbolt.Tx, written touched, err error) {
	err = r.folding.foldThen(func() (err error) {
		if tx, err = old.Begin(false); err == nil {
			written, r.folding.touched = r.folding.touched, touched{}
		}
		return err
	})
	return tx, written, err
}

// catchUp copies what was written since the last look, and returns how much that was.
func (r *rewriting) catchUp(old *file, next *bbolt.DB) (n int, err error) {
	tx, written, err := r.beginCopy(old)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // it was only read
	return len(written), r.schema.carryOver(tx, next, written)
}

// takeOver carries over what is left and puts the next file in the old one's place. Nothing is folded until it returns, so nothing changes the old
// file; the log goes on, and the writer waits for the change of names alone.
func (r *rewriting) takeOver(old *file, next *bbolt.DB) error {
	r.folding.mu.Lock()
	defer r.folding.mu.Unlock()
	if err := r.stopErr(); err != nil {
		return err
	}
	carried, err := r.carryLast(old, next)
	if err != nil {
		return err
	}
	folder, itself, err := r.placeOf(old)
	if err != nil {
		return err
	}
	if err := r.rename(next, itself, carried); err != nil {
		return errors.Join(err, folder.Close())
	}
	next.AllocSize = old.AllocSize
	if err = errors.Join(err, folder.Sync(), folder.Close()); err != nil { // which of the two the disk holds is not known
		_ = r.stop(err) // the caller has the error
	}
	return err
}

// carryLast carries over what is left, and returns the mark that the next file has now.
func (r *rewriting) carryLast(old *file, next *bbolt.DB) (carried mark, err error) {
	tx, err := old.Begin(false)
	if err != nil {
		return carried, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	if carried, err = readMark(tx); err != nil {
		return carried, err
	}
	return carried, r.schema.carryOver(tx, next, r.folding.touched)
}

// rename gives the next file its name, and has readers and the writer use it. Both files show the same rows now. The first write since the store
// was opened may have begun a log since the mark was carried over: a file that does not name it would lose what was answered from it.
func (r *rewriting) rename(next *bbolt.DB, itself os.FileInfo, carried mark) error {
	r.change.Lock()
	defer r.change.Unlock()
	if now := r.state.Load().mark; now != carried {
		if err := next.Update(now.put); err != nil {
			return err
		}
	}
	crash.At(crash.BeforeCompacted)
	if err := disk.Replace(r.rewritten(), r.path); err != nil {
		return err
	}
	crash.At(crash.AfterCompacted)
	r.folding.touched = nil
	return next.View(func(tx *bbolt.Tx) error {
		s := *r.state.Load()
		s.file, s.tx = newFile(next, itself, nil), tx.ID()
		r.set(&s)
		return nil
	})
}

// placeOf looks at the next file, and whether the old one is still where the next is to be put. The folder is opened before anything is
// renamed in it, because afterwards nothing but the disk may fail.
func (r *rewriting) placeOf(old *file) (folder *os.File, next os.FileInfo, err error) {
	if err = old.stands(r.path); err != nil {
		return nil, nil, err
	}
	f, err := disk.OpenFile(r.rewritten(), os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	next, err = f.Stat() // of the file, whatever its name is
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, err
	}
	folder, err = disk.OpenFolder(filepath.Dir(r.path))
	return folder, next, err
}

// CopyTo folds what is committed and writes the file to f, as a file that stands alone: it names no log. It syncs nothing: that is the caller's part.
// about is given the View that is copied. CopyTo holds the View while it writes, so pages that are freed are not used again, and no fold can
// map a larger file: f must lie on a disk that is as fast as the file's own. Where nothing can be folded, because the file is only read, writing has stopped or
// the disk is full, what lies above the file is written into the copy, for which f must be an *os.File.
func (db *DB) CopyTo(f disk.SyncWriter, about func(*View) error) (n int64, err error) {
	var tx *bbolt.Tx
	var at *state
	begin := func() (err error) { tx, at, err = db.snapshot(); return err }
	folds := !db.readOnly && db.folding.foldThen(begin) == nil // its error is kept where it matters
	if !folds {
		if err := begin(); err != nil {
			return 0, err
		}
	}
	defer func() { _ = tx.Rollback() }() // it was only read
	v := db.view(tx, at, &cache{})
	if folds {
		v.tables = nil // what came after the fold is not copied
	}
	if err := about(v); err != nil {
		return 0, err
	}
	w, err := alone(at.file.DB, tx, db.turn.Throttle(f))
	if err != nil {
		return 0, err
	}
	n, err = tx.WriteTo(w)
	if err != nil || len(v.tables) == 0 || at.rows() == 0 && at.gathered == nil {
		return n, err
	}
	return v.mergeInto(f, at)
}

// mergeInto writes what lies above the file in a state into a copy of the file.
func (v *View) mergeInto(f disk.SyncWriter, at *state) (n int64, err error) {
	file, ok := f.(*os.File)
	if !ok {
		return 0, errors.New("only a file can take in a log")
	}
	next, err := bbolt.Open(file.Name(), 0o600, options(disk.Size(file.Name())))
	if err != nil {
		return 0, err
	}
	err = next.Update(func(tx *bbolt.Tx) error {
		to := View{tx: tx, schema: v.schema, cache: &cache{}}
		for i := range at.tables {
			if err := to.write(at.tables[len(at.tables)-1-i]); err != nil {
				return err
			}
		}
		if err := dropGathered(tx); err != nil {
			return err
		}
		return mark{term: at.mark.term, Position: wal.Position{Sequence: uint64(at.sequence)}}.put(tx)
	})
	err = errors.Join(err, next.Close())
	return disk.Size(file.Name()), err
}

// alone writes a file with another mark than it has: one that names no log. The mark lies whole in one page, and a page has no checksum.
func alone(db *bbolt.DB, tx *bbolt.Tx, w io.Writer) (io.Writer, error) {
	m, err := readMark(tx)
	if err != nil {
		return nil, err
	}
	m.log = wal.ID{}
	row := tx.Bucket(ownBucket).Get(markKey)
	at := int64(uintptr(unsafe.Pointer(unsafe.SliceData(row))) - db.Info().Data)
	return &patched{w: w, at: at, bytes: m.encode()}, nil
}

// patched is a writer of a file of which a few bytes are others.
type patched struct {
	w     io.Writer
	at    int64 // where the bytes belong, from here on
	bytes []byte
}

func (p *patched) Write(b []byte) (int, error) {
	end := p.at + int64(len(p.bytes))
	if p.at < int64(len(b)) && end > 0 {
		b = append([]byte(nil), b...)
		copy(b[max(p.at, 0):], p.bytes[max(-p.at, 0):])
	}
	p.at -= int64(len(b))
	return p.w.Write(b)
}
