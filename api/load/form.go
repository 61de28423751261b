package load

import (
	"fmt"
	"slices"
	"strings"

	"doorward/kv/record"
)

// form is a kind as files have it: what its rows are written as, and the table that names its columns.
type form struct {
	kind  *record.Kind
	table *record.Kind // record.TicketForm for tickets, otherwise kind
	names map[string]int
}

// Two names that a file may have beside a table's own: the record's public id, and the id it has where it came from.
const (
	nameID       = "id"
	nameExternal = "external_id"
	nameKind     = "kind"
	nameEvent    = "event_id"
	nameCode     = "code"
	nameState    = "state"
	nameHolder   = "holder_name"
	nameFull     = "full_name"
	nameCPF      = "cpf"
	nameEmail    = "email"
	nameType     = "type"
	nameBirthday = "birthday"
	nameChurch   = "church_id"
	nameCheckin  = "check-in" // not a field: what a list says of who came in
)

// forms are the kinds that can be imported, each after those it refers to.
func forms() []form {
	var out []form
	for _, k := range record.Kinds() {
		if importable(k) {
			out = append(out, newForm(k))
		}
	}
	return byReference(out)
}

// importable tells the kinds that a file may hold: no facts, no keys, and of a ticket's three records the one that stands
// for all.
func importable(k *record.Kind) bool {
	return !k.System && !k.Fact && k != record.HolderName && k != record.Holder
}

func newForm(k *record.Kind) form {
	f := form{kind: k, table: k, names: map[string]int{}}
	if k == record.Ticket {
		f.table = record.TicketForm
	}
	for i := range f.table.Fields {
		if settable(&f.table.Fields[i]) {
			f.names[f.table.Fields[i].Name] = i
		}
	}
	return f
}

// byReference puts every form behind the forms that its fields refer to.
func byReference(in []form) []form {
	var out []form
	done := map[string]bool{}
	var place func(f form)
	place = func(f form) {
		if done[f.kind.Name] {
			return
		}
		done[f.kind.Name] = true
		for _, name := range f.refers() {
			if i := slices.IndexFunc(in, func(g form) bool { return g.kind.Name == name }); i >= 0 {
				place(in[i])
			}
		}
		out = append(out, f)
	}
	for _, f := range in {
		place(f)
	}
	return out
}

// formOf finds an importable kind by its name.
func formOf(name string) (form, error) {
	for _, f := range forms() {
		if f.kind.Name == name {
			return f, nil
		}
	}
	names := Kinds()
	return form{}, fmt.Errorf("%w: there is no kind “%s” to import or export%s; the kinds are %s",
		ErrUsage, name, didYouMean(name, names), strings.Join(names, ", "))
}

// Kinds are the kinds that can be imported and exported, each after those it refers to.
func Kinds() (names []string) {
	for _, f := range forms() {
		names = append(names, f.kind.Name)
	}
	return names
}

// didYouMean names the nearest of some names, in words.
func didYouMean(name string, names []string) string {
	best, at := len(name)+1, -1
	for i, n := range names {
		if d, ok := near(plain(name), plain(n)); ok && d < best || strings.TrimSuffix(name, "s") == n {
			best, at = d, i
		}
	}
	if at < 0 {
		return ""
	}
	return fmt.Sprintf(" (did you mean “%s”?)", names[at])
}

// has tells whether a file may give a value under a name.
func (f form) has(name string) bool {
	_, ok := f.names[name]
	return ok || name == nameID || name == nameExternal
}

// field is the table's row of a name; nil for id and external_id where the table has none.
func (f form) field(name string) *record.Field {
	if i, ok := f.names[name]; ok {
		return &f.table.Fields[i]
	}
	return nil
}

// ranks are the plain titles under which a field is looked for, the best first. A name with an underscore is nobody's word
// for anything else.
func ranks(field string) (out [][]string) {
	if strings.Contains(field, "_") {
		out = append(out, []string{plain(field)})
	}
	for _, t := range titles {
		if t.field == field && t.words != "" {
			for rank := range strings.SplitSeq(t.words, ";") {
				out = append(out, strings.Split(rank, "|"))
			}
		}
	}
	if !strings.Contains(field, "_") {
		if len(out) == 0 {
			out = [][]string{nil}
		}
		out[0] = append(out[0], plain(field))
	}
	return out
}

// words are all of them.
func words(field string) []string { return slices.Concat(ranks(field)...) }

// known are the columns that a file may have.
func (f form) known() []string {
	var out []string
	for i := range f.table.Fields {
		if name := f.table.Fields[i].Name; f.has(name) && name != nameID {
			out = append(out, name)
		}
	}
	return out
}

// needs tells the fields without whose column a table is not read. Without a ticket's code each row would get one made, and
// every further import of the file would make the tickets again.
func (f form) needs(name string) bool {
	field := f.field(name)
	return field != nil && field.Flags.Has(record.Required) || f.kind == record.Ticket && name == nameCode ||
		f.kind == record.Person && name == nameFull
}

// settable tells fields that hold something of their own from what is made of others or by the store.
func settable(f *record.Field) bool {
	switch f.Type.(type) {
	case record.Nested, record.NestedList, record.Derived:
		return false
	}
	return !f.Flags.Has(record.ServerOnly) && f.Name != nameID
}

// refers names the kinds that the form's fields refer to.
func (f form) refers() (names []string) {
	for i := range f.table.Fields {
		switch t := f.table.Fields[i].Type.(type) {
		case record.Ref:
			names = append(names, t.Kind)
		case record.Refs:
			names = append(names, t.Kind)
		}
	}
	return names
}
