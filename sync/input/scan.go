package input

import (
	"bytes"
	"fmt"

	"doorward/kv/merge"

	"github.com/go-json-experiment/json/jsontext"
)

// Found is a value that a Scanner has found, with the places at which it begins and ends.
type Found struct {
	Depth    int // of the lists and objects around it
	From, To int64
	Kind     byte // the first
}

// Size is how many bytes the value takes.
func (f Found) Size() int64 { return f.To - f.From }

// foundDepth is up to where a Scanner calls Found: the members of an attachment, within a document, within a list of them.
const foundDepth = 5

// tooDeep is how many lists and objects a value may have around it: those of a document, and of the list and the object that it is in.
const tooDeep = merge.MaxDocDepth + 2

// Scanner reads one JSON value of any size, piece by piece, and keeps nothing of it. It takes what a document may have got wrong without spoiling
// its neighbours: a name twice, text that is not UTF-8, half a surrogate, and any depth. What lies too deep for a document need not even be JSON.
type Scanner struct {
	Found func(*Found) error // is called with each value up to foundDepth, at its end. An error ends the scan
	Deep  int64              // where the first bracket that is too deep stands; -1: there is none. Found may set it again

	at    int64 // of the next byte
	state scanState
	depth int
	kinds [tooDeep + 1]byte // '{' or '[', from the outermost on
	open  [foundDepth + 1]Found
	names [foundDepth + 1]scannedName
	word  string // what is left of a literal
	hex   int    // digits that are left of an escape
	name  bool   // the text is a member's name
}

// scannedName is the name of a member, without its quotes; only its beginning if it is long.
type scannedName struct {
	text [64]byte
	size int
}

// scanState is what a Scanner expects.
type scanState byte

const (
	anyValue   scanState = iota
	firstItem            // a value, or the end of the list
	firstName            // a name, or the end of the object
	nextName             // a name
	colon                // between a name and its value
	afterValue           // a comma, or the end of the list or object
	inText
	inEscape // behind a backslash
	inHex    // within \uXXXX
	inWord   // within true, false or null
	minus    // behind a sign
	zero     // behind a leading zero
	digits
	point    // behind a decimal point
	decimals // behind a digit after it
	exponent // behind an e
	expSign  // behind its sign
	expDigits
	inDeep     // too deep
	inDeepText // within a text there
	inDeepEscape
	ended
)

// NewScanner makes a Scanner.
func NewScanner(found func(*Found) error) *Scanner { return &Scanner{Found: found, Deep: -1} }

// syntaxError says what a Scanner has met where it can be none of JSON.
type syntaxError string

func (e syntaxError) Error() string { return string(e) }

// At is the place at which a Scanner stops, or goes on.
func (s *Scanner) At() int64 { return s.at }

// isNamed reports whether the value that is being read with so many lists and objects around it is a member of this name.
func (s *Scanner) isNamed(depth int, name string) bool {
	n := &s.names[depth]
	if s.kinds[depth-1] != '{' || n.size > len(n.text) {
		return false
	}
	if text := n.text[:n.size]; bytes.IndexByte(text, '\\') < 0 {
		return string(text) == name
	}
	text, err := jsontext.AppendUnquote(nil, `"`+string(n.text[:n.size])+`"`)
	return err == nil && string(text) == name
}

