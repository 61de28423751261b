package wal

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"doorward/kv/disk"
)

// Log is a log that is appended to. One goroutine at a time appends, reserves, cuts and releases; the other methods may be called beside it.
type Log struct {
	shelf
	id   ID
	term uint64
	buf  []byte        // of the record that is appended; reused
	end  Position      // of the last durable record; guarded by mu
	at   int64         // where the next record goes in the last of live; guarded by mu
	said chan struct{} // closed, and made again, when end moves
}

// Create begins a log behind a position, in a folder that it makes. No record is in it. Segments that nothing was
// written to are used.
func Create(dir string, id ID, behind Position, term uint64) (*Log, error) {
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	all, err := list(dir)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s *segment) bool { return !s.bare })
	l := &Log{shelf: shelf{dir: dir, spare: all}, id: id, term: term, end: behind, said: make(chan struct{})}
	if err := l.rotate(0); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Resume goes on with a log that Read has read to its tail. The next record begins a new segment in the next term. No segment is used again before
// the first Release: the position that was read from may not be on the disk yet.
func Resume(dir string, id ID, t Tail) (*Log, error) {
	all, err := list(dir)
	if err != nil {
		return nil, err
	}
	l := &Log{shelf: shelf{dir: dir, index: t.Index}, id: id, term: t.Term + 1, end: t.Position, said: make(chan struct{})}
	for _, s := range all {
		switch {
		case s.used && s.id == id:
			l.live = append(l.live, s)
		case s.bare:
			l.spare = append(l.spare, s)
		}
	}
	for i, s := range l.live {
		s.last = t.Sequence
		if i+1 < len(l.live) {
			s.last = l.live[i+1].first - 1
		}
	}
	l.at = l.last().size // the next record begins another one
	if err := l.rewrite(t); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// makeFolder makes the log's folder, but none above it.
func makeFolder(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return disk.SyncDir(filepath.Dir(dir))
}

// rewrite writes the last record once more, with the same bytes, and syncs it: it may have been read from what the system held of a write that
// never reached the disk.
func (l *Log) rewrite(t Tail) error {
	f, err := os.OpenFile(t.segment, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	b := make([]byte, t.size)
	if _, err = f.ReadAt(b, t.at); err == nil {
		_, err = f.WriteAt(b, t.at)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), disk.SyncDir(l.dir))
}

// Took is how long the parts of an append took.
type Took struct{ Write, Sync time.Duration }

// Append writes a record, with its payload given in pieces, and returns when it is durable. After an error nothing may be appended any more.
func (l *Log) Append(payload ...[]byte) (took Took, err error) {
	start := time.Now()
	l.buf = l.record(l.buf[:0], kindBatch, payload)
	s, err := l.write()
	if err != nil {
		return took, err
	}
	took.Write = time.Since(start)
	if err := disk.SyncData(s.file); err != nil {
		return took, err
	}
	took.Sync = time.Since(start) - took.Write
	f, _, _ := head(l.buf)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = Position{f.Sequence, f.Chain}
	s.last = f.Sequence
	l.at += int64(aligned(len(l.buf)))
	close(l.said)
	l.said = make(chan struct{})
	return took, nil
}

// record makes the next record of a kind.
func (l *Log) record(b []byte, kind uint32, payload [][]byte) []byte {
	f := found{kind: kind, chain: l.end.Chain}
	f.Term, f.Sequence = l.term, l.end.Sequence
	if kind == kindBatch {
		f.Sequence++
	}
	b = appendHead(b, f)
	for _, p := range payload {
		b = append(b, p...)
	}
	n := uint32(len(b) - recordHead)
	b[4], b[5], b[6], b[7] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	sum := l.id.sum(b)
	b[0], b[1], b[2], b[3] = byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)
	return b
}

// write writes the record that is made, behind the last one or into another segment.
func (l *Log) write() (*segment, error) {
	last := l.last()
	if last == nil || l.at+int64(len(l.buf)) > last.size {
		if err := l.rotate(len(l.buf)); err != nil {
			return nil, err
		}
		last = l.last()
	}
	_, err := last.file.WriteAt(l.buf, l.at)
	return last, err
}

