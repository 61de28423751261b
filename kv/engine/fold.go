package engine

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"doorward/kv/crash"
	"doorward/kv/disk"
)

// When what is in the tables is folded into the file.
const (
	foldBytes  = 8 << 20          // at so many bytes
	foldAfter  = 10 * time.Second // so long after the first row
	foldLatest = time.Minute      // so long after it though doors are about
	foldQuiet  = time.Second      // no door was served for so long: then none waits for the fold's syncs
	foldRetry  = time.Second      // after one that found no room
)

// What one transaction of a fold takes while doors are about, and how many rows it takes before it gives way to them. A door's sync waits for what the
// disk was given before it, and its answer for the processor.
const (
	pieceRows  = 1000
	pieceBytes = 256 << 10
	pieceYield = 64
)

// folding is the side that writes into the file what is in the log.
type folding struct {
	*current
	journal *journal
	queue   *queue
	mu      sync.Mutex    // one fold, or one change of the file, at a time
	touched touched       // what was written into the file since a copy of it began; nil = there is none. Guarded by mu
	wake    chan struct{} // rung when there may be something to do
	end     chan struct{} // closed to end the goroutine
	ended   chan struct{} // closed when it has

	// What follows is guarded by current.change.
	done  *sync.Cond // a fold has ended
	since time.Time  // of the first row that is not folded
	wrong error      // what the last fold has failed with
	again time.Time  // when a fold that has failed is tried again
}

func newFolding(c *current, j *journal, q *queue) *folding {
	return &folding{
		current: c, journal: j, queue: q, done: sync.NewCond(&c.change), since: time.Now(),
		wake: make(chan struct{}, 1), end: make(chan struct{}), ended: make(chan struct{}),
	}
}

func (f *folding) ring() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// loop folds while the writer writes, and makes the log's next segment before it is needed.
func (f *folding) loop() {
	defer close(f.ended)
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	for {
		select {
		case <-f.end:
			return
		case <-f.wake:
		case <-due.C:
		}
		f.journal.prepare()
		wait := f.due()
		if wait <= 0 {
			_ = f.foldDue() // its error is kept, and tried again or said
			wait = f.due()
		}
		due.Reset(max(wait, time.Millisecond))
	}
}

// due is how long the next fold has time.
func (f *folding) due() time.Duration {
	f.change.Lock()
	defer f.change.Unlock()
	s := f.state.Load()
	age := time.Since(f.since)
	switch {
	case s.rows() == 0 && s.gathered == nil || f.stopErr() != nil:
		return time.Hour
	case f.wrong != nil:
		return time.Until(f.again)
	case s.active().bytes >= foldBytes:
		return 0
	case age < foldAfter:
		return foldAfter - age
	case age < foldLatest && f.queue.doorWithin(foldQuiet):
		return foldQuiet
	}
	return 0
}

// fold writes all that is committed into the file. Where the disk has no room for it the error matches syscall.ENOSPC, and the log keeps what
// would have been written.
func (f *folding) fold() error { return f.foldThen(func() error { return nil }) }

// foldThen folds, and calls fn while the file shows what one mark says: during a fold it may show a part of what comes later.
func (f *folding) foldThen(fn func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.spread(); err != nil {
		return err
	}
	for range 2 { // one table may be left of a fold that found no room
		if err := f.foldTable(nil); err != nil {
			return err
		}
	}
	return fn()
}

// foldTable folds one table. There may be nothing in it. to takes the rows of scattered buckets; nil = they go into their buckets, and none are gathered.
func (f *folding) foldTable(to *gathering) error {
	t := f.freeze()
	if t == nil {
		return nil
	}
	if err := f.stopErr(); err != nil {
		return err
	}
	crash.At(crash.BeforeFold)
	start := time.Now()
	tx, err := f.apply(t.feed(), to, func(tx *bbolt.Tx) error { return errors.Join(to.put(tx, t.upTo), t.upTo.put(tx)) })
	f.change.Lock()
	defer f.change.Unlock()
	if err := f.conclude(err); err != nil {
		return err
	}
	s := *f.state.Load()
	s.mark, s.tx = t.upTo, tx
	if to != nil && to.table.rows > 0 {
		s.gathered = to.table
	}
	s.setTables(s.active(), nil)
	f.set(&s)
	f.since = time.Now()
	f.touch(t)
	f.queue.hold(false)
	f.journal.wal.Load().Release(t.upTo.Sequence)
	f.metrics.fold.Observe(time.Since(start).Seconds())
	f.metrics.foldBytes.Add(float64(t.bytes))
	return nil
}

