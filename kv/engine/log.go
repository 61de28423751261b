package engine

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"doorward/kv/crash"
	"doorward/kv/engine/wal"
)

// exclude has the state change by the writer alone until the function that it returns is called. It waits while too much lies above the file. Where there
// is no log the writer changes the file itself, so no rewriting goes on either.
func (db *DB) exclude() (end func()) {
	if db.unlogged {
		db.folding.mu.Lock()
	}
	db.commit.Lock()
	for db.state.Load().bytes() >= doorBytes && db.Stopped() == nil {
		if err := db.folding.wrong; err != nil {
			db.writer.stop(err, nil)
			break
		}
		db.folding.done.Wait()
	}
	return func() {
		db.commit.Unlock()
		if db.unlogged {
			db.folding.mu.Unlock()
		}
	}
}

// write makes a group durable: in the log, or in the file where there is none.
func (db *DB) write(g *group) error {
	if !db.unlogged {
		return db.append(g.record)
	}
	g.table.upTo = db.folded
	g.table.upTo.Sequence = uint64(g.base + 1)
	tx, err := db.apply(g.table)
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	db.touch(g.table)
	db.folded = g.table.upTo
	g.table, g.folded = &table{}, tx
	return nil
}

// publish shows readers a group that is durable.
func (db *DB) publish(g *group) {
	s := db.state.Load()
	if s.rows() == 0 {
		db.folding.since = time.Now()
		db.folding.ring()
	}
	next := &state{file: s.file, tx: max(s.tx, g.folded), tables: append([]*table{g.table}, s.tables[1:]...), sequence: g.base + 1}
	if db.set(next); g.table.bytes >= foldBytes {
		db.folding.ring()
	}
	if next.bytes() >= bulkBytes {
		db.writer.queue.hold(true)
	}
}

// set makes a state the one that readers see, and keeps the room on the disk that its fold will take.
func (db *DB) set(s *state) {
	db.state.Store(s)
	db.room.Reserve(s.reserved(db.path))
}

// touch notes rows that were written into the file while it is rewritten.
func (db *DB) touch(t *table) {
	if db.rewrite.touched != nil {
		db.rewrite.touched.note(t)
	}
}

// unfolded is how many records of the log are not in the file.
func (db *DB) unfolded() int {
	db.commit.Lock()
	defer db.commit.Unlock()
	return db.state.Load().sequence - int(db.folded.Sequence)
}

// segments is how many files the log has.
func (db *DB) segments() int {
	db.commit.Lock()
	defer db.commit.Unlock()
	if db.journal == nil {
		return 0
	}
	live, spare := db.journal.Segments()
	return live + spare
}

// logDir is the folder of the log of a file.
func logDir(path string) string { return filepath.Join(filepath.Dir(path), LogName) }

// replay reads into a table what the log of a file has beyond the file. The mark says which log that is.
func replay(path string, m mark) (*table, wal.Tail, error) {
	t := &table{}
	if m.log.IsZero() {
		return t, wal.Tail{Position: m.Position, Term: m.term}, nil
	}
	tail, err := wal.Read(logDir(path), m.log, m.Position, func(r wal.Record) error { return t.add(r.Payload) })
	if damaged := (*wal.Damaged)(nil); errors.As(err, &damaged) || errors.Is(err, wal.ErrMissing) {
		reason := fmt.Sprintf("cannot be opened: %v", err)
		if damaged == nil {
			reason += fmt.Sprintf(" (the folder %s beside it); what was written up to sequence %d is kept for certain", LogName, m.Sequence)
		}
		return nil, tail, &BadFile{Path: path, Reason: reason}
	}
	return t, tail, err
}

