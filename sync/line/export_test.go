package line

import (
	"bytes"
	"fmt"
	"io"

	"doorward/sync/input"
)

// CutAndRead reads a line both ways. ok tells that it can be cut; what reading it says is an error then, too, where something follows.
func CutAndRead(text []byte) (cut, read string, ok bool) {
	l, ok := scan(text)
	if !ok {
		return "", "", false
	}
	dec := input.NewDecoder(bytes.NewReader(text))
	slow, err := Parse(dec)
	if _, after := dec.ReadToken(); err == nil && after != io.EOF {
		err = fmt.Errorf("something follows: %w", after)
	}
	if err != nil {
		return l.told(), err.Error(), true
	}
	return l.told(), slow.told(), true
}

func (l Line) told() string {
	if l.Revision == nil {
		return fmt.Sprintf("%s %q %v %v %v %d", l.Seq, l.Removed, l.Head, l.Mark, l.last, l.count)
	}
	x := l.Revision
	return fmt.Sprintf("%s %q %v %t %s %v %+v %q", l.Seq, x.ID, x.Path, x.Deleted, x.Body, x.Parts, x.Author, x.Scopes)
}
