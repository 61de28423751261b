package sync

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// LineError is a line that is wrong, or before which others are missing.
type LineError struct {
	Line   int // counted from 1
	Reason string
}

// Error says which and why.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// errUnmarked is a peer that leaves us holding lines for ever.
var errUnmarked = errors.New("too many lines without a mark")

// lines reads lines, counts them, and compares that with what marks and the last line say.
type lines struct {
	from  *bufio.Reader
	held  []byte // what has been read and nobody has had yet: a line, or a part of one that is long
	ended error  // of from
	dec   *jsontext.Decoder
	line  int // the number of the latest
	count int // of revisions, and of what has left
}

// lineBuffer holds most lines whole.
const lineBuffer = 64 << 10

func newLines(from io.Reader) *lines {
	s := &lines{from: bufio.NewReaderSize(from, lineBuffer)}
	s.dec = newDecoder(s)
	return s
}

// Read reads for the decoder, which is given no more than the line that it reads.
func (s *lines) Read(p []byte) (int, error) {
	if len(s.held) == 0 {
		s.hold()
	}
	n := copy(p, s.held)
	s.held = s.held[n:]
	if n == 0 {
		return 0, s.ended
	}
	return n, nil
}

// hold reads up to the end of a line, as far as there is room for.
func (s *lines) hold() {
	if s.ended != nil {
		return
	}
	var err error
	if s.held, err = s.from.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
		s.ended = err
	}
}

// cut cuts the line that comes next, where it is one that can be cut and the decoder has nothing of it.
func (s *lines) cut() (l line, ok bool) {
	if len(s.held)+len(bytes.TrimSpace(s.dec.UnreadBuffer())) > 0 {
		return l, false
	}
	s.hold()
	if l, ok = cutLine(s.held); ok {
		s.held = nil
	}
	return l, ok
}

// each calls fn with each line of a revision, of what has left, and each mark that is right, and answers the last line: *LineError
// for what is wrong with them, or the error with which they break off.
func (s *lines) each(fn func(*line) error) (last foot, err error) {
	for {
		l, err := s.next()
		switch {
		case err != nil:
			return last, err
		case l.foot != nil:
			return *l.foot, s.end()
		case l.mark == nil && l.seq == nil:
			continue // the first, or of a later version
		}
		if err := fn(&l); err != nil {
			return last, err
		}
	}
}

func (s *lines) next() (l line, err error) {
	s.line++
	l, ok := s.cut()
	if !ok {
		l, err = readLine(s.dec)
	}
	switch {
	case err != nil && s.isCut(err):
		return l, err
	case err != nil:
		return l, s.wrong("it cannot be read")
	case l.foot != nil || l.mark != nil:
		if l.count != s.count {
			return l, s.wrong(fmt.Sprintf("%d lines should be before it, and there are %d", l.count, s.count))
		}
	case l.seq == nil:
	case l.replica == nil && l.removed == "":
		return l, s.wrong("it holds no revision of a document")
	default:
		s.count++
	}
	return l, nil
}

// end wants nothing to follow the last line.
func (s *lines) end() error {
	_, err := s.dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil && s.isCut(err):
		return badBody(err)
	}
	s.line++
	return s.wrong("the line before it should be the last")
}

// isCut tells that there was no more to read, from what was wrong.
func (s *lines) isCut(err error) bool {
	return s.ended != nil && !errors.Is(s.ended, io.EOF) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (s *lines) wrong(reason string) error { return &LineError{s.line, reason} }

// readLines is each for lines of a source: errCut where they break off.
func readLines(s *lines, fn func(*line) error) (last foot, err error) {
	var ours error
	last, err = s.each(func(l *line) error {
		ours = fn(l)
		return ours
	})
	var wrong *LineError
	if err == nil || ours != nil || errors.As(err, &wrong) {
		return last, err
	}
	return last, errCut
}
