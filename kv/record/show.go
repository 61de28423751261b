package record

import (
	"bytes"
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
	Count     func(what string) int             // records counted elsewhere: "issued" = an event's tickets in state valid or unpaid
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
		dst = append(append(dst, ','), v.Body.Shown...)
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
