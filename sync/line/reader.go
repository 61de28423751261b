package line

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"doorward/sync/input"

	"github.com/go-json-experiment/json/jsontext"
)

// Error is a line that is wrong, or that other lines are missing before.
type Error struct {
	Line   int // counted from 1
	Reason string
}

// Error says which line and why.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// ErrUnmarked is a sender that writes lines without a mark and without end.
var ErrUnmarked = errors.New("too many lines without a mark")

// Reader reads lines, counts them, and compares the count with each mark and with the last line.
type Reader struct {
	from   *bufio.Reader
	unread []byte // read, and not yet given on: a line, or a part of a long one
	ended  error  // of from
	dec    *jsontext.Decoder
	Line   int // the number of the latest line
	count  int // of revisions, and of what has left
}

// lineBuffer is larger than most lines.
const lineBuffer = 64 << 10

// NewReader reads lines from a stream that is decompressed.
func NewReader(from io.Reader) *Reader {
	s := &Reader{from: bufio.NewReaderSize(from, lineBuffer)}
	s.dec = input.NewDecoder(s)
	return s
}

// Read reads for the decoder. It gives no more than the present line.
func (s *Reader) Read(p []byte) (int, error) {
	if len(s.unread) == 0 {
		s.fill()
	}
	n := copy(p, s.unread)
	s.unread = s.unread[n:]
	if n == 0 {
		return 0, s.ended
	}
	return n, nil
}

// fill reads up to the end of a line, or as much of it as the buffer holds.
func (s *Reader) fill() {
	if s.ended != nil {
		return
	}
	var err error
	if s.unread, err = s.from.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
		s.ended = err
	}
}

// scanNext scans the next line, if it can be scanned and the decoder has read nothing of it.
func (s *Reader) scanNext() (l Line, ok bool) {
	if len(s.unread)+len(bytes.TrimSpace(s.dec.UnreadBuffer())) > 0 {
		return l, false
	}
	s.fill()
	if l, ok = scan(s.unread); ok {
		s.unread = nil
	}
	return l, ok
}

// Each calls fn with each revision, each removed document and each mark that is right, and returns the last line. It returns *Error for a
// wrong line, and the reader's error if the lines break off.
func (s *Reader) Each(fn func(*Line) error) (last Foot, err error) {
	for {
		l, err := s.next()
		switch {
		case err != nil:
			return last, err
		case l.foot != nil:
			return *l.foot, s.end()
		case l.Mark == nil && l.Seq == nil:
			continue // the first line, or one of a later version
		}
		if err := fn(&l); err != nil {
			return last, err
		}
	}
}

func (s *Reader) next() (l Line, err error) {
	s.Line++
	l, ok := s.scanNext()
	if !ok {
		l, err = Parse(s.dec)
	}
	switch {
	case err != nil && s.isCut(err):
		return l, err
	case err != nil:
		return l, s.wrong("it cannot be read")
	case l.foot != nil || l.Mark != nil:
		if l.count != s.count {
			return l, s.wrong(fmt.Sprintf("%d lines should be before it, and there are %d", l.count, s.count))
		}
	case l.Seq == nil:
	case l.Revision == nil && l.Removed == "":
		return l, s.wrong("it holds no revision of a document")
	default:
		s.count++
	}
	return l, nil
}

// end returns an error if something follows the last line.
func (s *Reader) end() error {
	_, err := s.dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil && s.isCut(err):
		return input.Wrap(err)
	}
	s.Line++
	return s.wrong("the line before it should be the last")
}

// isCut tells whether the lines broke off; otherwise one of them is wrong.
func (s *Reader) isCut(err error) bool {
	return s.ended != nil && !errors.Is(s.ended, io.EOF) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (s *Reader) wrong(reason string) error { return &Error{s.Line, reason} }
