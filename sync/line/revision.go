package line

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"doorward/kv"
	"doorward/kv/record"

	"github.com/go-json-experiment/json/jsontext"
)

// Sequence is a place in a source's feed, in the JSON that the source gives it; nil is the beginning.
type Sequence = json.RawMessage

// SequenceOf returns a sequence of one of our own nodes.
func SequenceOf(text string) Sequence { return Sequence(`"` + strings.Trim(text, `"`) + `"`) }

// SequenceText returns a sequence as a parameter of an address: a text as it is, any other value as JSON.
func SequenceText(s Sequence) (text string) {
	if len(s) == 0 || string(s) == "null" || json.Unmarshal(s, &text) == nil {
		return text
	}
	return string(s)
}

// Revision is one revision of a document in transit.
type Revision struct {
	ID        string
	Path      []record.Revision // the revision and those before it, newest first
	Deleted   bool
	Body      []byte       // without the members that begin with "_"
	Canonical kv.Canonical // Body, if it is known to be canonical
	Parts     []Part
	Author    Author
	scopes    []string
	Seq       Sequence          // of its change, if a feed brought it
	Held      []record.Revision // revisions of the target that may be ancestors
	// Content writes the bytes of an attachment.
	Content func(ctx context.Context, p *Part, w io.Writer) error
}

// Rev returns the revision's id.
func (r *Revision) Rev() record.Revision { return r.Path[0] }

// Size is about how many bytes the revision takes.
func (r *Revision) Size() int {
	n := len(r.ID) + len(r.Body) + 40*len(r.Path)
	for i := range r.Parts {
		n += 200 + int(min(max(r.Parts[i].Length, 0), MaxInline))*4/3
	}
	return n
}

// MaxInline is how many bytes of attachments are sent within a document.
const MaxInline = 256 << 10

// Knows tells whether the target has an attachment's bytes already, with an ancestor of this revision.
func (x *Revision) Knows(p *Part) bool {
	return slices.ContainsFunc(x.Held, func(rev record.Revision) bool {
		return p.RevPos > 0 && p.RevPos <= rev.Generation && slices.Contains(x.Path, rev)
	})
}

// Author says which key made a revision, at which node, when, and which fields it changed. The zero author is not known.
type Author struct {
	At     int64    `json:"at,omitzero"`
	Key    int64    `json:"key,omitzero"`
	Node   string   `json:"node,omitzero"`
	Fields []string `json:"fields,omitzero"`
}

// RevisionTexts returns revisions as texts.
func RevisionTexts(revs []record.Revision) []string {
	list := make([]string, len(revs))
	for i, rev := range revs {
		list[i] = rev.String()
	}
	return list
}

// ParseRevisions reads revisions. It leaves out texts that are none.
func ParseRevisions(texts []string) []record.Revision {
	revs := make([]record.Revision, 0, len(texts))
	for _, text := range texts {
		if rev, ok := record.ParseFreeRevision(text); ok && text != "" {
			revs = append(revs, rev)
		}
	}
	return revs
}

// AppendRevision appends a revision as a JSON text.
func AppendRevision(dst []byte, rev record.Revision) []byte {
	return appendHash(dst, rev, rev.String())
}

// appendHash appends the text of a revision. It needs no escapes if the hash is hex digits; in a free database it may be any text.
func appendHash(dst []byte, rev record.Revision, text string) []byte {
	if rev.Text == "" {
		return append(append(append(dst, '"'), text...), '"')
	}
	dst, _ = jsontext.AppendQuote(dst, text) // it is UTF-8
	return dst
}