// rotate begins a segment that has room for a record of so many bytes. Its header is durable before any record lies behind it.
func (l *Log) rotate(need int) error {
	if err := l.ready(int64(need) + firstByte); err != nil {
		return err
	}
	s := l.next
	s.header = header{id: l.id, index: l.index + 1, term: l.term, first: l.end.Sequence + 1, chain: l.end.Chain, bytes: uint64(s.size)}
	s.used, s.bare, s.zero, s.last = true, false, false, l.end.Sequence
	_, err := s.file.WriteAt(s.encode(), 0)
	if err == nil {
		err = disk.SyncData(s.file)
	}
	if err != nil {
		return fmt.Errorf("begin a segment: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.last(); before != nil && before.pins == 0 {
		_ = before.close() // it is durable, and opened again where it is needed
	}
	l.live, l.next, l.at, l.index = append(l.live, s), nil, firstByte, s.index
	return nil
}

// Short tells that a spare segment will be needed soon, and none is there: the last one is half full.
func (l *Log) Short() bool {
	size := l.nextSize()
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.last()
	return last != nil && l.at > last.size/2 && !slices.ContainsFunc(l.spare, func(s *segment) bool { return l.serves(s, min(size, last.size)) })
}

// Prepare makes a spare segment where the log is short of one.
func (l *Log) Prepare() error {
	if !l.Short() {
		return nil
	}
	return l.addSpare(l.nextSize())
}

// Reserve makes sure that a record of so many bytes finds room in the last segment, or takes and opens the one that the record will begin. To append
// the record is then to write and to sync alone. Where Reserve fails the log is as it was, and may be appended to.
func (l *Log) Reserve(payload int) error {
	need := int64(recordHead + payload)
	if last := l.last(); last != nil && l.at+need <= last.size {
		return nil
	}
	return l.ready(need + firstByte)
}

// addSpare makes a spare segment.
func (l *Log) addSpare(size int64) error {
	s, err := l.make(size)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare = append(l.spare, s)
	return s.close()
}

// ErrNoSegment is a segment that cannot be made or opened.
var ErrNoSegment = errors.New("no segment can be made or opened")

// Cut begins a segment, so that Release can let go of all records up to now, and Erase can write over them. In no segment that is begun from now on lies
// an old byte behind the records. It returns ErrNoSegment where none can be made or opened: the log is as it was, once Erase was called.
func (l *Log) Cut() error {
	l.mu.Lock()
	l.cut = l.index + 1
	if s := l.next; s != nil && !s.zero {
		l.spare, l.next = append(l.spare, s), nil
	}
	l.mu.Unlock()
	if err := l.ready(firstByte); err != nil {
		return fmt.Errorf("%w: %w", ErrNoSegment, err)
	}
	return l.rotate(0)
}

// End writes that the log ends here. Nothing may be appended any more.
func (l *Log) End() error {
	l.buf = l.record(l.buf[:0], kindEnd, nil)
	s, err := l.write()
	if err != nil {
		return err
	}
	return disk.SyncData(s.file)
}

// Remove closes the log and removes its files, those with the last records at the end.
func (l *Log) Remove() error {
	if err := l.Close(); err != nil {
		return err
	}
	return RemoveEnded(l.dir)
}

// Tail is the position of the last durable record.
func (l *Log) Tail() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// removeAll removes segments, oldest first, and then the folder if it is empty.
func removeAll(dir string, all []*segment) error {
	for _, s := range all {
		if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(all) > 0 {
		if err := disk.SyncDir(dir); err != nil {
			return err
		}
	}
	_ = os.Remove(dir) // another's file may lie there
	return disk.SyncDir(filepath.Dir(dir))
}

// The sizes of new segments: each is twice as large as the one before, within these limits, and large enough for its first record.
const (
	smallest = 256 << 10
	largest  = 4 << 20
)

// shelf has the segments of a log: those with records that are needed, in order, and behind them those that can be used again.
type shelf struct {
	dir   string
	mu    sync.Mutex // guards what follows, and the pins of segments
	live  []*segment
	next  *segment      // open, and taken for the next rotation; nil = none is. The appender alone sets it
	spare []*segment    // the oldest first
	index uint64        // of the latest segment
	cut   uint64        // index of the segment that Cut has begun: until Erase ends, one with old bytes of before is not used again. 0 = each may be
	names atomic.Uint32 // the latest name of a file
}

// last is the segment that is written to; nil = there is none.
func (sh *shelf) last() *segment {
	if len(sh.live) == 0 {
		return nil
	}
	return sh.live[len(sh.live)-1]
}

// ready takes a spare segment with so much room for the next rotation, or makes one, and opens it. Where that fails the log is as it was.
func (sh *shelf) ready(room int64) (err error) {
	if sh.next != nil && sh.next.size >= room {
		return nil
	}
	s := sh.takeSpare(room)
	if s == nil {
		if s, err = sh.make(max(room, sh.nextSize())); err != nil {
			return err
		}
	}
	err = s.open()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if err != nil {
		sh.spare = append(sh.spare, s)
		return err
	}
	if sh.next != nil {
		sh.spare = append(sh.spare, sh.next)
	}
	sh.next = s
	return nil
}

// takeSpare takes a spare segment with so much room; nil = there is none.
func (sh *shelf) takeSpare(room int64) *segment {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for i, s := range sh.spare {
		if sh.serves(s, room) && s.pins == 0 {
			sh.spare = slices.Delete(sh.spare, i, i+1)
			return s
		}
	}
	return nil
}

// serves tells whether a spare segment has so much room and may be used again.
func (sh *shelf) serves(s *segment, room int64) bool {
	return s.size >= room && (s.zero || s.index >= sh.cut)
}

// nextSize is how large the next segment is.
func (sh *shelf) nextSize() int64 {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	size := int64(smallest)
	for _, s := range sh.all() {
		size = max(size, min(2*s.size, largest))
	}
	return size
}

// make makes a file of zeros, durably.
func (sh *shelf) make(size int64) (*segment, error) {
	for {
		path := filepath.Join(sh.dir, fmt.Sprintf("%08x%s", sh.names.Add(1), suffix))
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s := &segment{path: path, size: size, file: f}
		if err = s.erase(); err == nil {
			err = disk.SyncDir(sh.dir)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close(), os.Remove(path))
		}
		return s, nil
	}
}

// Release says that records up to a sequence are needed no more. Segments that have no others become spare ones.
func (sh *shelf) Release(sequence uint64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for len(sh.live) > 1 && sh.live[0].last <= sequence && sh.live[1].first <= sequence+1 {
		if sh.live[0].pins == 0 {
			_ = sh.live[0].close() // as in rotate
		}
		sh.spare = append(sh.spare, sh.live[0])
		sh.live = sh.live[1:]
	}
}

// Erase writes zeros over the segments that are spare now, durably. It takes one at a time, so that the appender finds the others and makes none.
func (sh *shelf) Erase() (err error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	upTo := sh.index
	for err == nil {
		s := sh.takeOld(upTo)
		if s == nil {
			break
		}
		s.used = false // followers do not find it any more
		sh.mu.Unlock()
		err = s.erase()
		sh.mu.Lock()
		if s.pins == 0 {
			err = errors.Join(err, s.close())
		}
		sh.spare = slices.Insert(sh.spare, 0, s)
	}
	sh.cut = 0
	return err
}

// takeOld takes a spare segment with old bytes, of an index up to this one; nil = there is none. The caller holds mu.
func (sh *shelf) takeOld(upTo uint64) *segment {
	i := slices.IndexFunc(sh.spare, func(s *segment) bool { return !s.zero && s.index <= upTo })
	if i < 0 {
		return nil
	}
	s := sh.spare[i]
	sh.spare = slices.Delete(sh.spare, i, i+1)
	return s
}

// holds is the segment that has a record of a log.
func (sh *shelf) holds(id ID, sequence uint64) *segment {
	for _, s := range slices.Concat(sh.live, sh.spare) {
		if s.used && s.id == id && s.first <= sequence && sequence <= s.last {
			return s
		}
	}
	return nil
}

// Segments is how many segments hold records that are needed, and how many are spare.
func (sh *shelf) Segments() (live, spare int) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return len(sh.live), len(sh.all()) - len(sh.live)
}

