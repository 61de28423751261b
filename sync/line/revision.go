package line

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"doorward/kv"
	"doorward/kv/record"
)

// Sequence is a place in a source's feed, in whatever JSON the source gives it; nil is its beginning.
type Sequence = json.RawMessage

// SequenceOf is a sequence of one of our own nodes.
func SequenceOf(text string) Sequence { return Sequence(`"` + strings.Trim(text, `"`) + `"`) }

// Revision is one revision of a document on its way.
type Revision struct {
	ID        string
	Path      []record.Revision // it and those before, newest first
	Deleted   bool
	Body      []byte       // without the members that begin with "_"
	Canonical kv.Canonical // body, where that has been found out
	Parts     []Part
	Author    Author
	scopes    []string
	Seq       Sequence          // of its change, where a feed carries it
	Held      []record.Revision // of the target's revisions those that may come before
	// Content writes the bytes of an attachment.
	Content func(ctx context.Context, p *Part, w io.Writer) error
}

// Rev is the revision itself.
func (r *Revision) Rev() record.Revision { return r.Path[0] }

// Size is about how much room the revision takes.
func (r *Revision) Size() int {
	n := len(r.ID) + len(r.Body) + 40*len(r.Path)
	for i := range r.Parts {
		n += 200 + int(min(max(r.Parts[i].Length, 0), MaxInline))*4/3
	}
	return n
}

// Author is who made a revision, when, where and to which fields; the zero one is not known.
type Author struct {
	At     int64    `json:"at,omitzero"`
	Key    int64    `json:"key,omitzero"`
	Node   string   `json:"node,omitzero"`
	Fields []string `json:"fields,omitzero"`
}

// SequenceText is a sequence as a parameter: a text as it is, anything else as JSON.
func SequenceText(s Sequence) (text string) {
	if len(s) == 0 || string(s) == "null" || json.Unmarshal(s, &text) == nil {
		return text
	}
	return string(s)
}

// MaxInline is up to how many bytes of a document's attachments are sent within it.
const MaxInline = 256 << 10

// Knows tells that the target has an attachment's bytes already, with a revision that this one comes from.
func (x *Revision) Knows(p *Part) bool {
	return slices.ContainsFunc(x.Held, func(rev record.Revision) bool {
		return p.RevPos > 0 && p.RevPos <= rev.Generation && slices.Contains(x.Path, rev)
	})
}
