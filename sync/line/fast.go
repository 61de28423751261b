package line

import (
	"bytes"
	"strconv"

	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/sync/transit"
)

// scan reads a line as AppendLine writes it for a document without attachments. It decodes nothing, and looks at the body once: the body
// is canonical then. ok is false for any other line; Parse reads that.
func scan(text []byte) (l Line, ok bool) {
	c := scanner{rest: text}
	c.expect(`{"seq":`)
	l.Seq = transit.Sequence(`"` + c.text() + `"`)
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
	var ok bool
	x.Canonical, c.rest, ok = merge.CutCanonical(c.rest)
	x.Body, c.bad = x.Canonical.Bytes(), !ok
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
