package input

import (
	"errors"
	"io"
)

// Spool keeps a body until it is read again: the first bytes in memory, the rest in a file. The zero Spool keeps nothing yet.
type Spool struct {
	Memory int                  // how many bytes stay in memory
	Open   func() (File, error) // makes the file
	pieces [][]byte             // each of pieceSize, but the last
	file   File                 // nil = there is none
	size   int64
}

// File is where the rest of a Spool lies. Close removes it.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// pieceSize is how much memory a Spool takes at a time, and how much it writes.
const pieceSize = 64 << 10

// Size is how many bytes are kept.
func (s *Spool) Size() int64 { return s.size }

// Fill keeps all that a reader gives. It calls seen with each piece.
func (s *Spool) Fill(from io.Reader, seen func([]byte) error) error {
	var beyond []byte
	for {
		var room []byte
		switch {
		case s.size%pieceSize == 0 && s.size < int64(s.Memory):
			s.pieces = append(s.pieces, make([]byte, 0, pieceSize))
			fallthrough
		case s.size < int64(s.Memory):
			last := s.pieces[len(s.pieces)-1]
			room = last[len(last):cap(last)]
		case beyond == nil:
			if err := s.begin(); err != nil {
				return err
			}
			beyond = make([]byte, pieceSize)
			fallthrough
		default:
			room = beyond
		}
		n, err := from.Read(room)
		if failed := s.keep(room[:n], seen); failed != nil {
			return failed
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return broken(err)
		}
	}
}

// broken returns what a client is told of a body that could not be read.
func broken(err error) error {
	if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrRatio) {
		return err
	}
	return ErrBroken
}

// keep keeps some bytes that were read into the last piece of memory, or that the file gets.
func (s *Spool) keep(some []byte, seen func([]byte) error) error {
	if s.size < int64(s.Memory) {
		last := &s.pieces[len(s.pieces)-1]
		*last = (*last)[:len(*last)+len(some)]
	} else if _, err := s.file.Write(some); err != nil {
		return err
	}
	s.size += int64(len(some))
	return seen(some)
}

// begin makes the file, unless it is there.
func (s *Spool) begin() (err error) {
	if s.file == nil {
		s.file, err = s.Open()
	}
	return err
}

// ReadAt reads bytes that are kept.
func (s *Spool) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) && at < s.size && at < int64(s.Memory) {
		piece := s.pieces[at/pieceSize]
		some := copy(p[n:], piece[at%pieceSize:])
		n, at = n+some, at+int64(some)
	}
	switch {
	case n == len(p):
		return n, nil
	case at >= s.size:
		return n, io.EOF
	}
	some, err := s.file.ReadAt(p[n:], at-int64(s.Memory))
	return n + some, err
}

// Close forgets all.
func (s *Spool) Close() error {
	s.pieces = nil
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