// freeze has the next group begin a new table, and returns the one to fold; nil = there is nothing to fold.
func (f *folding) freeze() *table {
	f.change.Lock()
	defer f.change.Unlock()
	s := *f.state.Load()
	if t := s.frozen(); t != nil {
		return t
	}
	t, log := s.active(), f.journal.wal.Load()
	if t.rows == 0 || log == nil {
		return nil
	}
	t = t.copy()
	t.upTo = mark{s.mark.log, s.mark.term, log.Tail()}
	s.setTables(&table{}, t)
	f.set(&s)
	return t
}

// conclude notes how a fold has ended, and returns its error. The caller holds change.
func (f *folding) conclude(err error) error {
	defer f.done.Broadcast()
	if f.wrong = err; err == nil {
		return nil
	}
	f.again = time.Now().Add(foldRetry)
	err = fmt.Errorf("fold the log into the file: %w", err)
	if !isNoRoom(err) {
		_ = f.stop(err) // this error says why
	}
	return err
}

// touch notes rows that were written into the file while it is copied.
func (f *folding) touch(t *table) {
	if f.touched != nil {
		f.touched.note(t)
	}
}

// apply writes a table's rows into the file, and returns the number of the last transaction of bbolt that does. While doors are about there are several, each
// with a piece of the rows. The table covers them until the last, which calls last: with it comes what says that the file has them all.
func (f *folding) apply(rows *rowFeed, to *gathering, last func(*bbolt.Tx) error) (number int, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if found := recover(); found != nil {
			err = Broken(found)
		}
	}()
	for err == nil && !rows.over {
		err = f.state.Load().file.Update(func(tx *bbolt.Tx) error {
			number = tx.ID()
			v := View{tx: tx, schema: f.schema, cache: &cache{}}
			if err := f.write(&v, rows, to); err != nil || !rows.over {
				return err
			}
			return last(tx)
		})
		crash.At(crash.AmongFolds)
	}
	if err == nil {
		crash.At(crash.AfterFold)
		err = f.stands()
	}
	return number, err
}

// write writes rows into the View's transaction: all, or a piece of them where doors are about.
func (f *folding) write(v *View, rows *rowFeed, to *gathering) (err error) {
	for n, bytes := 0, 0; err == nil && rows.next(); n++ {
		if to != nil && f.schema[rows.bucket].Scattered {
			to.take(rows.bucket, &rows.item)
			continue
		}
		err = v.writeRow(rows.bucket, &rows.item)
		bytes += len(rows.item.row)
		if n+1 == rows.most {
			return err
		}
		if (n+1)%pieceYield != 0 && bytes < pieceBytes || f.unlogged || !f.queue.doorWithin(foldQuiet) {
			continue
		}
		if n+1 >= pieceRows || bytes >= pieceBytes {
			return err
		}
		runtime.Gosched()
	}
	return err
}

// write writes a table's rows into the View's transaction.
func (v *View) write(t *table) (err error) {
	for rows := t.feed(); err == nil && rows.next(); {
		err = v.writeRow(rows.bucket, &rows.item)
	}
	return err
}

func (v *View) writeRow(b Bucket, it *item) error {
	if it.deleted() {
		return v.in(b).Delete(it.name())
	}
	return v.in(b).Put(it.name(), it.sealed())
}

// isNoRoom tells an error of a write that found no room on the disk, or none within a quota. What an error of a sync leaves is not known. Before bbolt
// writes it makes the file larger; its error of that is a text alone.
func isNoRoom(err error) bool {
	var path *fs.PathError
	if errors.As(err, &path) {
		return (path.Op == "write" || path.Op == "truncate") && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT))
	}
	return err != nil && strings.Contains(err.Error(), "file resize error: ") &&
		(strings.Contains(err.Error(), syscall.ENOSPC.Error()) || strings.Contains(err.Error(), syscall.EDQUOT.Error()))
}

// In a scattered bucket nearly each new row lies in another page, so a fold would write a page for each row. Under load a fold gathers these rows
// instead: it writes them one behind the other into a bucket of the engine's own, and keeps them in a table, which lies above the file and below
// what is not folded. Once there are many, they are spread: written into their own buckets, where several of them share a page. A fold that does not
// gather spreads first, because a gathered row covers the row in its bucket.
//
//	bucket "gathered"   sequence of the fold 8 │ number 4   rows, as a record of the log has them (tx.go) │ CRC32C 4
var gatheredBucket = []byte("gathered")

const (
	gatheredBytes = 8 << 20  // of memory: from here on the rows are spread
	gatheredPart  = 32 << 10 // of one value in the file
	spreadRows    = 8000     // of one transaction: bbolt holds a page for nearly each until it has written them
	gatheredFrom  = 96 << 20 // of the file: in a smaller one the rows share pages as they are
)

