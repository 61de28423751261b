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
	values []jsontext.Value // by index into Kind.Fields; nil where the patch leaves the field alone
}

// newPatch returns a patch that sets nothing.
func newPatch(k *Kind) *Patch { return &Patch{Kind: k, values: make([]jsontext.Value, len(k.Fields))} }

// Parse reads a request's body. It answers a *SyntaxError where the body is no JSON object; what is wrong with single
// fields is in the patch's Faults, all of it. Unknown names, and names that the surface cannot set, are ignored.
func (k *Kind) Parse(body []byte, o ParseOptions) (*Patch, error) {
	p := newPatch(k)
	err := value.ReadObject(body, func(name string, v jsontext.Value) {
		i, ok := k.names[name]
		if ok && k.Fields[i].Settable(o.Surface) {
			p.values[i] = p.read(&k.Fields[i], v, o)
		}
	})
	if err != nil {
		return nil, err
	}
	if !o.Create {
		return p, nil
	}
	for i := range k.Fields {
		f := &k.Fields[i]
		if f.Flags.Has(Required) && f.Settable(o.Surface) && p.values[i] == nil && p.Faults[f.Name] == nil {
			p.Faults.Add(f.Name, fault.Required)
		}
	}
	return p, nil
}

// read returns the stored form of a given value. It returns nil, and notes the fault, if something is wrong with the value.
func (p *Patch) read(f *Field, v jsontext.Value, o ParseOptions) jsontext.Value {
	if _, ref := f.Type.(Ref); ref && string(v) == `""` {
		v = jsontext.Value("null")
	}
	if value.IsNull(v) {
		if !f.TakesNull(o.Surface) {
			p.Faults.Add(f.Name, fault.Null)
			return nil
		}
		return f.null()
	}
	stored, fault := f.Type.parse(v, o.Zone)
	if fault != "" && o.Surface == Admin && string(v) == f.Default {
		stored, fault = f.initial(), "" // what an absent field has can be given back
	}
	if fault != "" {
		p.Faults.Add(f.Name, fault)
		return nil
	}
	return stored
}

// Value is what the patch sets a field to; ok is false where it leaves the field alone.
func (p *Patch) Value(name string) (v jsontext.Value, ok bool) {
	if i, known := p.Kind.names[name]; known {
		v = p.values[i]
	}
	return v, v != nil
}

// Text is the string that the patch sets a field to, decoded; "" for null and where it leaves the field alone.
func (p *Patch) Text(name string) string {
	v, _ := p.Value(name)
	return value.Unquote(v)
}

// Empty tells a patch that sets nothing.
func (p *Patch) Empty() bool {
	return !slices.ContainsFunc(p.values, func(v jsontext.Value) bool { return v != nil })
}

// Set makes the patch set a field to a value in its stored form. The name must be one of the table's.
func (p *Patch) Set(name string, v jsontext.Value) { p.values[storedIndex(p.Kind, name)] = v }

// Drop makes the patch leave a field alone.
func (p *Patch) Drop(name string) {
	if i, ok := p.Kind.names[name]; ok {
		p.values[i] = nil
	}
}

// NewDoc returns a record of defaults with what the patch sets. It takes the values over: the patch is used no more.
func (p *Patch) NewDoc() *Doc {
	d := &Doc{Kind: p.Kind, values: p.values}
	p.values = nil
	applyDefaults(d)
	return d
}

// Project is the part of a patch that another kind's table knows. A field of the form of tickets gets the name that it has there.
func (p *Patch) Project(k *Kind) *Patch {
	out := newPatch(k)
	for i, v := range p.values {
		if v == nil {
			continue
		}
		if i, ok := k.names[storedName(k, p.Kind.Fields[i].Name)]; ok && k.Fields[i].Stored() {
			out.values[i] = v
		}
	}
	return out
}
