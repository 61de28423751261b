package engine

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"doorward/kv/crash"
	"doorward/kv/disk"
	"doorward/kv/engine/pages"
	"doorward/kv/engine/wal"
)

// journal is the log of a file, which the first record begins.
type journal struct {
	*current
	wal     atomic.Pointer[wal.Log] // nil until the first record
	refuses bool                    // no segment could be made or opened when one was wanted last
}

// segments is how many files the log has.
func (j *journal) segments() int {
	log := j.wal.Load()
	if log == nil {
		return 0
	}
	live, spare := log.Segments()
	return live + spare
}

// logDir is the folder of the log of a file.
func logDir(path string) string { return filepath.Join(filepath.Dir(path), logName) }

// replay reads into a table what the log of a file has beyond the file. The mark says which log that is. With a *BadFile the table has what is
// certain.
func replay(path string, m mark) (*table, wal.Tail, error) {
	t := &table{}
	if m.log.IsZero() {
		return t, wal.Tail{Position: m.Position, Term: m.term}, nil
	}
	tail, err := wal.Read(logDir(path), m.log, m.Position, func(r wal.Record) error { return t.add(r.Payload) })
	if damaged := (*wal.Damaged)(nil); errors.As(err, &damaged) || errors.Is(err, wal.ErrMissing) {
		reason := fmt.Sprintf("cannot be opened: %v", err)
		if damaged == nil {
			reason += fmt.Sprintf(" (the folder %s beside it); what was written up to sequence %d is kept for certain", logName, m.Sequence)
		}
		reason += "; export --certain and replicate --certain take what is certain"
		return t, tail, &BadFile{Path: path, Reason: reason}
	}
	return t, tail, err
}

// takeUp goes on with the log that was read, or clears away what others have left where the file has none.
func (j *journal) takeUp(tail wal.Tail) error {
	dir, m := logDir(j.path), j.state.Load().mark
	to := asidePath(j.path, time.Now())
	if moved, err := wal.SetAside(dir, m.log, to); err != nil {
		return err
	} else if moved {
		j.log.Warn("there was a log that is not this file's: it is set aside and not read", slog.String("folder", to))
	}
	if err := j.confirm(m); err != nil {
		return err
	}
	if m.log.IsZero() {
		return wal.RemoveEnded(dir)
	}
	if tail.Dropped {
		j.log.Warn("the log ends within a record: a change that was not answered is dropped", slog.Uint64("sequence", tail.Sequence+1))
	}
	log, err := wal.Resume(dir, m.log, tail)
	if err == nil {
		j.wal.Store(log)
	}
	return err
}

// confirm has the disk hold the file's name, and the mark of a file that names no log, as they were read: a process that was killed may have left them
// in memory alone, and after this the log is written or removed. The mark of a file that names one is confirmed by the next fold.
func (j *journal) confirm(m mark) error {
	if _, err := os.Lstat(logDir(j.path)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := disk.SyncDir(filepath.Dir(j.path))
	if err == nil && m.log.IsZero() {
		err = j.state.Load().file.Sync()
	}
	return err
}

// asidePath is where the log of another file is moved to: no folder has that name.
func asidePath(path string, now time.Time) string {
	stem := strings.TrimSuffix(path, filepath.Ext(path)) + "-" + now.UTC().Format("20060102T150405Z")
	name := stem + ".log"
	for i := 2; ; i++ {
		if _, err := os.Lstat(name); err != nil {
			return name
		}
		name = stem + "-" + strconv.Itoa(i) + ".log"
	}
}

// sealBytes is more than the rows that a group gets when it is whole mostly take in its record.
const sealBytes = 64 << 10

// ready makes sure that the log has a segment for a group's rows. The first group begins a log, and the file names it before anything is in it. Where
// there is no segment for now, refusal is the error that the group gets, and nothing has changed; any other error stops writing.
func (j *journal) ready(rows [][]byte) (refusal, err error) {
	need := sealBytes
	for _, r := range rows {
		need += len(r)
	}
	log := j.wal.Load()
	if log == nil {
		if log, err = j.begin(); err != nil {
			err = fmt.Errorf("begin the log: %w", err)
		}
		if err != nil && !isNoRoom(err) && !isNoFile(err) {
			return nil, err // a sync may have failed
		}
	}
	if err == nil {
		err = log.Reserve(need)
	}
	refusal = j.refusal(err, need)
	if was := j.refuses; was != (refusal != nil) {
		if j.refuses = !was; j.refuses {
			j.log.Warn("the log has no segment for changes: they are refused", slog.Any("cause", err))
		} else {
			j.log.Info("the log has a segment for changes again: they are taken")
		}
	}
	if refusal != nil {
		return refusal, nil
	}
	return nil, err
}

// refusal is the error of a group for which a segment could not be made or opened: a *disk.Full where the disk has no room, ErrBusy where too many files are
// open. It is nil where the error is another one.
func (j *journal) refusal(err error, need int) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		free, _ := j.room.Free()
		return &disk.Full{What: "segments of the log", Need: int64(need), Free: free}
	case isNoFile(err):
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return nil
}

