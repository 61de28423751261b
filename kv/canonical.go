package kv

import (
	"bytes"
	"unicode/utf8"
)

// isCanonical tells an object that is canonical already, as those of our own stores are: it says no of everything that takes a
// closer look.
func isCanonical(body []byte) bool {
	s := canonicalScan{rest: body}
	return len(body) > 1 && body[0] == '{' && len(body) <= MaxDoc && s.value(0) && len(s.rest) == 0
}

// canonicalScan looks at a text from the left.
type canonicalScan struct{ rest []byte }

// take goes on beyond a byte, if that is the next.
func (s *canonicalScan) take(c byte) bool {
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *canonicalScan) value(depth int) bool {
	if len(s.rest) == 0 || depth >= MaxDocDepth {
		return false
	}
	switch s.rest[0] {
	case '{':
		return s.object(depth)
	case '[':
		return s.array(depth)
	case '"':
		_, ok := s.text()
		return ok
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.integer()
}

func (s *canonicalScan) word(w string) bool {
	ok := bytes.HasPrefix(s.rest, []byte(w))
	if ok {
		s.rest = s.rest[len(w):]
	}
	return ok
}

// integer takes a number without fraction or exponent; what else follows it is no comma or bracket.
func (s *canonicalScan) integer() bool {
	s.take('-')
	n := 0
	for n < len(s.rest) && '0' <= s.rest[n] && s.rest[n] <= '9' {
		n++
	}
	ok := n == 1 || n > 1 && s.rest[0] != '0'
	s.rest = s.rest[n:]
	return ok
}

// text takes a string in which nothing is escaped, nor need be.
func (s *canonicalScan) text() (text []byte, ok bool) {
	if !s.take('"') {
		return nil, false
	}
	ascii := true
	for i, c := range s.rest {
		switch {
		case c == '"':
			text, s.rest = s.rest[:i], s.rest[i+1:]
			return text, ascii || utf8.Valid(text)
		case c < ' ' || c == '\\' || c == 0x7f:
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

func (s *canonicalScan) array(depth int) bool {
	s.take('[')
	if s.take(']') {
		return true
	}
	for s.value(depth + 1) {
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
	return false
}

// object takes members in order; none of the outermost begins with "_".
func (s *canonicalScan) object(depth int) bool {
	s.take('{')
	if s.take('}') {
		return true
	}
	var last []byte
	for first := true; ; first = false {
		name, ok := s.text()
		switch {
		case !ok, !first && bytes.Compare(last, name) >= 0, depth == 0 && bytes.HasPrefix(name, []byte("_")):
			return false
		case !s.take(':') || !s.value(depth+1):
			return false
		case s.take('}'):
			return true
		case !s.take(','):
			return false
		}
		last = name
	}
}
