package record

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/value"
)

// ErrBody is returned for a stored body that is not two runs of members.
var ErrBody = errors.New("not a record's body")

// Body is a record as it lies in the store: two runs of JSON members in table order, without the braces. Shown holds the
// members exactly as /v1 prints them. Hidden holds write-only and hidden fields, references and unknown fields; a field of these that is
// null and has no other default is left out, unless a nested member is made of it.
type Body struct{ Shown, Hidden []byte }

// Member returns a stored member of either run without decoding the others. It is nil if there is none.
func (b Body) Member(name string) jsontext.Value {
	if strings.ContainsAny(name, "\"\\") {
		return b.slowMember(name)
	}
	if v, _ := value.Find(b.Shown, 0, name); v != nil {
		return v
	}
	v, _ := value.Find(b.Hidden, 0, name)
	return v
}

// Next is Member for names that are asked for in table order: it looks first from i on, where a member of the shown run begins, and
// returns where the one behind the found member begins.
func (b Body) Next(name string, i int) (v jsontext.Value, after int) {
	if v, after := value.Find(b.Shown, i, name); v != nil {
		return v, after
	}
	return b.Member(name), i
}

// slowMember finds a name that is written with escapes.
func (b Body) slowMember(name string) jsontext.Value {
	for _, run := range [2][]byte{b.Shown, b.Hidden} {
		for i := 0; i < len(run); {
			quoted, val, after, ok := value.ReadMember(run, i)
			if !ok {
				break
			}
			if value.Unquote(quoted) == name {
				return val
			}
			i = after
		}
	}
	return nil
}

// reference is Member for references: it looks into the hidden run first.
func (b Body) reference(name string) jsontext.Value {
	if v, _ := value.Find(b.Hidden, 0, name); v != nil {
		return v
	}
	v, _ := value.Find(b.Shown, 0, name)
	return v
}