// all are the segments that hold records, and those that can be used.
func (sh *shelf) all() []*segment {
	if sh.next != nil {
		return slices.Concat(sh.live, []*segment{sh.next}, sh.spare)
	}
	return slices.Concat(sh.live, sh.spare)
}

// Close closes the files.
func (sh *shelf) Close() (err error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, s := range sh.all() {
		err = errors.Join(err, s.close())
	}
	return err
}

// ID names a log. It is drawn at random.
type ID [16]byte

// IsZero tells an ID that names no log.
func (id ID) IsZero() bool { return id == ID{} }

// String is the ID in hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Position is a place in a log, behind a record.
type Position struct {
	Sequence uint64 // of the record
	Chain    uint32 // its checksum
}

// Record is a good record as it was read. Its payload is valid until the function that was given it returns.
type Record struct {
	Sequence uint64
	Term     uint64
	Chain    uint32 // the record's own checksum
	Payload  []byte
}

const (
	recordHead = 32
	alignment  = 8
	kindBatch  = 1
	kindEnd    = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// found is what lies at a place of a segment.
type found struct {
	Record
	kind  uint32
	chain uint32 // of the record before
	size  int    // of the whole record, with what it takes to the next multiple of 8
}

// aligned is the next multiple of 8.
func aligned(n int) int { return (n + alignment - 1) &^ (alignment - 1) }

// sum is the checksum of a record that lies whole in b.
func (id ID) sum(b []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, id[:]), castagnoli, b[4:])
}

