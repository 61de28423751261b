package transit

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/oklog/ulid/v2"

	"doorward/kv/docs"
	"doorward/kv/entry"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/sync/input"
)

// What can be wrong with a document.
var (
	ErrRevision   = errors.New("not a revision")
	ErrStub       = errors.New("a stub of an attachment that is not there")
	ErrNoRevision = errors.New("new_edits is false and no revision is given")
)

// ErrLength is an attachment of another length than its document says.
var ErrLength = errors.New("an attachment is not as long as its document says")

// Parsed is a document as it was read. Err is what is wrong with this document alone; the documents beside it are not affected.
type Parsed struct {
	ID        string
	sentID    string // _id as it was sent, if it has an escape: a client knows its document by that
	Rev       rev.ID
	RevText   string   // _rev as it was sent
	BadRev    bool     // _rev is not a document's revision
	Path      []rev.ID // of _revisions
	BadPath   bool     // _revisions are not a document's
	UpperCase bool     // a hash has upper-case digits, which a record's may not have
	Deleted   bool
	Body      []byte // without the members that begin with "_"
	Parts     []Part
	Err       error
}

// BadMember is a member that begins with "_" and that no document has. Only the client learns its name.
type BadMember string

// Error does not say the name, which may be any text.
func (BadMember) Error() string { return "a member that begins with an underscore" }

// Shown returns the name as an answer says it, cut to 100 bytes.
func (m BadMember) Shown() string { return strings.ToValidUTF8(string(m[:min(len(m), 100)]), "") }

// Refuse notes what is wrong with the document. The first error stays.
func (d *Parsed) Refuse(err error) {
	if d.Err == nil {
		d.Err = err
	}
}

// member adds a member to the body, unless the body becomes too large.
func (d *Parsed) member(name string, v jsontext.Value) {
	if len(d.Body)+len(v) > input.MaxValue {
		d.Refuse(entry.ErrTooLarge)
		return
	}
	if len(d.Body) > 1 {
		d.Body = append(d.Body, ',')
	}
	quoted, err := jsontext.AppendQuote(d.Body, name)
	if err != nil {
		d.Refuse(merge.ErrDocument)
	}
	d.Body = append(append(quoted, ':'), v...)
}

// special reads a member that begins with "_".
func (d *Parsed) special(name string, v jsontext.Value) error {
	var text string
	switch name {
	case "_id":
		if json.Unmarshal(v, &d.ID) != nil {
			return docs.ErrDocumentID
		}
		if bytes.Contains(v, []byte(`\u`)) && utf8.Valid(v) {
			d.sentID = string(v)
		}
	case "_rev":
		if string(v) == "null" {
			return nil
		}
		err := json.Unmarshal(v, &text)
		rev, good := rev.ParseFree(text)
		d.BadRev = err != nil || !good
		d.Rev, d.RevText = rev, text
		d.UpperCase = d.UpperCase || good && rev.String() != text
	case "_deleted":
		if json.Unmarshal(v, &d.Deleted) != nil {
			return BadMember(name)
		}
	case "_revisions":
		upper := false
		d.Path, upper = parsePath(v)
		d.BadPath, d.UpperCase = d.Path == nil, d.UpperCase || upper
	case "_conflicts", "_deleted_conflicts", "_revs_info", "_local_seq", "_removed":
		// an answer has these, and a client may send them back
	default:
		return BadMember(name)
	}
	return nil
}

// parsePath reads _revisions: the revision and those before it. It returns nil if they cannot be read; upper tells that a hash has upper-
// case digits.
func parsePath(v jsontext.Value) (path []rev.ID, upper bool) {
	var in struct {
		Start uint64   `json:"start"`
		IDs   []string `json:"ids"`
	}
	if input.CountItems(v) > input.MaxItems || json.Unmarshal(v, &in) != nil || len(in.IDs) == 0 || uint64(len(in.IDs)) > in.Start {
		return nil, false
	}
	in.IDs = in.IDs[:min(len(in.IDs), rev.MaxPath)] // no tree keeps more
	for i, id := range in.IDs {
		rev, ok := rev.FromHash(in.Start-uint64(i), id)
		if !ok {
			return nil, false
		}
		path, upper = append(path, rev), upper || rev.HashText() != id
	}
	return path, upper
}

// QuotedID returns the id as JSON: as the document has it, if that is not the same for every reader.
func (d *Parsed) QuotedID() string {
	if d.sentID != "" {
		return d.sentID
	}
	quoted, _ := jsontext.AppendQuote(nil, d.ID) // what is no UTF-8 becomes what is
	return string(quoted)
}

// Malformed returns an error if CouchDB refuses a whole request for this new edit: its members, its id or its revision cannot be read.
func (d *Parsed) Malformed() error {
	switch {
	case d.Err != nil && isMalformed(d.Err):
		return d.Err
	case d.IsLocal():
		return nil // its revisions have another form
	case d.BadRev || d.BadPath:
		return ErrRevision
	}
	return docs.CheckDocID(d.ID)
}

// isMalformed tells errors of a document's form, and that it is far too large, from errors of its attachments and from those that the store finds.
func isMalformed(err error) bool {
	return errors.Is(err, entry.ErrTooLarge) || errors.As(err, new(BadMember)) || errors.Is(err, input.ErrJSON) || errors.Is(err, docs.ErrDocumentID)
}

// IsLocal tells whether the document is a local one.
func (d *Parsed) IsLocal() bool { return strings.HasPrefix(d.ID, "_local/") }

