package record

import (
	"bytes"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical is the body's text inside the revision hash (design.md §4): keys sorted by bytes at every depth, numbers as
// their literal text, shortest escapes, no names that begin with "_" among the record's own.
func (d *Doc) Canonical() []byte {
	if len(d.extra) > 0 {
		return d.canonicalWithExtra()
	}
	dst := append(make([]byte, 0, d.canonicalSize()), '{')
	for n, i := range d.Kind.sorted {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, d.Kind.labels[i]...)
		dst = appendCanonical(dst, d.values[i])
	}
	return append(dst, '}')
}

// canonicalSize is how long the canonical text is where values are canonical and all fields known.
func (d *Doc) canonicalSize() int {
	size := len("{}") - 1 // no comma after the last
	for _, i := range d.Kind.sorted {
		size += len(d.Kind.labels[i]) + len(d.values[i]) + 1
	}
	return size
}

// IsAllOf tells that a canonical text, which the document was read from, says all that the document does: Canonical would answer
// the same.
func (d *Doc) IsAllOf(canonical []byte) bool {
	if len(d.extra) > 0 {
		return bytes.Equal(d.canonicalWithExtra(), canonical)
	}
	return d.canonicalSize() == len(canonical) // a field that it lacks has made the document longer
}

// CanonicalOf is Canonical of the document that a stored body is.
func (k *Kind) CanonicalOf(b Body) ([]byte, error) {
	d := passing.Get().(*Doc)
	d.Kind, d.values, d.extra = k, slices.Grow(d.values[:0], len(k.Fields))[:len(k.Fields)], d.extra[:0]
	defer func() {
		clear(d.values)
		clear(d.extra)
		passing.Put(d)
	}()
	if err := d.read(b); err != nil {
		return nil, err
	}
	return d.Canonical(), nil
}

// passing are documents that nobody keeps: no value is left in them.
var passing = sync.Pool{New: func() any { return &Doc{} }}

// canonicalWithExtra is Canonical where unknown fields stand among the known.
func (d *Doc) canonicalWithExtra() []byte {
	members := make([]namedValue, 0, len(d.Kind.sorted)+len(d.extra))
	for _, i := range d.Kind.sorted {
		members = append(members, namedValue{[]byte(d.Kind.Fields[i].Name), d.values[i]})
	}
	for _, m := range d.extra {
		if name := unquoted([]byte(m.Name)); !bytes.HasPrefix(name, []byte("_")) {
			members = append(members, namedValue{name, m.Value})
		}
	}
	return appendSorted(nil, members)
}

// namedValue is a member whose name is said in plain.
type namedValue struct {
	name  []byte
	value jsontext.Value
}

// unquoted is Unquote of a name, which it shares where it can.
func unquoted(name []byte) []byte {
	if bytes.IndexByte(name, '\\') < 0 {
		return name[1 : len(name)-1]
	}
	return []byte(Unquote(name))
}

// appendSorted appends an object of members, sorted.
func appendSorted(dst []byte, members []namedValue) []byte {
	slices.SortStableFunc(members, func(a, b namedValue) int { return bytes.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for n, m := range members {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst, _ = jsontext.AppendQuote(dst, m.name)
		dst = appendCanonical(append(dst, ':'), m.value)
	}
	return append(dst, '}')
}

// appendCanonical appends one value of our own encoding in its canonical form.
func appendCanonical(dst []byte, v jsontext.Value) []byte {
	switch {
	case len(v) == 0:
		return append(dst, "null"...)
	case v[0] == '{' && bytes.IndexByte(v, ',') >= 0, v[0] == '{' && bytes.IndexByte(v, '\\') >= 0:
		var few [8]namedValue // most objects have no more
		members, run := few[:0], v[1:len(v)-1]
		for i := 0; i < len(run); {
			name, value, after, ok := member(run, i)
			if !ok {
				return append(dst, v...)
			}
			members = append(members, namedValue{unquoted(name), value})
			i = after
		}
		return appendSorted(dst, members)
	case v[0] == '[' && bytes.IndexByte(v, '{') >= 0, v[0] == '[' && bytes.IndexByte(v, '\\') >= 0:
		dst = append(dst, '[')
		first := true
		for e := range Elements(v) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendCanonical(dst, e)
		}
		return append(dst, ']')
	case v[0] == '"' && bytes.IndexByte(v, '\\') >= 0:
		dst, _ = jsontext.AppendQuote(dst, Unquote(v))
		return dst
	}
	return append(dst, v...)
}