// isNoFile tells the error of a file that is not opened because this process, or the system, has too many open. Nothing was written.
func isNoFile(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// append makes a group's rows durable in the log, which is ready for them. short tells that a spare segment will be needed soon.
func (j *journal) append(rows [][]byte) (short bool, err error) {
	log := j.wal.Load()
	took, err := log.Append(rows...)
	if err != nil {
		return false, fmt.Errorf("append to the log: %w", err)
	}
	j.metrics.append.Observe(took.Write.Seconds())
	j.metrics.sync.Observe(took.Sync.Seconds())
	return log.Short(), nil
}

func (j *journal) begin() (*wal.Log, error) {
	s := *j.state.Load()
	if err := j.stands(); err != nil {
		return nil, err
	}
	s.mark.term++
	if _, err := rand.Read(s.mark.log[:]); err != nil {
		return nil, err
	}
	log, err := wal.Create(logDir(j.path), s.mark.log, s.mark.Position, s.mark.term)
	if err != nil {
		return nil, err
	}
	crash.At(crash.BeforeLog)
	if err := s.file.Update(s.mark.put); isNoRoom(err) {
		return nil, errors.Join(err, log.End(), log.Remove()) // the file does not name it
	} else if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	crash.At(crash.AfterLog)
	j.wal.Store(log)
	j.set(&s)
	return log, nil
}

// prepare makes a spare segment where one is needed soon. The writer makes it itself where that fails.
func (j *journal) prepare() {
	log := j.wal.Load()
	if log == nil || j.stopErr() != nil {
		return
	}
	if err := log.Prepare(); err != nil {
		j.log.Warn("no segment of the log can be made ahead", slog.Any("cause", err))
	}
}

// cut begins a segment, so that no other is needed once all is folded. Until erase has been called no old bytes lie in what the writer begins.
func (j *journal) cut() error {
	j.change.Lock()
	defer j.change.Unlock()
	log := j.wal.Load()
	if err := j.stopErr(); err != nil || log == nil {
		return err
	}
	err := log.Cut()
	if err != nil && !errors.Is(err, wal.ErrNoSegment) {
		_ = j.stop(err) // this error says why
	}
	return err
}

// release lets go of the segments whose records are all in the file. Where a fold finds nothing to do it lets go of none. The mark is written once more first:
// it may be one that was read, of which the disk has nothing. The caller holds folding.mu.
func (j *journal) release() error {
	s := j.state.Load()
	if err := j.stopErr(); err != nil || s.mark.log.IsZero() {
		return err
	}
	err := s.file.Update(s.mark.put)
	if err != nil {
		if !isNoRoom(err) {
			_ = j.stop(err) // this error says why
		}
		return err
	}
	j.change.Lock() // so that nothing is appended
	defer j.change.Unlock()
	j.wal.Load().Release(s.mark.Sequence)
	return nil
}

// erase writes zeros over the segments of which nothing is needed.
func (j *journal) erase() error {
	if log := j.wal.Load(); log != nil {
		return log.Erase()
	}
	return nil
}

// close closes the files and keeps them.
func (j *journal) close() error {
	if log := j.wal.Load(); log != nil {
		return log.Close()
	}
	return nil
}

// end ends the log, of which all is folded: afterwards the file alone is whole.
func (j *journal) end() error {
	log, s := j.wal.Load(), j.state.Load()
	err := log.End()
	if err == nil {
		crash.At(crash.BeforeAlone)
		m := s.mark
		m.log = wal.ID{}
		err = s.file.Update(m.put)
	}
	if err != nil {
		return errors.Join(err, log.Close())
	}
	crash.At(crash.AfterAlone)
	return log.Remove()
}

// check reads from the disk what the log has beyond the file, and returns what of it is damaged. Nothing may be folded while it reads.
func (j *journal) check() error {
	s := j.state.Load()
	tail, err := wal.Read(logDir(j.path), s.mark.log, s.mark.Position, func(wal.Record) error { return nil })
	if err == nil && tail.Sequence < uint64(s.sequence) {
		err = fmt.Errorf("the log ends with sequence %d, and %d was written", tail.Sequence, s.sequence)
	}
	return err
}

// logName is the folder of the log, beside the file.
const logName = "log"

// IsOwnName tells whether the engine gives this name to what it keeps beside the file.
func IsOwnName(name string) bool { return name == logName || name == rewriteName }

// The engine's own bucket has one row: which log the file belongs to, and up to where that is folded into it. It is written in the transaction that
// folds.
//
//	log id 16 │ term 8 │ sequence 8 │ chain 4 │ zeros │ CRC32C 4
//
// With the zeros it is so long that bbolt gives the bucket a page of its own. So the row lies in the mapped file as it is, and a copy can be given
// another one on its way (CopyTo).
//
// The id is zeros where the file stands alone: it is new, a finished copy, or its store was stopped.
var (
	ownBucket = []byte("engine")
	markKey   = []byte("log")
)

const markSize = pages.Size/4 + 64

// mark is what the row says.
type mark struct {
	log  wal.ID
	term uint64
	wal.Position
}

// firstMark is that of a new file: no version is 0.
var firstMark = mark{Position: wal.Position{Sequence: 1}}

func (m mark) encode() []byte {
	b := append(make([]byte, 0, markSize), m.log[:]...)
	b = binary.BigEndian.AppendUint64(b, m.term)
	b = binary.BigEndian.AppendUint64(b, m.Sequence)
	b = binary.BigEndian.AppendUint32(b, m.Chain)
	b = append(b, make([]byte, markSize-checksumSize-len(b))...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// put writes the row.
func (m mark) put(tx *bbolt.Tx) error { return tx.Bucket(ownBucket).Put(markKey, m.encode()) }

// readMark reads the row of a store's file, which may be older than the row.
func (s *Schema) readMark(tx *bbolt.Tx) (m mark, err error) {
	if tx.Bucket(ownBucket) == nil && !slices.ContainsFunc(s[:], func(d Def) bool { return d.Name != "" && tx.Bucket([]byte(d.Name)) != nil }) {
		return m, &BadFile{Reason: "is a store of another program"}
	}
	return readMark(tx)
}

// readMark reads the row; there is none in a file that the engine has not made.
func readMark(tx *bbolt.Tx) (m mark, err error) {
	b := tx.Bucket(ownBucket)
	if b == nil {
		return firstMark, nil
	}
	row := b.Get(markKey)
	if len(row) != markSize || binary.BigEndian.Uint32(row[markSize-checksumSize:]) != crc32.Checksum(row[:markSize-checksumSize], castagnoli) {
		return m, fmt.Errorf("%w: which log the file belongs to cannot be read", ErrCorrupt)
	}
	copy(m.log[:], row)
	m.term = binary.BigEndian.Uint64(row[16:])
	m.Sequence = binary.BigEndian.Uint64(row[24:])
	m.Chain = binary.BigEndian.Uint32(row[32:])
	return m, nil
}

// Change is one row of a committed group: it was put, or, where its value is nil, deleted.
type Change struct {
	Bucket     Bucket
	Key, Value []byte
}

// Follow reads the groups that are committed after a sequence, in order, and those that come, until fn or the context ends it. fn gets a group's sequence, which
// is the version that Views show with it, and its rows, which are valid until fn returns. Follow does not keep the log from being used again: where the log
// does not have the next group any more, because fn was too slow or the file was opened again, the error is wal.ErrGone. The log begins with the first
// group that is written after the file was opened.
func (db *DB) Follow(ctx context.Context, after int, fn func(sequence int, changes []Change) error) error {
	log := db.journal.wal.Load()
	if log == nil {
		return wal.ErrGone
	}
	f, err := log.Follow(uint64(after))
	if err != nil {
		return err
	}
	var changes []Change
	for {
		r, err := f.Next(ctx)
		if err != nil {
			return err
		}
		changes = changes[:0]
		err = eachRow(r.Payload, func(b Bucket, it item) { changes = append(changes, Change{b, it.name(), it.plain()}) })
		if err == nil {
			err = fn(int(r.Sequence), changes)
		}
		if err != nil {
			return err
		}
	}
}
