package record

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"doorward/kv/value"
)

// View is all that a reply is made of.
type View struct {
	ID        ID
	Body      Body
	UpdatedAt time.Time
	UpdatedBy int64 // an api key's id; 0 = none
	Now       time.Time
	Zone      *time.Location
	Ref       func(k *Kind, id ID) (Body, bool) // a referred record's body; false where it is gone
	Page      *Page                             // shared by the replies of a page; nil = none
	Count     func() int                        // of an event: its tickets in state valid or unpaid
}

// Show appends the record's reply on a surface: {"id":…, stored members, nested and derived ones}. Admin shows the hidden
// members too.
func (k *Kind) Show(dst []byte, s Surface, v *View) []byte {
	dst = append(dst, `{"id":`...)
	if k.ULID {
		dst = append(append(append(dst, '"'), k.FormatID(v.ID)...), '"')
	} else {
		dst = strconv.AppendInt(dst, v.ID.Int(), 10)
	}
	if len(v.Body.Shown) > 0 {
		dst = v.Body.AppendShown(append(dst, ','))
	}
	if s == Admin {
		dst = appendHidden(dst, k, v.Body.Hidden)
	}
	return append(appendDerived(dst, k, s, v), '}')
}

// appendDerived appends the nested and derived members.
func appendDerived(dst []byte, k *Kind, s Surface, v *View) []byte {
	for n := range k.derived[:k.nested] {
		if m := &k.derived[n]; m.on[s] {
			dst = m.deriver.derive(append(dst, m.label...), m.name, v)
		}
	}
	p := v.Page
	if p != nil && len(p.nestedOf) > 0 && bytes.HasPrefix(v.Body.Hidden, p.nestedOf) {
		return append(dst, p.nested...)
	}
	start, reach := len(dst), 0
	for n := k.nested; n < len(k.derived); n++ {
		if m := &k.derived[n]; m.on[s] {
			var after int
			dst, after = v.derive(append(dst, m.label...), n, m)
			reach = max(reach, after)
		}
	}
	if p != nil && reach <= len(v.Body.Hidden) { // with the comma, without which 1 would begin 12
		p.nested, p.nestedOf = dst[start:len(dst):len(dst)], v.Body.Hidden[:reach]
	}
	return dst
}

// maker is a derived field: what makes it, and the stored field that it is made of alone; "" where there is more to it.
type maker struct {
	deriver
	name, source string
	label        string          // what stands before its value: ,"church":
	on           [Admin + 1]bool // whether a surface shows it
}

func newMaker(k *Kind, i int) maker {
	f := &k.Fields[i]
	m := maker{deriver: f.Type.(deriver), name: f.Name, label: "," + k.labels[i]}
	for s := range m.on {
		m.on[s] = f.Shown(Surface(s)) && (Surface(s) != Admin || !f.Stored())
	}
	switch t := f.Type.(type) {
	case Nested:
		m.source = t.ID
	case NestedList:
		m.source = t.IDs
	}
	return m
}

// derive appends what the nth derived field, a nested one, shows; after is where the stored member that it is made of ends, with its comma.
func (v *View) derive(dst []byte, n int, m *maker) (_ []byte, after int) {
	if v.Page == nil {
		return m.deriver.derive(dst, m.name, v), 0
	}
	source, after := value.Find(v.Body.Hidden, 0, m.source)
	if source == nil {
		return m.deriver.derive(dst, m.name, v), len(v.Body.Hidden) + 1
	}
	shown := v.Page.shown[n]
	if text, ok := shown[string(source)]; ok {
		return append(dst, text...), after
	}
	start := len(dst)
	dst = m.deriver.derive(dst, m.name, v)
	if shown == nil {
		shown = make(map[string][]byte)
		v.Page.shown[n] = shown
	}
	shown[string(source)] = dst[start:len(dst):len(dst)]
	return dst, after
}

// Page keeps the nested members that the replies of one page share: the records of a page name the same few churches and roles. It is
// good for one state of the store, and only as long as the replies' and the bodies' memory is not written to.
type Page struct {
	shown    []map[string][]byte // for each derived field what it shows, by the stored value that it is made of
	stamp    []byte              // stampOf as it was printed
	stampOf  time.Time
	nested   []byte // the nested members of the last record, for the next ones that name the same church and the same roles
	nestedOf []byte // the beginning of its hidden run, up to and with the last value that they are made of
}

// NewPage begins a page of replies about records of a kind.
func NewPage(k *Kind) *Page { return &Page{shown: make([]map[string][]byte, len(k.derived))} }

// appendHidden appends the fields of the second run but secrets, then its unknown members but one that a made one would stand beside.
func appendHidden(dst []byte, k *Kind, run []byte) []byte {
	for _, i := range k.hidden {
		v, _ := value.Find(run, 0, k.Fields[i].Name)
		if v == nil && k.leftOut[i] {
			v = []byte("null")
		}
		if v != nil && !k.Fields[i].Flags.Has(Secret) {
			dst = append(append(append(dst, ','), k.labels[i]...), v...)
		}
	}
	for i := 0; i < len(run); {
		quoted, _, after, ok := value.ReadMember(run, i)
		if !ok {
			return dst
		}
		name := string(quoted[1 : len(quoted)-1])
		if _, known := k.names[name]; !known && name != "id" {
			dst = append(append(dst, ','), run[i:after-1]...)
		}
		i = after
	}
	return dst
}

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
	s := Ref{}.schema(Reply)
	if k.ULID {
		s = ULID{}.schema(Reply)
	}
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
