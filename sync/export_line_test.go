package sync

import (
	"bytes"
	"fmt"
	"io"
)

// CutAndRead reads a line both ways. ok tells that it can be cut; what reading it says is an error then, too, where something follows.
func CutAndRead(text []byte) (cut, read string, ok bool) {
	l, ok := cutLine(text)
	if !ok {
		return "", "", false
	}
	dec := newDecoder(bytes.NewReader(text))
	slow, err := readLine(dec)
	if _, after := dec.ReadToken(); err == nil && after != io.EOF {
		err = fmt.Errorf("something follows: %w", after)
	}
	if err != nil {
		return l.told(), err.Error(), true
	}
	return l.told(), slow.told(), true
}

func (l line) told() string {
	if l.replica == nil {
		return fmt.Sprintf("%s %q %v %v %v %d", l.seq, l.removed, l.head, l.mark, l.foot, l.count)
	}
	x := l.replica
	return fmt.Sprintf("%s %q %v %t %s %v %+v %q", l.seq, x.id, x.path, x.deleted, x.body, x.parts, x.author, x.scopes)
}
