package record

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/value"
)

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
