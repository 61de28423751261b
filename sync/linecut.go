package sync

import (
	"bytes"
	"strconv"

	"doorward/kv"
	"doorward/kv/rev"
)

// cutLine reads a line of a revision as appendLine writes it of a document without attachments, its end included. It decodes nothing,
// and looks at the body once, which is canonical then. ok is false for any other line: readLine says what that is.
func cutLine(text []byte) (l line, ok bool) {
	c := lineCut{rest: text}
	c.take(`{"seq":`)
	l.seq = sequence(`"` + c.text() + `"`)
	c.take(`,"doc":{"_id":`)
	x := &replica{id: c.text()}
	c.take(`,"_rev":`)
	revision := c.text()
	x.deleted = c.has(`,"_deleted":true`)
	c.body(x)
	c.take(`,"revs":`)
	c.list(func() {
		revision, ok := rev.ParseFree(c.text())
		c.bad = c.bad || !ok || revision == (rev.ID{})
		x.path = append(x.path, revision)
	})
	if c.has(`,"author":{"at":`) {
		c.author(&x.author)
	}
	if c.has(`,"scopes":`) {
		c.list(func() { x.scopes = append(x.scopes, c.text()) })
	}
	c.take("}\n")
	if c.bad || len(c.rest) > 0 || x.id == "" || x.rev().String() != revision {
		return line{}, false
	}
	l.replica = x
	return l, true
}

// lineCut is what is left of a line. Once something else stands there than was expected it is bad, and all that follows means nothing.
type lineCut struct {
	rest []byte
	bad  bool
}

// has goes on beyond something, if that is next.
func (c *lineCut) has(text string) bool {
	ok := len(c.rest) >= len(text) && string(c.rest[:len(text)]) == text
	if ok {
		c.rest = c.rest[len(text):]
	}
	return ok
}

// take wants something to be next.
func (c *lineCut) take(text string) {
	if !c.has(text) {
		c.bad = true
	}
}

// text takes a string of ASCII in which nothing is escaped.
func (c *lineCut) text() string {
	c.take(`"`)
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

// number takes an integer of at most 18 digits.
func (c *lineCut) number() int64 {
	end := bytes.IndexFunc(c.rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 1 || end > 18 || end > 1 && c.rest[0] == '0' {
		c.bad = true
		return 0
	}
	n, _ := strconv.ParseInt(string(c.rest[:end]), 10, 64) // it is one
	c.rest = c.rest[end:]
	return n
}

// list takes a list that is not empty, of which fn takes each item.
func (c *lineCut) list(fn func()) {
	c.take("[")
	for fn(); !c.bad && c.has(","); {
		fn()
	}
	c.take("]")
}

// body takes what follows of a document.
func (c *lineCut) body(x *replica) {
	more := c.has(",")
	if c.bad || len(c.rest) == 0 || more != (c.rest[0] == '"') {
		c.bad = true
		return
	}
	var ok bool
	x.canonical, c.rest, ok = kv.CutCanonical(c.rest)
	x.body, c.bad = x.canonical.Bytes(), !ok
}

// author takes an author from the value of its first member on.
func (c *lineCut) author(a *author) {
	a.At = c.number()
	c.take(`,"key":`)
	a.Key = c.number()
	c.take(`,"node":`)
	a.Node = c.text()
	if c.has(`,"fields":`) {
		c.list(func() { a.Fields = append(a.Fields, c.text()) })
	}
	c.take("}")
}
