package record

import "doorward/kv/value"

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
