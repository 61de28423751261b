package record

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/fault"
	"doorward/kv/value"
)

// ParseOptions say how a request's body is read.
type ParseOptions struct {
	Surface Surface
	Create  bool           // required fields must be there
	Zone    *time.Location // of date-times without an offset; nil = UTC
}

// Patch is what a body asks for, each value in the form it is stored in, and everything that is wrong with it.
type Patch struct {
	Kind   *Kind
	Faults fault.ByField
	values []value.Member
}

// Parse reads a request's body. It answers a *SyntaxError where the body is no JSON object; what is wrong with single
// fields is in the patch's Faults, all of it. Unknown names, and names that the surface cannot set, are ignored.
func (k *Kind) Parse(body []byte, o ParseOptions) (*Patch, error) {
	p := &Patch{Kind: k}
	given := make([]bool, len(k.Fields))
	err := value.ReadObject(body, func(name string, v jsontext.Value) {
		i, ok := k.names[name]
		if !ok || !k.Fields[i].Settable(o.Surface) {
			return
		}
		given[i] = true
		p.read(&k.Fields[i], v, o)
	})
	if err != nil {
		return nil, err
	}
	if !o.Create {
		return p, nil
	}
	for i := range k.Fields {
		f := &k.Fields[i]
		if f.Flags.Has(Required) && f.Settable(o.Surface) && !given[i] {
			p.Faults.Add(f.Name, fault.Required)
		}
	}
	return p, nil
}

// read takes one given value, or notes what is wrong with it.
func (p *Patch) read(f *Field, v jsontext.Value, o ParseOptions) {
	if _, ref := f.Type.(Ref); ref && string(v) == `""` {
		v = jsontext.Value("null")
	}
	if value.IsNull(v) {
		if !f.TakesNull(o.Surface) {
			p.Faults.Add(f.Name, fault.Null)
			return
		}
		p.values = append(p.values, value.Member{Name: f.Name, Value: f.null()})
		return
	}
	stored, fault := f.Type.parse(v, o.Zone)
	if fault != "" && o.Surface == Admin && string(v) == f.Default {
		stored, fault = f.initial(), "" // what an absent field has can be given back
	}
	if fault != "" {
		p.Faults.Add(f.Name, fault)
		return
	}
	p.values = append(p.values, value.Member{Name: f.Name, Value: stored})
}

// Value is what the patch sets a field to; ok is false where it leaves the field alone.
func (p *Patch) Value(name string) (v jsontext.Value, ok bool) {
	if i := p.index(name); i >= 0 {
		return p.values[i].Value, true
	}
	return nil, false
}

// Text is the string that the patch sets a field to, decoded; "" for null and where it leaves the field alone.
func (p *Patch) Text(name string) string {
	v, _ := p.Value(name)
	return value.Unquote(v)
}

// Empty tells a patch that sets nothing.
func (p *Patch) Empty() bool { return len(p.values) == 0 }

func (p *Patch) index(name string) int {
	return slices.IndexFunc(p.values, func(m value.Member) bool { return m.Name == name })
}

// Set makes the patch set a field to a value in its stored form. The name must be one of the table's.
func (p *Patch) Set(name string, v jsontext.Value) {
	storedIndex(p.Kind, name)
	if i := p.index(name); i >= 0 {
		p.values[i].Value = v
		return
	}
	p.values = append(p.values, value.Member{Name: name, Value: v})
}

// Drop makes the patch leave a field alone.
func (p *Patch) Drop(name string) {
	if i := p.index(name); i >= 0 {
		p.values = slices.Delete(p.values, i, i+1)
	}
}

// Pointer is a reference that a patch makes: the store checks that it exists.
type Pointer struct {
	Field string
	Kind  *Kind
	ID    ID
}

// Pointers lists the references that a patch sets.
func (p *Patch) Pointers() []Pointer {
	var out []Pointer
	for _, m := range p.values {
		out = appendPointers(out, p.Kind, m)
	}
	return out
}

// Pointers lists the references that a record makes.
func (d *Doc) Pointers() []Pointer {
	var out []Pointer
	for i, v := range d.values {
		out = appendPointers(out, d.Kind, value.Member{Name: d.Kind.Fields[i].Name, Value: v})
	}
	return out
}

// appendPointers appends the references of one value.
func appendPointers(out []Pointer, k *Kind, m value.Member) []Pointer {
	if value.IsNull(m.Value) {
		return out
	}
	switch t := k.Fields[k.names[m.Name]].Type.(type) {
	case Ref:
		to, _ := ByName(t.Kind)
		return append(out, Pointer{m.Name, to, Int(value.Int(m.Value))})
	case Refs:
		to, _ := ByName(t.Kind)
		for _, n := range value.Ints(m.Value) {
			out = append(out, Pointer{m.Name, to, Int(n)})
		}
	}
	return out
}

// Project is the part of a patch that another kind's table knows, a field renamed where names says so (from → to).
func (p *Patch) Project(k *Kind, names map[string]string) *Patch {
	out := &Patch{Kind: k}
	for _, m := range p.values {
		name := m.Name
		if to, ok := names[name]; ok {
			name = to
		}
		if f, ok := k.Field(name); ok && f.Stored() {
			out.values = append(out.values, value.Member{Name: name, Value: m.Value})
		}
	}
	return out
}
