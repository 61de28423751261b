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

// Doc is a record opened for change.
type Doc struct {
	Kind   *Kind
	values []jsontext.Value // by index into Kind.Fields; nil where not stored
	extra  []value.Member   // fields that this version does not know; their names as written, with the quotes
}

// NewDoc returns a record of defaults.
func (k *Kind) NewDoc() *Doc {
	return &Doc{Kind: k, values: slices.Clone(k.initial)}
}

// applyDefaults gives each stored field without a value its default.
func applyDefaults(d *Doc) {
	for _, i := range d.Kind.sorted {
		if d.values[i] == nil {
			d.values[i] = d.Kind.initial[i]
		}
	}
}

// Decode opens a stored body of this Version of the table, or an earlier one. A field that it lacks gets its default; a field that this
// version does not know is kept. The document shares nothing with the body. Decode returns ErrBody for anything else.
func (k *Kind) Decode(b Body) (*Doc, error) {
	cut := len(b.Shown)
	buf := append(append(make([]byte, 0, cut+len(b.Hidden)), b.Shown...), b.Hidden...)
	return k.Adopt(Body{Shown: buf[:cut:cut], Hidden: buf[cut:]})
}

// Adopt is Decode of a body that is never written to again: the document keeps it.
func (k *Kind) Adopt(b Body) (*Doc, error) {
	d := &Doc{Kind: k, values: make([]jsontext.Value, len(k.Fields))}
	return d, readBody(d, b)
}

// readBody reads the members of a body. The document shares their bytes.
func readBody(d *Doc, b Body) error {
	order := [2][]int{d.Kind.shown, d.Kind.hidden}
	if first := d.Kind.labels[d.Kind.sorted[0]]; len(b.Hidden) == 0 && bytes.HasPrefix(b.Shown, []byte(first)) {
		order[0] = d.Kind.sorted // a canonical one
	}
	var sound bool
	if t := templateOf(b.Shown); t != nil {
		sound = t.read(d, b.Shown)
	} else {
		sound = readRun(d, b.Shown, order[0])
	}
	if !sound || !readRun(d, b.Hidden, order[1]) {
		return ErrBody
	}
	applyDefaults(d)
	return nil
}

// readRun reads a run of members. Mostly they are the expected fields, in that order, without some that are left out.
func readRun(d *Doc, run []byte, expected []int) bool {
	next := 0
	for _, field := range expected {
		v, after, ok := value.ReadLabelled(run, next, d.Kind.labels[field])
		if ok {
			d.values[field], next = v, after
		} else if !d.Kind.leftOut[field] {
			break
		}
	}
	for next < len(run) {
		name, v, after, ok := value.ReadMember(run, next)
		if !ok {
			return false
		}
		readMember(d, name, v)
		next = after
	}
	return true
}

// readMember gives a member to its field. A member that the table does not know is kept beside the fields.
func readMember(d *Doc, quoted []byte, v jsontext.Value) {
	i, ok := d.Kind.names[string(quoted[1:len(quoted)-1])]
	if ok && d.Kind.Fields[i].Stored() {
		d.values[i] = v
		return
	}
	d.extra = append(d.extra, value.Member{Name: string(quoted), Value: v})
}

// Encode returns the document's body.
func (d *Doc) Encode() Body {
	size := 0
	for i, v := range d.values {
		size += len(d.Kind.labels[i]) + len(v) + 1
	}
	for _, m := range d.extra {
		size += len(m.Name) + len(m.Value) + 2
	}
	run := make([]byte, 0, size)
	if t := d.Kind.template; t != nil {
		run = t.pack(run, d)
	} else {
		run = appendMembers(run, d, d.Kind.shown)
	}
	cut := len(run)
	if cut > 0 {
		run = append(run, ',') // parts the runs in one allocation; in neither of them
	}
	start := len(run)
	for _, i := range d.Kind.hidden {
		if !d.Kind.leftOut[i] || !value.IsNull(d.values[i]) {
			run = appendNext(run, start, d.Kind.labels[i], d.values[i])
		}
	}
	for _, m := range d.extra {
		run = appendNext(run, start, m.Name+":", m.Value)
	}
	return Body{Shown: run[:cut:cut], Hidden: run[start:len(run):len(run)]}
}

// appendMembers appends a run of a document's fields.
func appendMembers(dst []byte, d *Doc, fields []int) []byte {
	start := len(dst)
	for _, i := range fields {
		dst = appendNext(dst, start, d.Kind.labels[i], d.values[i])
	}
	return dst
}

// appendNext appends a member to the run that begins at start.
func appendNext(dst []byte, start int, label string, v jsontext.Value) []byte {
	if len(dst) > start {
		dst = append(dst, ',')
	}
	return append(append(dst, label...), v...)
}

// Clone returns a copy that shares nothing.
func (d *Doc) Clone() *Doc {
	c := &Doc{Kind: d.Kind, values: make([]jsontext.Value, len(d.values)), extra: make([]value.Member, len(d.extra))}
	for i, v := range d.values {
		c.values[i] = bytes.Clone(v)
	}
	for i, m := range d.extra {
		c.extra[i] = value.Member{Name: m.Name, Value: m.Value.Clone()}
	}
	return c
}

