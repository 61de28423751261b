package load

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"doorward/api/load/columns"
	"doorward/api/load/kinds"
	"doorward/api/load/profile"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv/record"
	"doorward/kv/value"

	"github.com/go-json-experiment/json/jsontext"
)

// maxUnknown is how many unknown names are kept. A file with more has values in the place of names.
const maxUnknown = 100

// ndjsonFile is a file of one JSON object a line.
type ndjsonFile struct {
	spool  *sheet.Spool
	src    *Source
	stated lineStates
}

// lineStates is what the lines of tickets say of states, all of them together.
type lineStates struct {
	known bool // a line says valid, so those that say none may be of any state
	out   bool // a line says another state
	blank int  // lines that say none, and name no record that has one
	twice contradictions
}

// ndjson reads drafts from one.
type ndjson struct {
	in      *sheet.Lines
	closer  io.Closer
	forms   map[string]kinds.Form // the kinds that lines may name
	want    string                // the only kind; "" = each line names its own
	event   int64                 // the event of all tickets; 0 = each line names its own
	names   map[string]string     // name in the file → field
	states  map[string]string     // what --states says
	stated  lineStates
	unknown []string // members that no table has, once each
	asked   map[string]*profile.Column
	dec     jsontext.Decoder
}

// openNDJSON reads the whole file for unknown members of tickets that may decide on admission, and asks about them.
func openNDJSON(ctx context.Context, sp *sheet.Spool, src *Source) (file, error) {
	f := &ndjsonFile{spool: sp, src: src}
	n, err := f.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = n.close() }() // it was only read
	n.asked, n.stated.twice = map[string]*profile.Column{}, newContradictions()
	for err == nil && ctx.Err() == nil {
		_, _, err = n.next()
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	f.stated = n.stated
	f.stated.twice.said = nil
	var asked columns.Questions
	for _, name := range slices.Sorted(maps.Keys(n.asked)) {
		if q, ask := columns.AskMember(name, n.asked[name], &src.answers); ask {
			asked = append(asked, q)
		}
	}
	if len(asked) > 0 {
		return nil, asked
	}
	return f, nil
}

func (f *ndjsonFile) drafts() (drafts, error) { return f.open() }

// plan adds a note if tickets are taken as valid beside others that do not get in.
func (f *ndjsonFile) plan(rep *Report) {
	if _, all := f.src.States[""]; f.stated.out && !f.stated.known && f.stated.blank > 0 && !all {
		rep.Warnings = append(rep.Warnings, counted(f.stated.blank, "line says", "lines say")+
			" no state and may be taken as valid, beside lines that do not get in; --states '=…' says what they are")
	}
}

