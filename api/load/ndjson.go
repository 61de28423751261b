package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/record"
	"doorward/kv/value"
)

// maxUnknown is how many unknown names are kept: beyond, a file has values for names.
const maxUnknown = 100

// ndjsonFile is a file of one JSON object a line.
type ndjsonFile struct {
	spool *spool
	src   *Source
}

// ndjson reads drafts from one.
type ndjson struct {
	in      *lines
	closer  io.Closer
	forms   map[string]form   // the kinds that lines may name
	want    string            // the only kind; "" = each line names its own
	names   map[string]string // name in the file → field
	states  map[string]string // what --states says
	unknown []string          // members that no table has, once each
	asked   map[string]*profile
	seed    maphash.Seed
	dec     jsontext.Decoder
}

// openNDJSON reads the file through for members of tickets that no table has and that may decide who gets in.
func openNDJSON(ctx context.Context, sp *spool, src *Source) (file, error) {
	f := &ndjsonFile{sp, src}
	n, err := f.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = n.close() }() // it was only read
	n.asked, n.seed = map[string]*profile{}, maphash.MakeSeed()
	for ctx.Err() == nil {
		if _, _, err := n.next(); err != nil {
			break
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	var asked Questions
	for _, name := range sortedKeys(n.asked) {
		p := n.asked[name]
		c := &chooser{ly: &layout{titles: []string{name}}, src: src, profiles: []profile{*p}}
		known := p.share(func(v string) bool { return stateOf(v, src.States) != "" || begins(plain(v), tellingValues) })
		title := plain(name)
		if p.counts != nil && (tells(title) || isDebt(title) || begins(title, tellingTitles) || 2*known >= p.filled || c.saysOut(p)) {
			asked = append(asked, c.question(0))
		}
	}
	if len(asked) > 0 {
		return nil, asked
	}
	return f, nil
}

func (f *ndjsonFile) drafts() (drafts, error) { return f.open() }

func (f *ndjsonFile) plan(*Report) {}

func (f *ndjsonFile) close() error { return nil }

func (f *ndjsonFile) open() (*ndjson, error) {
	r, closer, err := f.spool.open()
	if err != nil {
		return nil, err
	}
	n := &ndjson{in: newLines(r), closer: closer, forms: map[string]form{}, want: f.src.Kind, names: map[string]string{}, states: f.src.States}
	for _, f := range forms() {
		n.forms[f.kind.Name] = f
	}
	for field, name := range f.src.Map {
		if strings.HasPrefix(name, "#") {
			return nil, errors.Join(fmt.Errorf("%w: --map %s=%s: the objects of this file have names, not numbers", ErrUsage, field, name), closer.Close())
		}
		n.names[name] = field
	}
	for _, name := range f.src.Ignore {
		n.names[name] = nameIgnored
	}
	return n, nil
}

func (n *ndjson) close() error { return n.closer.Close() }

// nameIgnored is what a member is called that is to be passed over.
const nameIgnored = ""

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
		case m.Name == nameKind && d.form.field(nameKind) == nil, m.Name == nameIgnored:
			continue
		case m.Name == nameID:
			d.id = idText(m.Value)
			continue
		case !d.form.has(m.Name):
			n.skip(d.form, m)
			continue
		}
		if m.Name == nameState && d.form.kind == record.Ticket && m.Value.Kind() == '"' {
			if s := stateOf(value.Unquote(m.Value), n.states); s != "" {
				m.Value = value.Quote(s)
			}
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
func (n *ndjson) kind(d *draft, members []value.Member) *Rejection {
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
func (n *ndjson) skip(f form, m value.Member) {
	for i := range f.table.Fields {
		if f.table.Fields[i].Name == m.Name {
			return
		}
	}
	if n.asked != nil && f.kind == record.Ticket {
		p := n.asked[m.Name]
		if p == nil && len(n.asked) < maxColumns {
			p = &profile{counts: map[string]int{}}
			n.asked[m.Name] = p
		}
		if p != nil && m.Value.Kind() != '{' && m.Value.Kind() != '[' && m.Value.Kind() != 'n' {
			p.add(strings.Trim(string(m.Value), `"`), n.seed)
		}
	}
	if !slices.Contains(n.unknown, m.Name) && len(n.unknown) < maxUnknown {
		n.unknown = append(n.unknown, m.Name)
	}
}

// members cuts an object into its members, their names mapped.
func (n *ndjson) members(text string) (members []value.Member, err error) {
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
		members = append(members, value.Member{Name: name, Value: bytes.Clone(v)})
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
	dst = append(dst, value.Quote(name)...)
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
