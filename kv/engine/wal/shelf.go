package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"doorward/kv/disk"
)

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
