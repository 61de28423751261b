package transit

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/oklog/ulid/v2"

	"doorward/kv/merge"
	"doorward/kv/rev"
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
	Path      []rev.ID // the revision and those before it, newest first
	Deleted   bool
	Body      []byte // without the members that begin with "_"
	Canonical bool   // Body is known to be canonical
	Parts     []Part
	Wrong     error // what is wrong with it: it is refused. nil: nothing
	Author    Author
	Scopes    []string
	Seq       Sequence // of its change, if a feed brought it
	Held      []rev.ID // revisions of the target that may be ancestors
	// Content writes the bytes of an attachment.
	Content func(ctx context.Context, p *Part, w io.Writer) error
}

// Rev returns the revision's id.
func (r *Revision) Rev() rev.ID { return r.Path[0] }

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
	return slices.ContainsFunc(x.Held, func(rev rev.ID) bool {
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

// Decode returns the author as the store has it.
func (a *Author) Decode() (k merge.Author) {
	if a.At != 0 {
		k.At = time.UnixMicro(a.At)
	}
	k.Key, k.Fields = a.Key, a.Fields
	k.Node, _ = ulid.ParseStrict(a.Node) // zero = not known
	return k
}

// AppendDoc appends the revision as a document with _revisions. content appends what follows an attachment's type and revpos.
func (x *Revision) AppendDoc(dst []byte, content func([]byte, *Part) ([]byte, error)) (_ []byte, err error) {
	dst, _ = jsontext.AppendQuote(append(dst, `{"_id":`...), x.ID) // what is no UTF-8 becomes what is
	dst = AppendRev(append(dst, `,"_rev":`...), x.Rev())
	if x.Deleted {
		dst = append(dst, `,"_deleted":true`...)
	}
	dst = append(strconv.AppendUint(append(dst, `,"_revisions":{"start":`...), x.Rev().Generation, 10), `,"ids":[`...)
	for i, rev := range x.Path {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendHash(dst, rev, rev.HashText())
	}
	dst = append(dst, "]}"...)
	return x.AppendMembers(dst, content)
}

// AppendMembers appends _attachments and the members of the body, and closes the document. A nil content writes stubs.
func (x *Revision) AppendMembers(dst []byte, content func([]byte, *Part) ([]byte, error)) (_ []byte, err error) {
	if dst, err = x.appendParts(dst, content); err != nil {
		return nil, err
	}
	if len(x.Body) <= len("{}") {
		return append(dst, '}'), nil
	}
	return append(append(dst, ','), x.Body[1:]...), nil
}

func (x *Revision) appendParts(dst []byte, content func([]byte, *Part) ([]byte, error)) (_ []byte, err error) {
	if content == nil {
		content = appendStub
	}
	for i := range x.Parts {
		p := &x.Parts[i]
		if i == 0 {
			dst = append(dst, `,"_attachments":{`...)
		} else {
			dst = append(dst, ',')
		}
		dst, _ = jsontext.AppendQuote(dst, p.Name) // as above
		dst, _ = jsontext.AppendQuote(append(dst, `:{"content_type":`...), MediaType(p.Type))
		dst = strconv.AppendUint(append(dst, `,"revpos":`...), p.RevPos, 10)
		if dst, err = content(dst, p); err != nil {
			return nil, err
		}
		dst = append(dst, '}')
	}
	if len(x.Parts) > 0 {
		dst = append(dst, '}')
	}
	return dst, nil
}

// appendStub says that the server has the bytes.
func appendStub(dst []byte, p *Part) ([]byte, error) {
	dst = append(dst, `,"stub":true`...)
	if p.ClaimedDigest != "" {
		dst, _ = jsontext.AppendQuote(append(dst, `,"digest":`...), p.ClaimedDigest) // as above
	}
	if p.Length >= 0 {
		dst = strconv.AppendInt(append(dst, `,"length":`...), p.Length, 10)
	}
	return dst, nil
}

// AppendContent appends an attachment's bytes, or a stub if the target has them.
func (x *Revision) AppendContent(ctx context.Context, dst []byte, p *Part) ([]byte, error) {
	if x.Knows(p) || x.Content == nil {
		return appendStub(dst, p)
	}
	w := bytes.NewBuffer(append(dst, `,"data":"`...))
	enc := base64.NewEncoder(base64.StdEncoding, w)
	if err := x.Content(ctx, p, enc); err != nil {
		return nil, err
	}
	_ = enc.Close() // memory takes everything
	return append(w.Bytes(), '"'), nil
}

// RevTexts returns revisions as texts.
func RevTexts(revs []rev.ID) []string {
	list := make([]string, len(revs))
	for i, rev := range revs {
		list[i] = rev.String()
	}
	return list
}

// ParseRevs reads revisions. It leaves out texts that are none.
func ParseRevs(texts []string) []rev.ID {
	revs := make([]rev.ID, 0, len(texts))
	for _, text := range texts {
		if rev, ok := rev.ParseFree(text); ok && text != "" {
			revs = append(revs, rev)
		}
	}
	return revs
}

// AppendRev appends a revision as a JSON text.
func AppendRev(dst []byte, rev rev.ID) []byte {
	return appendHash(dst, rev, rev.String())
}

// appendHash appends the text of a revision. It needs no escapes if the hash is hex digits; in a free database it may be any text.
func appendHash(dst []byte, rev rev.ID, text string) []byte {
	if rev.Text == "" {
		return append(append(append(dst, '"'), text...), '"')
	}
	dst, _ = jsontext.AppendQuote(dst, text) // it is UTF-8
	return dst
}

// StoreContent has store read the bytes of an attachment while write writes them. store need not read them to their end.
func StoreContent(write func(io.Writer) error, store func(io.Reader) (merge.Blob, error)) (merge.Blob, error) {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.CloseWithError(write(w)) // never fails
	}()
	blob, err := store(r)
	_ = r.Close() // never fails; it ends the writer
	<-done
	return blob, err
}
