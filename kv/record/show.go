package record

import (
	"strconv"
	"time"
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
		dst = k.appendHidden(dst, v.Body.Hidden)
	}
	for n := range k.derived {
		m := &k.derived[n]
		f := &k.Fields[m.field]
		if !f.Shown(s) || s == Admin && f.Stored() {
			continue
		}
		dst = append(append(dst, ','), k.labels[m.field]...)
		dst = v.derive(dst, n, m, f.Name)
	}
	return append(dst, '}')
}

// maker is a derived field: what makes it, and the stored field that it is made of alone; "" where there is more to it.
type maker struct {
	deriver
	field  int
	source string
}

func (k *Kind) maker(i int) maker {
	m := maker{deriver: k.Fields[i].Type.(deriver), field: i}
	switch t := k.Fields[i].Type.(type) {
	case Nested:
		m.source = t.ID
	case NestedList:
		m.source = t.IDs
	}
	return m
}

// derive appends what the nth derived field shows.
func (v *View) derive(dst []byte, n int, m *maker, name string) []byte {
	if m.source == "" || v.Page == nil {
		return m.deriver.derive(dst, name, v)
	}
	source := v.Body.reference(m.source)
	shown := v.Page.field(n)
	if text, ok := shown[string(source)]; ok {
		return append(dst, text...)
	}
	start := len(dst)
	dst = m.deriver.derive(dst, name, v)
	shown[string(source)] = dst[start:len(dst):len(dst)]
	return dst
}

// Page is what the replies of one page share, whose records name the same few churches and roles: good for one state of the
// store, as long as the memory that the replies are on.
type Page struct {
	shown   []map[string][]byte // by derived field: what it showed for a stored value
	stamp   []byte              // stampOf as it was printed
	stampOf time.Time
}

// field is what the nth derived field has shown.
func (p *Page) field(n int) map[string][]byte {
	for len(p.shown) <= n {
		p.shown = append(p.shown, make(map[string][]byte))
	}
	return p.shown[n]
}

// appendHidden appends the second run without its secrets, and without unknown members that a made one would stand beside.
func (k *Kind) appendHidden(dst, run []byte) []byte {
	for i := 0; i < len(run); {
		name, _, after, ok := member(run, i)
		if !ok {
			return dst
		}
		if k.open(name) {
			dst = append(append(dst, ','), run[i:after-1]...)
		}
		i = after
	}
	return dst
}

// open tells whether a member of the second run may be shown to an administrator.
func (k *Kind) open(quoted []byte) bool {
	name := quoted[1 : len(quoted)-1]
	i, known := k.names[string(name)]
	if !known {
		return string(name) != "id"
	}
	return k.Fields[i].Stored() && !k.Fields[i].Flags.Has(Secret)
}
