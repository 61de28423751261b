package record

import "doorward/kv/value"

// Erased is a record without what is personal in it: its Personal fields are what an absent field has, and what this version
// does not know, which may be anything, is gone. The record stays of use.
func (d *Doc) Erased() *Doc {
	e := d.Clone()
	e.extra = nil
	for i := range e.values {
		if f := &e.Kind.Fields[i]; f.Flags.Has(Personal) {
			e.values[i] = f.initial()
		}
	}
	return e
}

// Refers reports whether one of a record's fields names another record.
func Refers(d *Doc, k *Kind, id ID) bool {
	for i := range d.values {
		f := &d.Kind.Fields[i]
		switch t := f.Type.(type) {
		case Ref:
			if t.Kind == k.Name && value.Int(d.values[i]) == id.Int() {
				return true
			}
		case Refs:
			for _, n := range value.Ints(d.values[i]) {
				if t.Kind == k.Name && n == id.Int() {
					return true
				}
			}
		}
	}
	return false
}

// ShowsAll reports whether a reply of a surface has every member that replies about records of the kind have.
func (k *Kind) ShowsAll(s Surface, reply []byte) bool {
	if len(reply) < 2 {
		return false
	}
	b := Body{Shown: reply[1 : len(reply)-1]}
	for i := range k.Fields {
		if f := &k.Fields[i]; f.Shown(s) && b.Member(f.Name) == nil {
			return false
		}
	}
	return true
}