// takeUp goes on with the log that was read, or clears away what others have left where the file has none.
func (db *DB) takeUp(m mark, tail wal.Tail) (err error) {
	dir := logDir(db.path)
	to := asidePath(db.path, time.Now())
	if moved, err := wal.SetAside(dir, m.log, to); err != nil {
		return err
	} else if moved {
		db.log.Warn("there was a log that is not this file's: it is set aside and not read", slog.String("folder", to))
	}
	if m.log.IsZero() {
		return wal.RemoveEnded(dir)
	}
	if tail.Dropped {
		db.log.Warn("the log ends within a record: a change that was not answered is dropped", slog.Uint64("sequence", tail.Sequence+1))
	}
	db.journal, err = wal.Resume(dir, m.log, m.Sequence, tail)
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

// append makes a group's rows durable in the log. The first begins a log, and the file names it before anything is in it.
func (db *DB) append(rows [][]byte) error {
	if db.journal == nil {
		if err := db.beginLog(); err != nil {
			return fmt.Errorf("begin the log: %w", err)
		}
	}
	took, err := db.journal.Append(rows...)
	if err != nil {
		return fmt.Errorf("append to the log: %w", err)
	}
	db.metrics.appended(took)
	if db.journal.Short() {
		db.folding.ring()
	}
	return nil
}

func (db *DB) beginLog() error {
	s := db.state.Load()
	if err := s.file.stands(db.path); err != nil {
		return err
	}
	m := db.folded
	m.term++
	if _, err := rand.Read(m.log[:]); err != nil {
		return err
	}
	log, err := wal.Create(logDir(db.path), m.log, m.Position, m.term)
	if err != nil {
		return err
	}
	crash.At(crash.BeforeLog)
	if err := s.file.Update(m.put); err != nil {
		return errors.Join(err, log.Close())
	}
	crash.At(crash.AfterLog)
	db.journal, db.folded = log, m
	return nil
}

// endLog ends the log of a store that is stopped: afterwards the file alone is whole.
func (db *DB) endLog() error {
	if db.journal == nil {
		return nil
	}
	if db.Stopped() != nil {
		return db.journal.Close() // it has what the file lacks
	}
	if err := db.state.Load().file.stands(db.path); err != nil {
		return db.journal.Close() // the file is another's now, or was wiped
	}
	err := db.Fold()
	if isNoRoom(err) {
		db.log.Warn("the disk has no room to fold the log into the file: the next to open the store does that", slog.Any("cause", err))
		return db.journal.Close()
	}
	if err == nil {
		err = db.journal.End()
	}
	if err == nil {
		crash.At(crash.BeforeAlone)
		m := db.folded
		m.log = wal.ID{}
		err = db.state.Load().file.Update(m.put)
	}
	if err != nil {
		return errors.Join(err, db.journal.Close())
	}
	crash.At(crash.AfterAlone)
	return db.journal.Remove()
}

// CheckLog reads from the disk what the log has beyond the file, and returns what of it is damaged.
func (db *DB) CheckLog() error {
	db.folding.mu.Lock() // nothing is folded while it reads, so no segment that it needs is used again
	defer db.folding.mu.Unlock()
	db.commit.Lock()
	begun, from, want := db.journal != nil, db.folded, uint64(db.state.Load().sequence)
	db.commit.Unlock()
	if !begun {
		return nil
	}
	if tail, err := db.readLog(from); err == nil && tail.Sequence >= want {
		return nil
	}
	db.commit.Lock() // the writer may have begun a segment just then: it waits for another look
	defer db.commit.Unlock()
	tail, err := db.readLog(from)
	if want = uint64(db.state.Load().sequence); err == nil && tail.Sequence < want {
		err = fmt.Errorf("the log ends with sequence %d, and %d was written", tail.Sequence, want)
	}
	return err
}

func (db *DB) readLog(from mark) (wal.Tail, error) {
	return wal.Read(logDir(db.path), from.log, from.Position, func(wal.Record) error { return nil })
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

// LogName is the folder of the log, beside the file.
const LogName = "log"

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

const markSize = pageSize/4 + 64

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