// plain are the bytes of a text that mean nothing else.
var plain = func() (is [256]bool) {
	for c := range is {
		is[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return is
}()

// Scan reads the next piece. It returns the error of Found, or one of what cannot be JSON.
func (s *Scanner) Scan(p []byte) error {
	for i := 0; i < len(p); {
		n, err := s.step(p[i:])
		i += n
		s.at += int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}

// End returns an error if the value is not whole.
func (s *Scanner) End() error {
	if s.depth == 0 && s.isNumber() {
		if err := s.end(s.at); err != nil {
			return err
		}
	}
	if s.state != ended {
		return syntaxError("unexpected EOF")
	}
	return nil
}

// isNumber reports whether a number could end here.
func (s *Scanner) isNumber() bool {
	return s.state == zero || s.state == digits || s.state == decimals || s.state == expDigits
}

// step reads some of a piece and returns how much.
func (s *Scanner) step(p []byte) (n int, err error) {
	c := p[0]
	switch s.state {
	case inText:
		return s.scanText(p)
	case inEscape:
		if err := s.escape(c); err != nil {
			return 0, err
		}
		return 1, nil
	case inHex:
		if !isHex(c) {
			return 0, syntaxError("invalid escape sequence in string")
		}
		if s.hex--; s.hex == 0 {
			s.state = inText
		}
		s.keepName(c)
		return 1, nil
	case inWord:
		if c != s.word[0] {
			return 0, s.unexpected(c)
		}
		if s.word = s.word[1:]; s.word == "" {
			return 1, s.end(s.at + 1)
		}
		return 1, nil
	case inDeep, inDeepText, inDeepEscape:
		return s.scanDeep(p), nil
	case minus, zero, digits, point, decimals, exponent, expSign, expDigits:
		return s.scanNumber(c)
	}
	for n < len(p) && (p[n] == ' ' || p[n] == '\n' || p[n] == '\t' || p[n] == '\r') {
		n++
	}
	if n > 0 {
		return n, nil
	}
	return s.scanToken(c)
}

// scanToken reads the byte that begins or ends a token.
func (s *Scanner) scanToken(c byte) (n int, err error) {
	switch {
	case s.state == afterValue && c == ',':
		if s.state = anyValue; s.kinds[s.depth-1] == '{' {
			s.state = nextName
		}
		return 1, nil
	case s.state == afterValue && c == s.kinds[s.depth-1]+2, s.state == firstItem && c == ']', s.state == firstName && c == '}': // brackets are two apart
		s.depth--
		return 1, s.end(s.at + 1)
	case s.state == colon && c == ':':
		s.state = anyValue
		return 1, nil
	case (s.state == firstName || s.state == nextName) && c == '"':
		s.state, s.name = inText, true
		if s.depth <= foundDepth {
			s.names[s.depth].size = 0
		}
		return 1, nil
	case s.state == anyValue || s.state == firstItem:
		if err := s.begin(c); err != nil {
			return 0, err
		}
		return 1, nil
	}
	return 0, s.unexpected(c)
}

// begin reads the first byte of a value.
func (s *Scanner) begin(c byte) error {
	if s.depth <= foundDepth {
		s.open[s.depth] = Found{Depth: s.depth, From: s.at, Kind: c}
	}
	switch c {
	case '{', '[':
		if s.depth == tooDeep {
			if s.Deep < 0 {
				s.Deep = s.at
			}
			s.state, s.hex = inDeep, 1
			return nil
		}
		s.kinds[s.depth] = c
		s.depth++
		if s.state = firstItem; c == '{' {
			s.state = firstName
		}
	case '"':
		s.state, s.name = inText, false
	case 't':
		s.state, s.word = inWord, "rue"
	case 'f':
		s.state, s.word = inWord, "alse"
	case 'n':
		s.state, s.word = inWord, "ull"
	case '-':
		s.state = minus
	case '0':
		s.state = zero
	default:
		if c < '1' || c > '9' {
			return s.unexpected(c)
		}
		s.state = digits
	}
	return nil
}

// end ends a value.
func (s *Scanner) end(at int64) error {
	if s.state = afterValue; s.depth == 0 {
		s.state = ended
	}
	if s.depth > foundDepth {
		return nil
	}
	f := &s.open[s.depth]
	f.To = at
	return s.Found(f)
}

// scanText reads up to the end of a text, or up to an escape.
func (s *Scanner) scanText(p []byte) (n int, err error) {
	for n < len(p) && plain[p[n]] {
		n++
	}
	s.keepName(p[:n]...)
	switch {
	case n == len(p):
		return n, nil
	case p[n] == '\\':
		s.state = inEscape
		s.keepName('\\')
		return n + 1, nil
	case p[n] != '"':
		return n, syntaxError("invalid character within string")
	case s.name:
		s.state = colon
		return n + 1, nil
	}
	return n + 1, s.end(s.at + int64(n) + 1)
}

// keepName keeps some bytes of a name.
func (s *Scanner) keepName(some ...byte) {
	if !s.name || s.depth > foundDepth {
		return
	}
	name := &s.names[s.depth]
	if name.size < len(name.text) {
		copy(name.text[name.size:], some)
	}
	name.size += len(some)
}

// escape reads the byte behind a backslash.
func (s *Scanner) escape(c byte) error {
	s.keepName(c)
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.state = inText
	case 'u':
		s.state, s.hex = inHex, 4
	default:
		return syntaxError("invalid escape sequence in string")
	}
	return nil
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// scanNumber reads a byte of a number, or ends the number before it.
func (s *Scanner) scanNumber(c byte) (n int, err error) {
	digit := c >= '0' && c <= '9'
	switch {
	case s.state == minus && c == '0':
		s.state = zero
	case s.state == minus && digit:
		s.state = digits
	case (s.state == digits || s.state == decimals || s.state == expDigits) && digit:
	case (s.state == zero || s.state == digits) && c == '.':
		s.state = point
	case s.state == point && digit:
		s.state = decimals
	case (s.state == zero || s.state == digits || s.state == decimals) && (c == 'e' || c == 'E'):
		s.state = exponent
	case s.state == exponent && (c == '+' || c == '-'):
		s.state = expSign
	case (s.state == exponent || s.state == expSign) && digit:
		s.state = expDigits
	case s.isNumber():
		return 0, s.end(s.at)
	default:
		return 0, s.unexpected(c)
	}
	return 1, nil
}

// scanDeep reads up to the end of a value that is too deep. It looks at brackets and texts only; hex counts the brackets.
func (s *Scanner) scanDeep(p []byte) (n int) {
	for _, c := range p {
		n++
		switch {
		case s.state == inDeepEscape:
			s.state = inDeepText
		case s.state == inDeepText && c == '\\':
			s.state = inDeepEscape
		case c == '"' && s.state == inDeepText:
			s.state = inDeep
		case s.state == inDeepText:
		case c == '"':
			s.state = inDeepText
		case c == '{' || c == '[':
			s.hex++
		case c == '}' || c == ']':
			if s.hex--; s.hex == 0 {
				s.state = afterValue
				return n
			}
		}
	}
	return n
}

// unexpected is the error of a byte that cannot stand here.
func (s *Scanner) unexpected(c byte) error {
	if s.state == ended {
		return syntaxError("data after the object")
	}
	if c > ' ' && c < 0x7f && c != '`' {
		return syntaxError(fmt.Sprintf("unexpected character %q", c))
	}
	return syntaxError("unexpected character")
}
