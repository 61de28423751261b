package record

import (
	"bytes"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

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

// Decode opens a stored body of any version of the table. A field that it lacks gets its default; a field that this version does not
// know is kept. The document shares nothing with the body. Decode returns ErrBody for anything else.
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
	for n, run := range [2][]byte{b.Shown, b.Hidden} {
		if !readRun(d, run, order[n]) {
			return ErrBody
		}
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
	for _, i := range d.Kind.shown {
		run = appendNext(run, 0, d.Kind.labels[i], d.values[i])
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
