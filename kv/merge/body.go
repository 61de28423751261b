package merge

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math/bits"
	"unicode/utf8"
)

// MaxDoc is how many bytes the canonical JSON of a free document may have.
const MaxDoc = 8 << 20

// MaxDocDepth is how deep the values of a document may be nested. It is the limit of request bodies, so every other store takes
// a document that was taken here.
const MaxDocDepth = 1000

// How many bytes a document's id may have, and the name of an attachment.
const MaxDocID = 8 << 10

// Attachment describes bytes that belong to a document.
type Attachment struct {
	Name   string
	Type   string // of its content
	RevPos uint64 // generation of the revision that brought it; for a write 0 = the one it makes
	Blob
}

// Blob names some bytes of a database. SHA256 is enough to find them.
type Blob struct {
	SHA256 [32]byte
	MD5    [16]byte
	Length int64
}

// Digest is the blob's name in replication: "md5-" and base64.
func (b Blob) Digest() string { return "md5-" + base64.StdEncoding.EncodeToString(b.MD5[:]) }

// ErrDocument says that a document's id, body or path of revisions is not valid.
var ErrDocument = errors.New("not a document")

// ErrRevision says that a revision cannot be a record's: its hash is not 32 hex digits.
var ErrRevision = errors.New("not a revision of a record")

// CutCanonical cuts an object's last members and its closing brace from the front of a text. The body shares no bytes with the
// text. ok is false if the members are not canonical, or if only the full parser can tell.
func CutCanonical(text []byte) (body, rest []byte, ok bool) {
	s := canonicalScan{rest: text}
	if !s.members(0) {
		return nil, text, false
	}
	size := len(text) - len(s.rest)
	body = append(append(make([]byte, 0, 1+size), '{'), text[:size]...)
	return body, s.rest, len(body) <= MaxDoc
}

// IsCanonical tells whether an object is canonical. It returns false if only the full parser can tell.
func IsCanonical(body []byte) bool {
	s := canonicalScan{rest: body}
	return len(body) > 1 && body[0] == '{' && len(body) <= MaxDoc && s.value(0) && len(s.rest) == 0
}

// canonicalScan reads a text from its start.
type canonicalScan struct{ rest []byte }

// take skips a byte, if it is the next one.
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
		s.take('{')
		return s.members(depth)
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

// integer skips a number without fraction or exponent.
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

// text reads a string in which no byte is escaped or needs an escape.
func (s *canonicalScan) text() (text []byte, ok bool) {
	if !s.take('"') {
		return nil, false
	}
	end, seen := 0, uint64(0) // seen has the bits of all bytes looked at
	for end+8 <= len(s.rest) {
		eight := binary.LittleEndian.Uint64(s.rest[end:])
		seen |= eight
		at := endsText(eight)
		end += at
		if at < 8 {
			break
		}
	}
	for ; end < len(s.rest); end++ {
		switch c := s.rest[end]; {
		case c == '"':
			text, s.rest = s.rest[:end], s.rest[end+1:]
			return text, seen&nonASCII == 0 || utf8.Valid(text)
		case c < ' ' || c == '\\' || c == 0x7f:
			return nil, false
		default:
			seen |= uint64(c)
		}
	}
	return nil, false
}

// nonASCII are the bits that no byte of ASCII has.
const nonASCII = 0x8080808080808080

// endsText is the place, among eight bytes of which the first is the lowest, of the first that no string holds as it is; 8 where there
// is none.
func endsText(eight uint64) int {
	const ones = 0x0101010101010101
	quote, slash, del := eight^'"'*ones, eight^'\\'*ones, eight^0x7f*ones
	// What borrows from a byte marks a lower one, too: the lowest mark is right.
	marks := (eight-' '*ones)&^eight | (quote-ones)&^quote | (slash-ones)&^slash | (del-ones)&^del
	return bits.TrailingZeros64(marks&nonASCII) / 8
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

// members skips the sorted members of an object and its closing brace. No outermost member begins with "_". A member without a name is left
// to the full parser.
func (s *canonicalScan) members(depth int) bool {
	if s.take('}') {
		return true
	}
	var last []byte
	for {
		name, ok := s.text()
		switch {
		case !ok, bytes.Compare(last, name) >= 0, depth == 0 && bytes.HasPrefix(name, []byte("_")):
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
