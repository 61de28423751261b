package record

import (
	"bytes"
	"slices"
	"strings"
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
	members := make([]Member, 0, len(d.Kind.sorted)+len(d.extra))
	for _, i := range d.Kind.sorted {
		members = append(members, Member{d.Kind.Fields[i].Name, d.values[i]})
	}
	for _, m := range d.extra {
		if name := Unquote([]byte(m.Name)); !strings.HasPrefix(name, "_") {
			members = append(members, Member{name, m.Value})
		}
	}
	return appendSorted(nil, members)
}

// appendSorted appends an object of members, sorted.
func appendSorted(dst []byte, members []Member) []byte {
	slices.SortStableFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	dst = append(dst, '{')
	for n, m := range members {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst, _ = jsontext.AppendQuote(dst, m.Name)
		dst = appendCanonical(append(dst, ':'), m.Value)
	}
	return append(dst, '}')
}

// appendCanonical appends one value of our own encoding in its canonical form.
func appendCanonical(dst []byte, v jsontext.Value) []byte {
	switch {
	case len(v) == 0:
		return append(dst, "null"...)
	case v[0] == '{' && bytes.IndexByte(v, ',') >= 0, v[0] == '{' && bytes.IndexByte(v, '\\') >= 0:
		run := v[1 : len(v)-1]
		var members []Member
		for i := 0; i < len(run); {
			name, value, after, ok := member(run, i)
			if !ok {
				return append(dst, v...)
			}
			members = append(members, Member{Unquote(name), value})
			i = after
		}
		return appendSorted(dst, members)
	case v[0] == '[' && bytes.IndexByte(v, '{') >= 0, v[0] == '[' && bytes.IndexByte(v, '\\') >= 0:
		dst = append(dst, '[')
		first := true
		elements(v, func(e jsontext.Value) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendCanonical(dst, e)
		})
		return append(dst, ']')
	case v[0] == '"' && bytes.IndexByte(v, '\\') >= 0:
		dst, _ = jsontext.AppendQuote(dst, Unquote(v))
		return dst
	}
	return append(dst, v...)
}
