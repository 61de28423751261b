package value

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Named is a member with its name decoded.
type Named struct {
	Name  []byte
	Value jsontext.Value
}

// UnquoteName is Unquote of a name. It shares the name's bytes if nothing in it is escaped.
func UnquoteName(name []byte) []byte {
	if bytes.IndexByte(name, '\\') < 0 {
		return name[1 : len(name)-1]
	}
	return []byte(Unquote(name))
}

// AppendObject appends an object of members, sorted.
func AppendObject(dst []byte, members []Named) []byte {
	slices.SortStableFunc(members, func(a, b Named) int { return bytes.Compare(a.Name, b.Name) })
	dst = append(dst, '{')
	for n, m := range members {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst, _ = jsontext.AppendQuote(dst, m.Name)
		dst = AppendCanonical(append(dst, ':'), m.Value)
	}
	return append(dst, '}')
}

// AppendCanonical appends one value of our own encoding in its canonical form.
func AppendCanonical(dst []byte, v jsontext.Value) []byte {
	switch {
	case len(v) == 0:
		return append(dst, "null"...)
	case v[0] == '{' && bytes.IndexByte(v, ',') >= 0, v[0] == '{' && bytes.IndexByte(v, '\\') >= 0:
		var few [8]Named // most objects have no more
		members, run := few[:0], v[1:len(v)-1]
		for i := 0; i < len(run); {
			name, value, after, ok := ReadMember(run, i)
			if !ok {
				return append(dst, v...)
			}
			members = append(members, Named{UnquoteName(name), value})
			i = after
		}
		return AppendObject(dst, members)
	case v[0] == '[' && bytes.IndexByte(v, '{') >= 0, v[0] == '[' && bytes.IndexByte(v, '\\') >= 0:
		dst = append(dst, '[')
		first := true
		for e := range Elements(v) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = AppendCanonical(dst, e)
		}
		return append(dst, ']')
	case v[0] == '"' && bytes.IndexByte(v, '\\') >= 0:
		dst, _ = jsontext.AppendQuote(dst, Unquote(v))
		return dst
	}
	return append(dst, v...)
}
