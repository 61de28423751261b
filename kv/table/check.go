package table

import "doorward/kv/record"

// RefersTo is the kind that a field's values name; "" where they name none.
func RefersTo(f *record.Field) string {
	switch t := f.Type.(type) {
	case record.Ref:
		return t.Kind
	case record.Refs:
		return t.Kind
	}
	return ""
}
