package record

import (
	"bytes"
	"slices"
	"sync"

	"doorward/kv/value"
)

// Canonical is the body's text inside the revision hash (design.md §4): keys sorted by bytes at every depth, numbers as
// their literal text, shortest escapes, no names that begin with "_" among the record's own.
func (d *Doc) Canonical() []byte {
	if len(d.extra) > 0 {
		return canonicalWithExtra(d)
	}
	dst := append(make([]byte, 0, d.Size()), '{')
	for n, i := range d.Kind.sorted {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, d.Kind.labels[i]...)
		dst = value.AppendCanonical(dst, d.values[i])
	}
	return append(dst, '}')
}

// Size returns the length of the canonical text if all values are canonical, as those of a record that was made here are.
func (d *Doc) Size() int {
	size := len("{}") - 1 // no comma after the last
	for _, i := range d.Kind.sorted {
		size += len(d.Kind.labels[i]) + len(d.values[i]) + 1
	}
	for _, m := range d.extra {
		size += len(m.Name) + len(":,") + len(m.Value)
	}
	return size
}

// IsAllOf reports whether Canonical would return the given canonical text, from which the document was read.
func (d *Doc) IsAllOf(canonical []byte) bool {
	if len(d.extra) > 0 {
		return bytes.Equal(canonicalWithExtra(d), canonical)
	}
	return d.Size() == len(canonical) // a field that it lacks has made the document longer
}

// CanonicalOf returns the canonical text of a stored body.
func (k *Kind) CanonicalOf(b Body) ([]byte, error) {
	d := passing.Get().(*Doc)
	d.Kind, d.values, d.extra = k, slices.Grow(d.values[:0], len(k.Fields))[:len(k.Fields)], d.extra[:0]
	defer func() {
		clear(d.values)
		clear(d.extra)
		passing.Put(d)
	}()
	if err := readBody(d, b); err != nil {
		return nil, err
	}
	return d.Canonical(), nil
}

// passing are documents that live for one call of CanonicalOf. No value is left in them.
var passing = sync.Pool{New: func() any { return &Doc{} }}

// canonicalWithExtra is Canonical of a document with unknown fields.
func canonicalWithExtra(d *Doc) []byte {
	members := make([]value.Named, 0, len(d.Kind.sorted)+len(d.extra))
	for _, i := range d.Kind.sorted {
		members = append(members, value.Named{Name: []byte(d.Kind.Fields[i].Name), Value: d.values[i]})
	}
	for _, m := range d.extra {
		if name := value.UnquoteName([]byte(m.Name)); !bytes.HasPrefix(name, []byte("_")) {
			members = append(members, value.Named{Name: name, Value: m.Value})
		}
	}
	return value.AppendObject(nil, members)
}