// ReadMembers reads the members of the object that comes next. attachments reads the value of _attachments.
func (d *Parsed) ReadMembers(dec *jsontext.Decoder, attachments func() error) error {
	d.Body = []byte{'{'}
	err := input.EachMember(dec, func(name string) error {
		if name == "_attachments" {
			return attachments()
		}
		v, err := dec.ReadValue()
		switch {
		case err != nil:
			return input.Wrap(err)
		case strings.HasPrefix(name, "_"):
			d.Refuse(d.special(name, v))
		default:
			d.member(name, v)
		}
		return nil
	})
	d.Body = append(d.Body, '}')
	return err
}

// readPart reads an attachment, which is a stub or has its bytes as base64.
func (d *Parsed) readPart(dec *jsontext.Decoder, name string) error {
	p := Part{Attachment: merge.Attachment{Name: name}}
	err := p.ReadMembers(dec, func(v jsontext.Value) error {
		p.Data = v.Clone()
		return nil
	})
	p.Length, p.Stub, p.Follows = p.ClaimedLength, true, false // a length that is not known is not compared
	d.Parts = append(d.Parts, p)
	return err
}

// Ancestry returns the revision and those before it, newest first. It is the zero revision if the document names none.
func (d *Parsed) Ancestry() []rev.ID {
	if d.Path == nil || d.Rev != (rev.ID{}) && d.Path[0] != d.Rev {
		return []rev.ID{d.Rev}
	}
	return d.Path
}

// Read reads a document as a revision. It returns nil if the document names no id or no revision. A document with a member that no document
// has, or of too many bytes, is a revision that is refused.
func (d *Parsed) Read(dec *jsontext.Decoder) (*Revision, error) {
	err := d.ReadMembers(dec, func() error {
		return input.EachMember(dec, func(name string) error { return d.readPart(dec, name) })
	})
	if err != nil {
		return nil, err
	}
	path := d.Ancestry()
	if d.ID == "" || d.BadRev || path[0] == (rev.ID{}) {
		return nil, nil
	}
	x := &Revision{ID: d.ID, Path: path, Deleted: d.Deleted, Body: d.Body, Parts: d.Parts, Wrong: d.Err}
	if d.Err != nil && !errors.Is(d.Err, entry.ErrTooLarge) {
		x.Wrong = merge.ErrDocument
	}
	return x, nil
}

// MediaType returns a content type that a header can hold. The default is that of plain bytes.
func MediaType(media string) string {
	if media == "" || strings.ContainsAny(media, "\r\n") {
		return "application/octet-stream"
	}
	return media
}

// Part is an attachment of a document that was read.
type Part struct {
	merge.Attachment
	ClaimedDigest string // of the document, an MD5; "" = it says none
	ClaimedLength int64  // of the document; -1 = it says none, or what cannot be read
	Packed        bool   // the bytes are compressed, and the digest is of these
	Stub          bool   // the receiver has the bytes
	Follows       bool   // the bytes come after the document
	Data          []byte // the bytes as base64 in quotes, if the line has them
}

// ReadMembers reads the members of the object that comes next. It ignores one that it cannot read. data reads the bytes, if they are there.
func (p *Part) ReadMembers(dec *jsontext.Decoder, data func(jsontext.Value) error) error {
	p.ClaimedLength = -1
	return input.EachMember(dec, func(name string) error {
		v, err := dec.ReadValue()
		switch {
		case err != nil:
			return input.Wrap(err)
		case name == "data":
			return data(v)
		}
		p.readMember(name, v)
		return nil
	})
}

func (p *Part) readMember(name string, v jsontext.Value) {
	switch name {
	case "content_type":
		_ = json.Unmarshal(v, &p.Type)
	case "digest":
		if _ = json.Unmarshal(v, &p.ClaimedDigest); !strings.HasPrefix(p.ClaimedDigest, "md5-") {
			p.ClaimedDigest = "" // Couchbase Lite's is a SHA-1, which no store keeps here
		}
	case "length":
		_ = json.Unmarshal(v, &p.ClaimedLength)
	case "revpos":
		_ = json.Unmarshal(v, &p.RevPos)
	case "encoding":
		p.Packed = string(v) == `"gzip"`
	case "follows":
		p.Follows = string(v) == "true"
	}
}

// Find returns an attachment of some revisions that has the name and the digest, or nil.
func (p *Part) Find(revisions []docs.DocRevision) *merge.Attachment {
	for _, r := range revisions {
		for i, a := range r.Attachments {
			if a.Name == p.Name && p.ClaimedDigest == a.Digest() {
				return &r.Attachments[i]
			}
		}
	}
	return nil
}

// StandsFor returns the attachment of a revision that the stub stands for, or nil: as at CouchDB the one of its name and, if the stub says one, of its
// revpos. A digest must be right too. No store keeps the digest of compressed bytes here: the length is compared then.
func (p *Part) StandsFor(base *docs.DocRevision) *merge.Attachment {
	for i, a := range base.Attachments {
		if a.Name != p.Name || p.RevPos != 0 && p.RevPos != a.RevPos {
			continue
		}
		packed := p.Packed && p.RevPos == a.RevPos && p.ClaimedLength == a.Length
		if p.ClaimedDigest == "" || p.ClaimedDigest == a.Digest() || packed {
			return &base.Attachments[i]
		}
	}
	return nil
}

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
	revs, _ := SortRevs(texts)
	return revs
}

// SortRevs tells the revisions among some texts from the others.
func SortRevs(texts []string) (revs []rev.ID, others []string) {
	revs = make([]rev.ID, 0, len(texts))
	for _, text := range texts {
		if rev, ok := rev.ParseFree(text); ok && text != "" {
			revs = append(revs, rev)
		} else {
			others = append(others, text)
		}
	}
	return revs, others
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
