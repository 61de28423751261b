package wal

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
)

// ErrGone is a sequence of which the log has no record any more.
var ErrGone = errors.New("the log has let go of that sequence")

// Follower reads the durable records of a log in order, while it is appended to. One goroutine uses it.
type Follower struct {
	log     *Log
	at      uint64 // sequence of the last record that was read
	segment *segment
	index   uint64 // of the segment when offset was set
	offset  int64
	buf     []byte
}

// Follow reads from behind a sequence on: ErrGone where the record after it is not there any more.
func (l *Log) Follow(behind uint64) (*Follower, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &Follower{log: l, at: behind}
	if behind > l.end.Sequence || behind < l.end.Sequence && l.holds(l.id, behind+1) == nil {
		return nil, ErrGone
	}
	return f, nil
}

// Next waits for the next record and returns it: ErrGone, or the error of the context. The payload is valid until the next call.
func (f *Follower) Next(ctx context.Context) (Record, error) {
	for {
		s, said, err := f.pin()
		if err != nil {
			return Record{}, err
		}
		if s != nil {
			return f.read(s)
		}
		select {
		case <-said:
		case <-ctx.Done():
			return Record{}, ctx.Err()
		}
	}
}

// pin finds the segment with the next record, and keeps it from being used again. It returns nil, and what is closed by the next record, where there
// is none yet.
func (f *Follower) pin() (*segment, <-chan struct{}, error) {
	l := f.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.at == l.end.Sequence {
		return nil, l.said, nil
	}
	s := l.holds(l.id, f.at+1)
	if s == nil {
		return nil, nil, ErrGone
	}
	if err := s.open(); err != nil {
		return nil, nil, err
	}
	if f.segment != s || f.index != s.index {
		f.segment, f.index, f.offset = s, s.index, firstByte
	}
	s.pins++
	return s, nil, nil
}

// read reads the next record of a segment that is pinned, and lets go of it.
func (f *Follower) read(s *segment) (r Record, err error) {
	defer func() {
		f.log.mu.Lock()
		defer f.log.mu.Unlock()
		s.pins--
	}()
	for r.Sequence <= f.at {
		f.buf = slices.Grow(f.buf[:0], recordHead)[:recordHead]
		if _, err := s.file.ReadAt(f.buf, f.offset); err != nil {
			return r, err
		}
		n := int(binary.BigEndian.Uint32(f.buf[4:]))
		if int64(n) > s.size-f.offset-recordHead {
			return r, ErrGone // the segment was erased just now
		}
		f.buf = slices.Grow(f.buf, n)[:recordHead+n]
		if _, err := s.file.ReadAt(f.buf, f.offset); err != nil {
			return r, err
		}
		found, ok := f.log.id.parse(f.buf)
		if !ok {
			return r, ErrGone // as above
		}
		r = found.Record
		f.offset += int64(found.size)
	}
	f.at = r.Sequence
	return r, nil
}