// gathering takes the rows of scattered buckets while a table is folded.
type gathering struct {
	table *table   // the rows that were gathered before, and after put those of this fold too
	parts [][]byte // the rows of this fold
}

// gather begins a gathering on top of the rows that are gathered.
func (s *state) gather() *gathering {
	if s.gathered == nil {
		return &gathering{table: &table{}}
	}
	return &gathering{table: s.gathered.copy()}
}

// take takes a row. It is copied, because the table that it comes from shares the memory of much larger records.
func (g *gathering) take(b Bucket, it *item) {
	n := len(g.parts) - 1
	if n < 0 || len(g.parts[n])+len(it.row) > gatheredPart {
		g.parts = append(g.parts, make([]byte, 0, gatheredPart+itemBytes))
		n++
	}
	g.parts[n] = appendRow(g.parts[n], b, it.name(), it.sealed())
}

// put adds the rows to the table and writes them into the file, in the transaction that moves its mark to upTo. There may be no gathering.
func (g *gathering) put(tx *bbolt.Tx, upTo mark) (err error) {
	if g == nil || len(g.parts) == 0 {
		return nil
	}
	b := tx.Bucket(gatheredBucket)
	for i := 0; i < len(g.parts) && err == nil; i++ {
		key := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, upTo.Sequence), uint32(i))
		if err = g.table.add(g.parts[i]); err == nil {
			err = b.Put(key, binary.BigEndian.AppendUint32(g.parts[i], gatheredSum(key, g.parts[i])))
		}
	}
	return err
}

func gatheredSum(key, rows []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, rows)
}

// readGathered reads the gathered rows of a file; nil = there are none. With the error of damaged ones it returns the rest.
func readGathered(tx *bbolt.Tx) (t *table, err error) {
	b := tx.Bucket(gatheredBucket)
	if b == nil {
		return nil, nil
	}
	failed := b.ForEach(func(key, value []byte) error {
		rows, bad := unsealGathered(key, value)
		if t == nil && bad == nil {
			t = &table{}
		}
		if bad == nil {
			bad = t.add(append([]byte(nil), rows...))
		}
		err = cmp.Or(err, bad)
		return nil
	})
	return t, cmp.Or(err, failed)
}

// unsealGathered checks a value and takes its checksum off.
func unsealGathered(key, value []byte) (rows []byte, err error) {
	n := len(value) - checksumSize
	if n < 0 || binary.BigEndian.Uint32(value[n:]) != gatheredSum(key, value[:n]) {
		return nil, fmt.Errorf("%w: rows that wait to be written into their buckets", ErrCorrupt)
	}
	return value[:n:n], nil
}

// dropGathered removes the gathered rows from a file, which has them in their own buckets now.
func dropGathered(tx *bbolt.Tx) error {
	err := tx.DeleteBucket(gatheredBucket)
	if err == nil {
		_, err = tx.CreateBucket(gatheredBucket)
	}
	return err
}

// foldDue folds because it is time. Where that is because much was written it gathers.
func (f *folding) foldDue() error {
	s := f.state.Load()
	if s.active().bytes < foldBytes || s.gathered == nil && disk.Size(f.path) < gatheredFrom {
		return f.fold()
	}
	return f.foldGathering()
}

// foldGathering folds and gathers. While the file is being rewritten it does not gather, because only the rows of buckets are carried over into the next file.
func (f *folding) foldGathering() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.state.Load()
	if f.touched != nil || s.gathered != nil && s.gathered.bytes >= gatheredBytes {
		if err := f.spread(); err != nil {
			return err
		}
	}
	if f.touched != nil {
		return f.foldTable(nil)
	}
	return f.foldTable(f.state.Load().gather())
}

// spread writes the gathered rows into their own buckets. The table covers them until the last of its transactions. The caller holds mu.
func (f *folding) spread() error {
	t := f.state.Load().gathered
	if t == nil {
		return nil
	}
	if err := f.stopErr(); err != nil {
		return err
	}
	start, rows := time.Now(), t.feed()
	rows.most = spreadRows
	tx, err := f.apply(rows, nil, dropGathered)
	f.change.Lock()
	defer f.change.Unlock()
	if err := f.conclude(err); err != nil {
		return err
	}
	s := *f.state.Load()
	active, frozen := s.active(), s.frozen()
	s.tx, s.gathered = tx, nil
	s.setTables(active, frozen)
	f.set(&s)
	f.touch(t)
	f.metrics.spread.Observe(time.Since(start).Seconds())
	f.metrics.spreadRows.Add(float64(t.rows))
	return nil
}
