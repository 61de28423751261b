package line

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/sync/input"
	"doorward/sync/transit"

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

// Each calls fn with each revision, each removed document and each mark that is right, and returns the place of the last line. It returns
// *Error for a wrong line, and the reader's error if the lines break off.
func (s *Reader) Each(fn func(*Line) error) (last transit.Sequence, err error) {
	for {
		l, err := s.next()
		switch {
		case err != nil:
			return last, err
		case l.last != nil:
			return l.last, s.end()
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
	case l.last != nil || l.Mark != nil:
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

// Parse reads the line that comes next. It returns ErrJSON if there is none.
func Parse(dec *jsontext.Decoder) (l Line, err error) {
	d := &transit.Parsed{}
	var doc jsontext.Value
	var who transit.Author
	var scopes []string
	err = input.EachMember(dec, func(name string) (err error) {
		switch name {
		case "revs":
			v, err := dec.ReadValue()
			var list []string
			if json.Unmarshal(v, &list) == nil {
				d.Path = transit.ParseRevs(list)
			}
			if len(d.Path) < len(list) {
				d.Path = nil // one of them cannot be read
			}
			return input.Wrap(err)
		case "scopes":
			scopes, err = input.Texts(dec)
			return err
		}
		v, err := dec.ReadValue()
		switch {
		case err != nil:
		case name == "doc":
			doc = v.Clone()
		case name == "author":
			if json.Unmarshal(v, &who) != nil { // members of later versions are ignored
				who = transit.Author{}
			}
		default:
			err = l.special(name, v)
		}
		return input.Wrap(err)
	})
	if err != nil || l.Seq == nil || l.Removed != "" || doc == nil {
		return l, err
	}
	if l.Revision, err = d.Read(input.NewDecoder(bytes.NewReader(doc))); l.Revision != nil {
		l.Revision.Author, l.Revision.Scopes = who, scopes
	}
	return l, err
}

// special reads a small member.
func (l *Line) special(name string, v jsontext.Value) error {
	switch name {
	case "seq":
		l.Seq = transit.Sequence(v.Clone())
		return nil
	case "removed":
		return json.Unmarshal(v, &l.Removed)
	case "format":
		l.Head = &Head{}
		return json.Unmarshal(v, &l.Head.Format)
	case "last_seq":
		l.last = transit.Sequence(v.Clone())
		return nil
	case "upto":
		l.Mark = transit.Sequence(v.Clone())
		return nil
	case "count":
		return json.Unmarshal(v, &l.count)
	}
	if l.Head == nil {
		return nil
	}
	to := map[string]any{"realm": &l.Head.Realm, "node": &l.Head.Node, "epoch": &l.Head.Epoch, "db": &l.Head.DB, "since": &l.Head.Since}[name]
	if to == nil {
		return nil
	}
	return json.Unmarshal(v, to)
}

// scan reads a line as AppendLine writes it for a document without attachments. It decodes nothing, and looks at the body once: the body
// is canonical then. ok is false for any other line; Parse reads that.
func scan(text []byte) (l Line, ok bool) {
	c := scanner{rest: text}
	c.expect(`{"seq":`)
	if c.skip("0") {
		l.Seq = orBeginning(nil)
	} else {
		l.Seq = transit.Sequence(`"` + c.text() + `"`)
	}
	c.expect(`,"doc":{"_id":`)
	x := &transit.Revision{ID: c.text()}
	c.expect(`,"_rev":`)
	revision := c.text()
	x.Deleted = c.skip(`,"_deleted":true`)
	c.body(x)
	c.expect(`,"revs":`)
	c.list(func() {
		revision, ok := rev.ParseFree(c.text())
		c.bad = c.bad || !ok || revision == (rev.ID{})
		x.Path = append(x.Path, revision)
	})
	if c.skip(`,"author":{"at":`) {
		c.author(&x.Author)
	}
	if c.skip(`,"scopes":`) {
		c.list(func() { x.Scopes = append(x.Scopes, c.text()) })
	}
	c.expect("}\n")
	if c.bad || len(c.rest) > 0 || x.ID == "" || x.Rev().String() != revision {
		return Line{}, false
	}
	l.Revision = x
	return l, true
}

// scanner is the rest of a line. It becomes bad where the text is not as expected, and what follows means nothing.
type scanner struct {
	rest []byte
	bad  bool
}

// skip passes a text, if it comes next.
func (c *scanner) skip(text string) bool {
	ok := len(c.rest) >= len(text) && string(c.rest[:len(text)]) == text
	if ok {
		c.rest = c.rest[len(text):]
	}
	return ok
}

// expect passes a text that must come next.
func (c *scanner) expect(text string) {
	if !c.skip(text) {
		c.bad = true
	}
}

// text reads a string of ASCII without escapes.
func (c *scanner) text() string {
	c.expect(`"`)
	for i, b := range c.rest {
		switch {
		case b == '"':
			text := string(c.rest[:i])
			c.rest = c.rest[i+1:]
			return text
		case b < ' ' || b == '\\' || b >= 0x7f:
			c.bad = true
			return ""
		}
	}
	c.bad = true
	return ""
}

// number reads an integer of at most 18 digits.
func (c *scanner) number() int64 {
	end := bytes.IndexFunc(c.rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 1 || end > 18 || end > 1 && c.rest[0] == '0' {
		c.bad = true
		return 0
	}
	n, _ := strconv.ParseInt(string(c.rest[:end]), 10, 64) // it is one
	c.rest = c.rest[end:]
	return n
}

// list reads a list that is not empty. fn reads each item.
func (c *scanner) list(fn func()) {
	c.expect("[")
	for fn(); !c.bad && c.skip(","); {
		fn()
	}
	c.expect("]")
}

// body reads the rest of a document.
func (c *scanner) body(x *transit.Revision) {
	more := c.skip(",")
	if c.bad || len(c.rest) == 0 || more != (c.rest[0] == '"') {
		c.bad = true
		return
	}
	x.Body, c.rest, x.Canonical = merge.CutCanonical(c.rest)
	c.bad = !x.Canonical
}

// author reads an author from the value of its first member on.
func (c *scanner) author(a *transit.Author) {
	a.At = c.number()
	c.expect(`,"key":`)
	a.Key = c.number()
	c.expect(`,"node":`)
	a.Node = c.text()
	if c.skip(`,"fields":`) {
		c.list(func() { a.Fields = append(a.Fields, c.text()) })
	}
	c.expect("}")
}
