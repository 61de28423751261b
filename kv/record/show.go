package record

import (
	"bytes"
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
		if m := &k.derived[n]; m.on[s] {
			dst = v.derive(append(dst, m.label...), n, m)
		}
	}
	return append(dst, '}')
}

// maker is a derived field: what makes it, and the stored field that it is made of alone; "" where there is more to it.
type maker struct {
	deriver
	name, source string
	label        string          // what stands before its value: ,"church":
	on           [Admin + 1]bool // whether a surface shows it
}

func (k *Kind) maker(i int) maker {
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

// derive appends what the nth derived field shows.
func (v *View) derive(dst []byte, n int, m *maker) []byte {
	if m.source == "" || v.Page == nil {
		return m.deriver.derive(dst, m.name, v)
	}
	memo := &v.Page.memos[n]
	if len(memo.head) > 0 && bytes.HasPrefix(v.Body.Hidden, memo.head) {
		return append(dst, memo.text...)
	}
	source, after := find(v.Body.Hidden, 0, m.source)
	if source == nil {
		return m.deriver.derive(dst, m.name, v)
	}
	text, ok := memo.shown[string(source)]
	if ok {
		dst = append(dst, text...)
	} else {
		start := len(dst)
		dst = m.deriver.derive(dst, m.name, v)
		text = dst[start:len(dst):len(dst)]
		if memo.shown == nil {
			memo.shown = make(map[string][]byte)
		}
		memo.shown[string(source)] = text
	}
	if after <= len(v.Body.Hidden) { // with the comma, without which 1 would begin 12
		memo.head, memo.text = v.Body.Hidden[:after], text
	}
	return dst
}

// Page is what the replies of one page share, whose records name the same few churches and roles: good for one state of the
// store, as long as the memory that the replies are on and the bodies are in.
type Page struct {
	memos   []memo // one for each derived field
	stamp   []byte // stampOf as it was printed
	stampOf time.Time
}

// NewPage begins a page of replies.
func (k *Kind) NewPage() *Page { return &Page{memos: make([]memo, len(k.derived))} }

// memo is what a derived field has shown, by the stored value that it was made of; for the last one also the beginning of the
// hidden run, up to and with that value: most records of a page begin the same.
type memo struct {
	shown      map[string][]byte
	head, text []byte
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