func (f *ndjsonFile) open() (*ndjson, error) {
	r, closer, err := f.spool.Open()
	if err != nil {
		return nil, err
	}
	n := &ndjson{in: sheet.NewLines(r), closer: closer, forms: map[string]kinds.Form{}, want: f.src.Kind, event: f.src.Event, names: map[string]string{}, states: f.src.States, stated: f.stated}
	for _, f := range kinds.All() {
		n.forms[f.Kind.Name] = f
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

// nameIgnored is the name of a member that is not read.
const nameIgnored = ""

// next returns the draft of the next line, or the rejection of the line; io.EOF after the last.
func (n *ndjson) next() (draft, *Rejection, error) {
	for {
		ln, err := n.in.Next()
		if err != nil {
			return draft{}, nil, err
		}
		if ln.Fault != "" {
			return draft{}, &Rejection{Line: ln.N, Reason: ln.Fault}, nil
		}
		if strings.TrimSpace(ln.Text) != "" {
			d, r := n.read(ln)
			return d, r, nil
		}
	}
}

// read sorts a line's members into the draft: kind and id apart, the others under their field's name.
func (n *ndjson) read(ln sheet.Line) (draft, *Rejection) {
	d := draft{line: ln.N, column: sameName}
	members, err := n.members(ln.Text)
	if err != nil {
		return d, &Rejection{Line: ln.N, Reason: err.Error()}
	}
	if r := n.kind(&d, members); r != nil {
		return d, r
	}
	d.body = append(make([]byte, 0, len(ln.Text)), '{')
	var t ticketLine
	for _, m := range members {
		switch {
		case strings.HasPrefix(m.Name, "_"):
			return d, &Rejection{ln.N, m.Name, "a name that begins with “_” is the server's own"}
		case m.Name == kinds.Kind && d.form.Field(kinds.Kind) == nil, m.Name == nameIgnored,
			m.Name == kinds.Event && n.event != 0:
			continue
		case m.Name == kinds.ID:
			d.id = idText(m.Value)
			continue
		case !d.form.Has(m.Name):
			n.skip(d.form, m)
			continue
		}
		if m.Name == kinds.State && d.form.Kind == record.Ticket && m.Value.Kind() == '"' {
			if s := words.StateOf(value.Unquote(m.Value), n.states); s != "" {
				m.Value = value.Quote(s)
			}
		}
		t.note(m)
		d.event = d.event || m.Name == kinds.Event && m.Value.Kind() != 'n'
		d.body = value.AppendMember(d.body, m.Name, m.Value)
	}
	if d.form.Kind == record.Ticket {
		if r := n.admits(&d, &t); r != nil {
			return d, r
		}
	}
	d.body = append(d.body, '}')
	return d, nil
}

// ticketLine is what one line says of its ticket. An empty state is one that it does not say.
type ticketLine struct{ event, code, holder, state string }

// note takes a member that tells of admission, or of the code.
func (t *ticketLine) note(m value.Member) {
	switch m.Name {
	case kinds.Event:
		t.event = idText(m.Value)
	case kinds.Code:
		t.code = value.Unquote(m.Value)
	case kinds.HolderName:
		t.holder = value.Unquote(m.Value)
	case kinds.State:
		t.state = cmp.Or(value.Unquote(m.Value), "null")
	}
}

// admits refuses a line without a state that keeps its ticket out by its name, a line of a code with different states, and a line without a state
// beside lines that say one, unless --states says it or the line names a record that has one. It gives the draft the state that --states says.
func (n *ndjson) admits(d *draft, t *ticketLine) *Rejection {
	blank, named := t.state == "", t.state == "" && words.NameKeepsOut(t.holder)
	all, decided := n.states[""]
	switch {
	case named:
		t.state = faultName
	case blank && decided:
		t.state = all
		d.body = value.AppendMember(d.body, kinds.State, value.Quote(all))
	}
	switch {
	case n.stated.twice.said != nil: // the file is read for the first time
		n.stated.add(d, t)
	case named:
		return &Rejection{d.line, kinds.HolderName, faultName}
	case t.code != "" && n.stated.twice.codes[n.stated.twice.hash(t.event, t.code)]:
		return &Rejection{d.line, kinds.Code, faultTwoStates}
	case blank && !decided && n.stated.known && d.id == "":
		return &Rejection{d.line, kinds.State, faultBlankState}
	}
	return nil
}

// add notes what a line says.
func (s *lineStates) add(d *draft, t *ticketLine) {
	state := int8(slices.Index(words.Severity, t.state))
	switch {
	case t.state == "" && d.id == "":
		s.blank++
	case state == 0:
		s.known = true
	case state > 0:
		s.out = true
	case t.state != "":
		state = refusedRow
	}
	if t.code != "" {
		s.twice.note(s.twice.hash(t.event, t.code), state)
	}
}

func (n *ndjson) report(rep *Report) { rep.Ignored = n.unknown }

func sameName(field string) string { return field }

// kind finds a line's kind: its own member, which must not contradict --kind.
func (n *ndjson) kind(d *draft, members []value.Member) *Rejection {
	name := n.want
	for _, m := range members {
		if m.Name == kinds.Kind && m.Value.Kind() == '"' {
			name = strings.Trim(string(m.Value), `"`)
		}
	}
	f, ok := n.forms[name]
	switch {
	case name == "":
		return &Rejection{d.line, kinds.Kind, "no kind: the line names none and --kind is not given"}
	case !ok:
		return &Rejection{d.line, kinds.Kind, "no kind that can be imported"}
	case n.want != "" && name != n.want:
		return &Rejection{d.line, kinds.Kind, "another kind than --kind says"}
	}
	d.form = f
	return nil
}

// skip notes an unknown member once. It ignores a field that the kind's table only shows.
func (n *ndjson) skip(f kinds.Form, m value.Member) {
	if _, shown := f.Table.Field(m.Name); shown {
		return
	}
	if n.asked != nil && f.Kind == record.Ticket {
		p := n.asked[m.Name]
		if p == nil && len(n.asked) < sheet.MaxColumns {
			fresh := profile.NewColumn(0)
			p = &fresh
			n.asked[m.Name] = p
		}
		if p != nil && m.Value.Kind() != '{' && m.Value.Kind() != '[' && m.Value.Kind() != 'n' {
			p.Add(strings.Trim(string(m.Value), `"`), n.stated.twice.seed)
		}
	}
	if !slices.Contains(n.unknown, m.Name) && len(n.unknown) < maxUnknown {
		n.unknown = append(n.unknown, m.Name)
	}
}

// members returns the members of an object under their mapped names.
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

// broken says at which character a line stops being one JSON object.
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

// idText returns an id as ParseID reads it, of a number or a text; "" for null.
func idText(v jsontext.Value) string {
	if v.Kind() == 'n' {
		return ""
	}
	return strings.Trim(string(v), `"`)
}