// appendHead appends a record's head. The checksum is set by seal once the payload follows.
func appendHead(b []byte, f found) []byte {
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.Payload)))
	b = binary.BigEndian.AppendUint32(b, f.chain)
	b = binary.BigEndian.AppendUint32(b, f.kind)
	b = binary.BigEndian.AppendUint64(b, f.Term)
	return binary.BigEndian.AppendUint64(b, f.Sequence)
}

// head reads the head of what may be a record; ok is false where b is too short for it.
func head(b []byte) (f found, length int, ok bool) {
	if len(b) < recordHead {
		return f, 0, false
	}
	n := binary.BigEndian.Uint32(b[4:])
	if uint64(n) > uint64(len(b)-recordHead) {
		return f, 0, false
	}
	f.Chain = binary.BigEndian.Uint32(b)
	f.chain = binary.BigEndian.Uint32(b[8:])
	f.kind = binary.BigEndian.Uint32(b[12:])
	f.Term = binary.BigEndian.Uint64(b[16:])
	f.Sequence = binary.BigEndian.Uint64(b[24:])
	return f, int(n), true
}

// parse reads the record that begins b: ok tells that its checksum fits.
func (id ID) parse(b []byte) (f found, ok bool) {
	f, n, ok := head(b)
	if !ok || f.kind != kindBatch && f.kind != kindEnd || f.kind == kindEnd && n > 0 {
		return f, false
	}
	f.Payload = b[recordHead : recordHead+n]
	f.size = aligned(recordHead + n)
	return f, id.sum(b[:recordHead+n]) == f.Chain
}

// follows tells whether a record is the next behind a position.
func (f *found) follows(at Position) bool {
	if f.chain != at.Chain {
		return false
	}
	return f.kind == kindBatch && f.Sequence == at.Sequence+1 || f.kind == kindEnd && f.Sequence == at.Sequence
}
