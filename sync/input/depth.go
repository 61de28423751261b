package input

import (
	"bytes"
	"io"

	"doorward/kv/merge"
)

// deepest is deeper than any document may be, with what a request has around it.
const deepest = merge.MaxDocDepth + 10

// depthLimit passes JSON on and writes 0 in the place of each value that lies too deep for a document. A decoder gives up at that depth,
// and would lose the documents beside it.
type depthLimit struct {
	from    io.Reader
	depth   int
	text    bool // within a text
	escaped bool // behind a backslash there
}

// Read reads some more.
func (s *depthLimit) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		if s.text {
			rest = rest[s.passText(rest):]
		} else {
			rest = rest[s.pass(rest):]
		}
	}
	return n, err
}

// pass goes to the next text, and returns how far that is.
func (s *depthLimit) pass(b []byte) int {
	for i, c := range b {
		deep := s.depth > deepest
		switch c {
		case '"':
			s.text = true
		case '{', '[':
			s.depth++
		case '}', ']':
			s.depth--
		}
		switch {
		case deep:
			b[i] = ' '
		case s.depth > deepest:
			b[i] = '0'
		}
		if s.text {
			return i + 1
		}
	}
	return len(b)
}

// passText goes beyond the end of a text, and returns how far that is.
func (s *depthLimit) passText(b []byte) (n int) {
	for n < len(b) && s.text {
		if s.escaped {
			s.escaped = false
			n++
			continue
		}
		rest := b[n:]
		if end := bytes.IndexByte(rest, '"'); end >= 0 {
			rest = rest[:end+1]
		}
		if at := bytes.IndexByte(rest, '\\'); at >= 0 {
			s.escaped = true
			rest = rest[:at+1]
		}
		n += len(rest)
		s.text = s.escaped || b[n-1] != '"'
	}
	if s.depth > deepest {
		for i := range b[:n] {
			b[i] = ' '
		}
	}
	return n
}
