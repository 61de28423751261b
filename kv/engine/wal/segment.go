package wal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doorward/kv/disk"
)

const (
	magic      = "doorwlog"
	headerSize = 64
	firstByte  = 512 // where records begin
	suffix     = ".seg"
)

// header is what the beginning of a segment says.
type header struct {
	id    ID
	index uint64
	term  uint64
	first uint64 // sequence of the segment's first record
	chain uint32 // of the record before that
	bytes uint64 // that the file has
}

func (h *header) encode() []byte {
	b := append(make([]byte, 0, firstByte), magic...)
	b = append(b, h.id[:]...)
	b = binary.BigEndian.AppendUint64(b, h.index)
	b = binary.BigEndian.AppendUint64(b, h.term)
	b = binary.BigEndian.AppendUint64(b, h.first)
	b = binary.BigEndian.AppendUint32(b, h.chain)
	b = binary.BigEndian.AppendUint64(b, h.bytes)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return append(b, make([]byte, firstByte-len(b))...)
}

// decodeHeader reads a header; ok is false where there is none, or it is damaged.
func decodeHeader(b []byte) (h header, ok bool) {
	if len(b) < headerSize || string(b[:8]) != magic || binary.BigEndian.Uint32(b[headerSize-4:]) != crc32.Checksum(b[:headerSize-4], castagnoli) {
		return h, false
	}
	copy(h.id[:], b[8:])
	h.index = binary.BigEndian.Uint64(b[24:])
	h.term = binary.BigEndian.Uint64(b[32:])
	h.first = binary.BigEndian.Uint64(b[40:])
	h.chain = binary.BigEndian.Uint32(b[48:])
	h.bytes = binary.BigEndian.Uint64(b[52:])
	return h, true
}

// segment is a file of a log.
type segment struct {
	header
	path string
	size int64
	used bool     // it has a header; what has none holds nothing, or is damaged
	bare bool     // its first sector is zeros: it was made or erased, and not used since
	zero bool     // all of it is, for certain
	file *os.File // nil until it is written to or read by a follower
	last uint64   // sequence of its last record; a segment without one has first-1
	pins int      // followers that read it
}

func (s *segment) name() string { return filepath.Base(s.path) }

func (s *segment) close() error {
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.Close()
}

// open opens the file.
func (s *segment) open() (err error) {
	if s.file == nil {
		s.file, err = os.OpenFile(s.path, os.O_RDWR, 0)
	}
	return err
}

// zeroPiece is how much is written over at once. The system may keep what was written together as one piece, and give the whole piece to the disk when a
// record changes a part of it.
const zeroPiece = 4 << 10

// erase writes zeros over the whole file, durably.
func (s *segment) erase() error {
	if err := s.open(); err != nil {
		return err
	}
	zeros := make([]byte, min(s.size, zeroPiece))
	for at := int64(0); at < s.size; at += int64(len(zeros)) {
		if _, err := s.file.WriteAt(zeros[:min(int64(len(zeros)), s.size-at)], at); err != nil {
			return err
		}
	}
	s.header, s.used, s.bare, s.last = header{}, false, true, 0
	err := s.file.Sync()
	s.zero = err == nil
	return err
}

// list looks at the segments in a folder. Those with a header come in the order of their indexes.
func list(dir string) (all []*segment, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if number, ok := strings.CutSuffix(e.Name(), suffix); !ok || !isNumber(number) || !e.Type().IsRegular() {
			continue
		}
		s, failed := look(filepath.Join(dir, e.Name()))
		if errors.Is(failed, fs.ErrNotExist) {
			continue // it was removed just now, so nothing of it is needed
		}
		if failed != nil {
			return nil, failed
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b *segment) int { return cmp.Compare(a.index, b.index) })
	return all, err
}

func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 16, 32)
	return err == nil
}

// look reads a segment's header.
func look(path string) (*segment, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, firstByte)
	n, err := f.ReadAt(b, 0)
	s := &segment{path: path, size: info.Size(), bare: isZero(b[:n])}
	if n < len(b) {
		return s, nil // it was not written to its end
	}
	s.header, s.used = decodeHeader(b)
	s.last = s.first - 1
	return s, err
}

// isZero tells bytes that are all zeros.
func isZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// RemoveEnded removes segments of logs that have ended (Log.End), and segments without records. Those with the end go last, so that a log
// of which some are removed is still known to have ended.
func RemoveEnded(dir string) error {
	all, err := list(dir)
	if err != nil || all == nil {
		return err
	}
	strays := strays(all, ID{})
	gone := slices.DeleteFunc(slices.Clone(all), func(s *segment) bool { return slices.Contains(strays, s) })
	if len(gone) == 0 && len(all) > 0 {
		return nil
	}
	return removeAll(dir, gone)
}

// SetAside moves the segments of all other logs that have not ended into another folder. It tells whether there were any.
func SetAside(dir string, but ID, to string) (moved bool, err error) {
	all, err := list(dir)
	if err != nil {
		return false, err
	}
	others := strays(all, but)
	if len(others) == 0 {
		return false, nil
	}
	if err := disk.MakeFolder(to); err != nil {
		return false, err
	}
	for _, s := range others {
		if err := os.Rename(s.path, filepath.Join(to, s.name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	return true, errors.Join(disk.SyncDir(to), disk.SyncDir(dir))
}

// strays are the segments of logs that have not ended, but for one log, and those that are damaged.
func strays(all []*segment, but ID) (found []*segment) {
	ended := map[ID]bool{but: true}
	for _, s := range all { // the last of a log's segments decides
		if s.used && s.id != but {
			ended[s.id] = s.ends()
		}
	}
	for _, s := range all {
		if s.used && !ended[s.id] || !s.used && !s.bare {
			found = append(found, s)
		}
	}
	return found
}

// ends tells whether a segment has the end of its log.
func (s *segment) ends() bool {
	r := &reading{id: s.id, each: func(Record) error { return nil }}
	r.tail.Position = Position{s.first - 1, s.chain}
	r.tail.Index = s.index - 1
	return r.segment(s, true) == nil && r.tail.Ended
}