// Value returns a stored member, or "null" if there is none. The caller must not write to it.
func (d *Doc) Value(name string) jsontext.Value {
	if i, ok := d.Kind.names[name]; ok && d.values[i] != nil {
		return d.values[i]
	}
	for _, m := range d.extra {
		if value.Unquote([]byte(m.Name)) == name {
			return m.Value
		}
	}
	return jsontext.Value("null")
}

// Text returns a stored string, decoded. It is "" for null.
func (d *Doc) Text(name string) string { return value.Unquote(d.Value(name)) }

// Int returns a stored integer. It is 0 for null.
func (d *Doc) Int(name string) int64 { return value.Int(d.Value(name)) }

// Bool returns a stored boolean. It is false for null.
func (d *Doc) Bool(name string) bool { return string(d.Value(name)) == "true" }

// Ints returns a stored list of integers.
func (d *Doc) Ints(name string) []int64 { return value.Ints(d.Value(name)) }

// Time returns a stored date-time. It is the zero time for null.
func (d *Doc) Time(name string) time.Time {
	t, _ := value.ParseDateTime(d.Text(name), time.UTC)
	return t
}

// IsNull reports whether a field is null.
func (d *Doc) IsNull(name string) bool { return value.IsNull(d.Value(name)) }

// Set stores a value in its stored form. The name must be one of the table's.
func (d *Doc) Set(name string, v jsontext.Value) { d.values[storedIndex(d.Kind, name)] = v }

// storedIndex is the index of a stored field; any other name is a bug in this program.
func storedIndex(k *Kind, name string) int {
	i, ok := k.names[name]
	if !ok || !k.Fields[i].Stored() {
		panic("record: " + k.Name + " stores no field " + name)
	}
	return i
}

// Apply sets the fields that a patch gives, and returns the names of those that changed, in table order. A frozen field keeps its first
// value that is not null. Objects that differ only in the order of their members are equal.
func (d *Doc) Apply(p *Patch) (changed []string) {
	if p.Kind != d.Kind {
		panic("record: a patch of another kind for a " + d.Kind.Name)
	}
	for i, v := range p.values {
		f := &d.Kind.Fields[i]
		switch {
		case v == nil, value.Equal(d.values[i], v):
		case f.Flags.Has(Frozen) && !value.IsNull(d.values[i]):
		default:
			d.values[i] = v
			changed = append(changed, f.Name)
		}
	}
	return changed
}

// Moment is the clock's reading at which a change is made.
type Moment struct {
	Now  time.Time
	Zone *time.Location // the congregation's timezone; nil = UTC
}

// Settle applies a kind's own rules after Apply (contract.md §9): defaults that follow from other fields, frozen originals, dates of
// change, created_at. before is the record before the change, or nil on create.
func (d *Doc) Settle(before *Doc, m Moment) {
	if _, ok := d.Kind.names["created_at"]; ok {
		setIfNull(d, "created_at", value.Time(m.Now))
	}
	for _, settle := range d.Kind.rules {
		settle(d, before, m)
	}
}

// setIfNull sets a field that is null.
func setIfNull(d *Doc, name string, v jsontext.Value) {
	if d.IsNull(name) {
		d.Set(name, v)
	}
}

