package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"doorward/kv/record"

	"github.com/go-json-experiment/json/jsontext"
)

// maxUnknown is how many unknown names are kept: beyond, a file has values for names.
const maxUnknown = 100

// ndjson reads drafts from a file of one JSON object a line.
type ndjson struct {
	in      *lines
	forms   map[string]form   // the kinds that lines may name
	want    string            // the only kind; "" = each line names its own
	names   map[string]string // name in the file → field
	unknown []string          // members that no table has, once each
	dec     jsontext.Decoder
}

func newNDJSON(in *lines, src *Source) (*ndjson, error) {
	n := &ndjson{in: in, forms: map[string]form{}, want: src.Kind, names: map[string]string{}}
	for _, f := range forms() {
		n.forms[f.kind.Name] = f
	}
	for field, name := range src.Map {
		if strings.HasPrefix(name, "#") {
			return nil, fmt.Errorf("%w: --map %s=%s: the objects of this file have names, not numbers", ErrUsage, field, name)
		}
		n.names[name] = field
	}
	return n, nil
}

// next answers the next line's draft, or why there is none; io.EOF after the last.
func (n *ndjson) next() (draft, *Rejection, error) {
	for {
		ln, err := n.in.next()
		if err != nil {
			return draft{}, nil, err
		}
		if strings.TrimSpace(ln.text) == "" && ln.fault == "" {
			continue
		}
		if ln.fault != "" {
			return draft{}, &Rejection{Line: ln.n, Reason: ln.fault}, nil
		}
		d, r := n.read(ln)
		return d, r, nil
	}
}

// read sorts a line's members into the draft: kind and id apart, the others under their field's name.
func (n *ndjson) read(ln line) (draft, *Rejection) {
	d := draft{line: ln.n, column: sameName}
	members, err := n.members(ln.text)
	if err != nil {
		return d, &Rejection{Line: ln.n, Reason: err.Error()}
	}
	if r := n.kind(&d, members); r != nil {
		return d, r
	}
	d.body = append(make([]byte, 0, len(ln.text)), '{')
	for _, m := range members {
		switch {
		case strings.HasPrefix(m.Name, "_"):
			return d, &Rejection{ln.n, m.Name, "a name that begins with “_” is the server's own"}
		case m.Name == nameKind && d.form.field(nameKind) == nil:
			continue
		case m.Name == nameID:
			d.id = idText(m.Value)
			continue
		case !d.form.has(m.Name):
			n.skip(d.form, m.Name)
			continue
		}
		d.event = d.event || m.Name == nameEvent && m.Value.Kind() != 'n'
		d.body = appendMember(d.body, m.Name, m.Value)
	}
	d.body = append(d.body, '}')
	return d, nil
}

func (n *ndjson) ignored() []string { return n.unknown }

func sameName(field string) string { return field }

// kind settles a line's kind: its own member, which --kind must not contradict.
func (n *ndjson) kind(d *draft, members []record.Member) *Rejection {
	name := n.want
	for _, m := range members {
		if m.Name == nameKind && m.Value.Kind() == '"' {
			name = strings.Trim(string(m.Value), `"`)
		}
	}
	f, ok := n.forms[name]
	switch {
	case name == "":
		return &Rejection{d.line, nameKind, "no kind: the line names none and --kind is not given"}
	case !ok:
		return &Rejection{d.line, nameKind, "no kind that can be imported"}
	case n.want != "" && name != n.want:
		return &Rejection{d.line, nameKind, "another kind than --kind says"}
	}
	d.form = f
	return nil
}

// skip names an unknown member once. What a table shows and cannot take, as its own export never holds, is passed over
// without a word.
func (n *ndjson) skip(f form, name string) {
	for i := range f.table.Fields {
		if f.table.Fields[i].Name == name {
			return
		}
	}
	if !slices.Contains(n.unknown, name) && len(n.unknown) < maxUnknown {
		n.unknown = append(n.unknown, name)
	}
}

// members cuts an object into its members, their names mapped.
func (n *ndjson) members(text string) (members []record.Member, err error) {
	n.dec.Reset(strings.NewReader(text))
	tok, err := n.dec.ReadToken()
	if err != nil || tok.Kind() != '{' {
		return nil, n.broken(err)
	}
	for n.dec.PeekKind() == '"' {
		tok, err := n.dec.ReadToken()
		if err != nil {
			return nil, n.broken(err)
		}
		name := tok.String()
		v, err := n.dec.ReadValue()
		if err != nil {
			return nil, n.broken(err)
		}
		if to, ok := n.names[name]; ok {
			name = to
		}
		members = append(members, record.Member{Name: name, Value: bytes.Clone(v)})
	}
	if _, err := n.dec.ReadToken(); err != nil {
		return nil, n.broken(err)
	}
	if _, err := n.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, n.broken(err)
	}
	return members, nil
}

// broken says where a line stops being one JSON object.
func (n *ndjson) broken(err error) error {
	at := n.dec.InputOffset()
	var s *jsontext.SyntacticError
	if errors.As(err, &s) {
		at = s.ByteOffset
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return fmt.Errorf("a name stands twice, at character %d", at+1)
	}
	return fmt.Errorf("not one JSON object: it breaks at character %d", at+1)
}

func appendMember(dst []byte, name string, v jsontext.Value) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	dst = append(dst, record.Quote(name)...)
	dst = append(dst, ':')
	return append(dst, v...)
}

// idText is an id as ParseID reads it, whether it comes as a number or as text; "" for null.
func idText(v jsontext.Value) string {
	if v.Kind() == 'n' {
		return ""
	}
	return strings.Trim(string(v), `"`)
}
