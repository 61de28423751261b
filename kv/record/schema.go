package record

import "slices"

// Schema is the kind's OpenAPI 3.1 schema on a surface. A reply's is exact; on Admin fields may appear that only a newer
// replica knows. A request's takes what Parse takes; its lengths and enumerations are those of the trimmed text.
func (k *Kind) Schema(s Surface, d Direction) map[string]any {
	if d == Reply {
		return replySchema(k, s)
	}
	properties, required := map[string]any{}, []string{}
	for i := range k.Fields {
		f := &k.Fields[i]
		if !f.Settable(s) {
			continue
		}
		schema := f.Type.schema(d)
		if f.TakesNull(s) {
			schema = withNull(schema)
		}
		if s == Admin && f.Default == `""` {
			delete(schema, "minLength") // what an absent field has can be given back
		}
		if f.Flags.Has(WriteOnly) && s == V1 {
			schema["writeOnly"] = true
		}
		properties[f.Name] = schema
		if d == Create && f.Flags.Has(Required) {
			required = append(required, f.Name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func replySchema(k *Kind, s Surface) map[string]any {
	properties := map[string]any{"id": idSchema(k)}
	required := []string{"id"}
	for i := range k.Fields {
		f := &k.Fields[i]
		if !f.Shown(s) {
			continue
		}
		schema := f.Type.schema(Reply)
		if f.mayShowNull(s) {
			schema = withNull(schema)
		}
		if !f.Settable(s) {
			schema["readOnly"] = true
		}
		properties[f.Name] = schema
		required = append(required, f.Name)
	}
	out := map[string]any{"type": "object", "properties": properties, "required": required}
	if s == V1 {
		out["additionalProperties"] = false
	}
	return out
}

// mayShowNull reports whether a reply on a surface may hold null.
func (f *Field) mayShowNull(s Surface) bool {
	switch t := f.Type.(type) {
	case Nested:
		return !t.Always
	case Counted:
		return s == Admin
	case Object:
		if len(t.Keys) > 0 {
			return false
		}
	case NestedList:
		return false
	}
	if f.Flags.Has(Null) {
		return true
	}
	return f.Stored() && f.Default == "" && !f.Flags.Has(Required|Filled)
}

func idSchema(k *Kind) map[string]any {
	if k.ULID {
		s := ULID{}.schema(Reply)
		s["readOnly"] = true
		return s
	}
	s := Ref{}.schema(Reply)
	s["readOnly"] = true
	return s
}

// withNull lets a schema take null besides.
func withNull(s map[string]any) map[string]any {
	switch t := s["type"].(type) {
	case string:
		s["type"] = []string{t, "null"}
	case []string:
		if !slices.Contains(t, "null") {
			s["type"] = append(slices.Clone(t), "null")
		}
	}
	if values, ok := s["enum"].([]string); ok {
		list := make([]any, 0, len(values)+1)
		for _, v := range values {
			list = append(list, v)
		}
		s["enum"] = append(list, nil)
	}
	return s
}