// Missing are the fields that a record must be given and was not: nothing stands for them.
func Missing(d *Doc) (names []string) {
	for _, i := range d.Kind.never {
		if f := &d.Kind.Fields[i]; f.Flags.Has(Required) && value.IsNull(d.values[i]) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Complete gives a record from elsewhere what replies always show (contract.md §8) and it lacks: null becomes what an absent field
// has, or what Settle gives it, and an object has all its keys. It tells whether anything was lacking.
func (d *Doc) Complete(m Moment) (lacked bool) {
	unsettled := false
	for _, i := range d.Kind.never {
		f, v := &d.Kind.Fields[i], d.values[i]
		if value.IsNull(v) {
			unsettled = unsettled || f.Flags.Has(Filled)
			lacked = lacked || f.Default != ""
			d.values[i] = f.initial()
			continue
		}
		if whole := wholeOf(f.Type, v); !bytes.Equal(whole, v) {
			d.values[i], lacked = whole, true
		}
	}
	if unsettled {
		d.Settle(nil, m)
	}
	return lacked || unsettled
}

// wholeOf is a value that fits its type, with the keys that objects of the type always have.
func wholeOf(t Type, v jsontext.Value) jsontext.Value {
	switch t := t.(type) {
	case Object:
		return t.fill(v)
	case Objects:
		whole, _ := list(v, func(e jsontext.Value) (jsontext.Value, string) { return Object(t).fill(e), "" })
		return whole
	}
	return v
}

// ErrBody is returned for a stored body that is not two runs of members.
var ErrBody = errors.New("not a record's body")

// Body is a record as it lies in the store: two runs of members in table order. Shown holds the members as /v1 prints them: packed
// (template.go), or as JSON without the braces. Hidden is JSON without the braces. It holds write-only and hidden fields, references
// and unknown fields; a field of these that is null and has no other default is left out, unless a nested member is made of it.
type Body struct{ Shown, Hidden []byte }

// Member returns a stored member of either run without decoding the others. It is nil if there is none.
func (b Body) Member(name string) jsontext.Value {
	if v, _ := b.shown(name, 0); v != nil {
		return v
	}
	v, _ := findMember(b.Hidden, 0, name)
	return v
}

// Next is Member for names that are asked for in table order: it looks first from i on, where a member of the shown run begins, and
// returns where the one behind the found member begins.
func (b Body) Next(name string, i int) (v jsontext.Value, after int) {
	if v, after := b.shown(name, i); v != nil {
		return v, after
	}
	return b.Member(name), i
}

// reference is Member for references: it looks into the hidden run first.
func (b Body) reference(name string) jsontext.Value {
	v, _ := value.Find(b.Hidden, 0, name)
	if v == nil {
		v, _ = b.shown(name, 0)
	}
	return v
}

// shown finds a member of the shown run, from i on; 0: in all of it.
func (b Body) shown(name string, i int) (v jsontext.Value, after int) {
	if t := templateOf(b.Shown); t != nil {
		return t.find(b.Shown, i, name)
	}
	return findMember(b.Shown, i, name)
}

// findMember is value.Find, for names that are written with escapes too.
func findMember(run []byte, i int, name string) (v jsontext.Value, after int) {
	if !strings.ContainsAny(name, "\"\\") {
		return value.Find(run, i, name)
	}
	for i < len(run) {
		quoted, v, after, ok := value.ReadMember(run, i)
		if !ok {
			break
		}
		if value.Unquote(quoted) == name {
			return v, after
		}
		i = after
	}
	return nil, i
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
	for _, i := range d.kind.sorted {
		start := 0
		if i > 0 {
			start = d.ends[i-1] + 1
		}
		canonical = append(value.AppendComma(canonical), d.run[start:d.ends[i]]...)
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
	for _, i := range d.Kind.sorted {
		dst = append(value.AppendComma(dst), d.Kind.labels[i]...)
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

// MergedInto reads the canonical body of a record's tombstone. It returns 0 if the tombstone names no other record of the kind.
func MergedInto(k *Kind, id ID, tombstone []byte) int64 {
	rest, ok := bytes.CutPrefix(tombstone, []byte(intoStart))
	if !ok || k.ULID {
		return 0
	}
	name, ok := strings.CutSuffix(string(rest), intoEnd)
	of, into, isID := ParseDocID(name)
	if !ok || !isID || of != k || into == id {
		return 0
	}
	return into.Int()
}

// Pointer is a reference that a patch makes: the store checks that it exists.
type Pointer struct {
	Field string
	Kind  *Kind
	ID    ID
}

// Pointers lists the references that a patch sets.
func (p *Patch) Pointers() []Pointer { return pointers(p.Kind, p.values) }

// Pointers lists the references that a record makes.
func (d *Doc) Pointers() []Pointer { return pointers(d.Kind, d.values) }

// pointers lists the references among the values of a kind's fields.
func pointers(k *Kind, values []jsontext.Value) (out []Pointer) {
	for i, v := range values {
		if value.IsNull(v) {
			continue
		}
		switch f := &k.Fields[i]; t := f.Type.(type) {
		case Ref:
			to, _ := ByName(t.Kind)
			out = append(out, Pointer{f.Name, to, Int(value.Int(v))})
		case Refs:
			to, _ := ByName(t.Kind)
			for _, n := range value.Ints(v) {
				out = append(out, Pointer{f.Name, to, Int(n)})
			}
		}
	}
	return out
}

// Unknown returns the names of the fields that this version does not know, in their stored order.
func (d *Doc) Unknown() (names []string) {
	for _, m := range d.extra {
		names = append(names, value.Unquote([]byte(m.Name)))
	}
	return names
}

// unknownOf returns the fields that this version does not know, by name.
func unknownOf(d *Doc) map[string]jsontext.Value {
	out := make(map[string]jsontext.Value, len(d.extra))
	for _, m := range d.extra {
		out[value.Unquote([]byte(m.Name))] = m.Value
	}
	return out
}

// Differs returns the fields that have another value in another record of the kind: those of the table in its order, then those that
// this version does not know.
func (d *Doc) Differs(o *Doc) (names []string) {
	for i := range d.values {
		if f := &d.Kind.Fields[i]; f.Stored() && !value.Equal(d.values[i], o.values[i]) {
			names = append(names, f.Name)
		}
	}
	own, others := unknownOf(d), unknownOf(o)
	for _, side := range [2]*Doc{d, o} {
		for _, m := range side.extra {
			name := value.Unquote([]byte(m.Name))
			_, mine := own[name]
			if (side == d || !mine) && !value.Equal(own[name], others[name]) {
				names = append(names, name)
			}
		}
	}
	return names
}
