package record

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/rev"
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

// maxFields bounds the fields of a fact.
const maxFields = 20

// Draft is a fact being written straight into its body, without a Doc: check-ins are the hot path. Members are given in
// table order; those left out get their defaults. A name that is unknown or out of order is a bug and panics.
type Draft struct {
	kind   *Kind
	run    []byte
	ends   [maxFields]int // where each field's member has ended
	filled int            // fields that have been written
}

// NewDraft begins a fact of a kind.
func NewDraft(k *Kind) Draft { return Draft{kind: k, run: make([]byte, 0, 640)} }

// Int writes an integer.
func (d *Draft) Int(name string, n int64) {
	d.seek(name)
	d.run = strconv.AppendInt(d.run, n, 10)
	d.end()
}

// Text writes a string.
func (d *Draft) Text(name, s string) {
	d.seek(name)
	d.run = value.AppendQuote(d.run, s)
	d.end()
}

// Hex writes bytes as their hexadecimal digits.
func (d *Draft) Hex(name string, b []byte) {
	d.seek(name)
	d.run = append(hex.AppendEncode(append(d.run, '"'), b), '"')
	d.end()
}

// Time writes a date-time.
func (d *Draft) Time(name string, t time.Time) {
	d.seek(name)
	d.run = value.AppendTime(d.run, t)
	d.end()
}

// Raw writes a value in its stored form.
func (d *Draft) Raw(name string, v jsontext.Value) {
	d.seek(name)
	d.run = append(d.run, v...)
	d.end()
}

// seek writes the defaults of the fields before a name, and the name.
func (d *Draft) seek(name string) {
	for ; d.filled < len(d.kind.Fields); d.end() {
		if d.filled > 0 {
			d.run = append(d.run, ',')
		}
		d.run = append(d.run, d.kind.labels[d.filled]...)
		f := &d.kind.Fields[d.filled]
		switch {
		case f.Name == name:
			return
		case f.Default == "":
			d.run = append(d.run, "null"...)
		default:
			d.run = append(d.run, f.Default...)
		}
	}
	if name != "" {
		panic("record: " + d.kind.Name + " has no field " + name + " there")
	}
}

func (d *Draft) end() {
	d.ends[d.filled] = len(d.run)
	d.filled++
}

// Close ends the fact: its body, and its canonical text as Doc.Canonical would have it.
func (d *Draft) Close() (b Body, canonical []byte) {
	d.seek("")
	canonical = append(make([]byte, 0, len(d.run)+2), '{')
	for n, i := range d.kind.sorted {
		if n > 0 {
			canonical = append(canonical, ',')
		}
		start := 0
		if i > 0 {
			start = d.ends[i-1] + 1
		}
		canonical = append(canonical, d.run[start:d.ends[i]]...)
	}
	return Body{Shown: d.run}, append(canonical, '}')
}

// Canonical is the body's text inside the revision hash (design.md §4): keys sorted by bytes at every depth, numbers as
// their literal text, shortest escapes, no names that begin with "_" among the record's own.
func (d *Doc) Canonical() []byte { return appendCanonical(make([]byte, 0, d.Size()), d) }

// Revision returns the revision of the document that follows parent.
func (d *Doc) Revision(parent rev.ID) rev.ID {
	var stack [4096]byte // large enough for most bodies
	return rev.Next(parent, false, appendCanonical(stack[:0], d))
}

func appendCanonical(dst []byte, d *Doc) []byte {
	if len(d.extra) > 0 {
		return append(dst, canonicalWithExtra(d)...)
	}
	dst = append(dst, '{')
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

// A thing that was made twice, as two records, becomes one: the record with the higher id is deleted, and its tombstone names the
// one that stays (sync.md §3). Its canonical body:
//
//	{"merged_into":"ticket:0000000000000005"}
const (
	intoStart = `{"merged_into":"`
	intoEnd   = `"}`
)

// Tombstone is the canonical body of a deletion: "" for one that says nothing, or what the record was merged into.
func Tombstone(k *Kind, into int64) string {
	if into == 0 {
		return ""
	}
	return intoStart + k.DocID(Int(into)) + intoEnd
}

// MergedInto reads the canonical body of a record's tombstone: 0 where it names no record of the kind with a lower id.
func MergedInto(k *Kind, id ID, tombstone []byte) int64 {
	rest, ok := bytes.CutPrefix(tombstone, []byte(intoStart))
	if !ok || k.ULID {
		return 0
	}
	name, ok := strings.CutSuffix(string(rest), intoEnd)
	of, into, isID := ParseDocID(name)
	if !ok || !isID || of != k || into.Compare(id) >= 0 {
		return 0
	}
	return into.Int()
}
