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
	Memo      Memo                              // shared by the replies of one state; nil = none
	Count     func(what string) int             // records counted elsewhere: "issued" = an event's tickets in state valid or unpaid

	recent  []recent // by derived field; only with a Memo
	stamp   []byte   // stampOf as it was printed, only with a Memo
	stampOf time.Time
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
	for n, i := range k.derived {
		f := &k.Fields[i]
		if !f.Shown(s) || s == Admin && f.Stored() {
			continue
		}
		dst = append(append(dst, ','), k.labels[i]...)
		dst = v.derive(dst, n, f)
	}
	return append(dst, '}')
}

// recent is what a field showed last, and the stored value that it was made of.
type recent struct{ source, text []byte }

// derive appends what the nth derived field shows. In a page the records that lie side by side often name the same church:
// what was printed for the last one is good for this one.
func (v *View) derive(dst []byte, n int, f *Field) []byte {
	d := f.Type.(deriver)
	from, named := f.Type.(sourced)
	if !named || v.Memo == nil {
		return d.derive(dst, f.Name, v)
	}
	for len(v.recent) <= n {
		v.recent = append(v.recent, recent{})
	}
	last := &v.recent[n]
	source := v.Body.reference(from.source())
	if source != nil && bytes.Equal(source, last.source) {
		return append(dst, last.text...)
	}
	start := len(dst)
	dst = d.derive(dst, f.Name, v)
	*last = recent{source, dst[start:len(dst):len(dst)]}
	return dst
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
