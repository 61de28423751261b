package transit

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

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
	errMember     = errors.New("a member that begins with an underscore")
	ErrNoRevision = errors.New("new_edits is false and no revision is given")
)

// ErrLength is an attachment of another length than its document says.
var ErrLength = errors.New("an attachment is not as long as its document says")

// Parsed is a document as it was read. Err is what is wrong with this document alone; the documents beside it are not affected.
type Parsed struct {
	ID        string
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
func (BadMember) Error() string { return errMember.Error() }

// Is tells that it is an errMember.
func (BadMember) Is(target error) bool { return target == errMember }

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
	if json.Unmarshal(v, &in) != nil || len(in.IDs) == 0 || uint64(len(in.IDs)) > in.Start {
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

// Malformed returns an error if CouchDB refuses a whole request for this document: its members, its id or its revision cannot be read.
func (d *Parsed) Malformed(replicated bool) error {
	named := d.Rev != (rev.ID{}) || d.Path != nil
	switch {
	case d.Err != nil && isMalformed(d.Err):
		return d.Err
	case d.IsLocal():
		return nil // its revisions have another form
	case d.BadRev || d.BadPath:
		return ErrRevision
	case replicated && !named:
		return ErrNoRevision
	}
	return docs.CheckDocID(d.ID)
}

// isMalformed tells errors of a document's form from errors of its size and attachments.
func isMalformed(err error) bool {
	return slices.ContainsFunc([]error{input.ErrShape, errMember, docs.ErrDocumentID}, func(known error) bool { return errors.Is(err, known) })
}

// IsLocal tells whether the document is a local one.
func (d *Parsed) IsLocal() bool { return strings.HasPrefix(d.ID, "_local/") }

// ReadMember reads a member other than _attachments.
func (d *Parsed) ReadMember(dec *jsontext.Decoder, name string) error {
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
}

func (d *Parsed) readStub(dec *jsontext.Decoder, name string) error {
	p := Part{Attachment: merge.Attachment{Name: name}, Stub: true}
	p.Length = -1
	err := input.EachMember(dec, func(name string) error {
		v, err := dec.ReadValue()
		if err != nil {
			return input.Wrap(err)
		}
		switch name {
		case "length":
			_ = json.Unmarshal(v, &p.Length) // -1 if it cannot be read: then no length is compared
		case "data":
			p.Data = v.Clone()
		}
		p.ReadMember(name, v)
		return nil
	})
	p.Stub, p.Follows = true, false
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
	d.Body = []byte{'{'}
	if err := input.EachMember(dec, func(name string) error { return d.readMember(dec, name) }); err != nil {
		return nil, err
	}
	d.Body = append(d.Body, '}')
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

// readMember reads a member. Attachments are stubs, or have their bytes as base64.
func (d *Parsed) readMember(dec *jsontext.Decoder, name string) error {
	if name == "_attachments" {
		return input.EachMember(dec, func(name string) error { return d.readStub(dec, name) })
	}
	return d.ReadMember(dec, name)
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
	ClaimedDigest string // of the document; "" = it says none
	ClaimedLength int64  // of the document; 0 = it says none
	Packed        bool   // the bytes are compressed, and the digest is of these
	Stub          bool   // the receiver has the bytes
	Follows       bool   // the bytes come after the document
	Data          []byte // the bytes as base64 in quotes, if the line has them
}

// ReadMember reads a member of an attachment. It ignores one that it cannot read.
func (p *Part) ReadMember(name string, v jsontext.Value) {
	switch name {
	case "content_type":
		_ = json.Unmarshal(v, &p.Type)
	case "digest":
		_ = json.Unmarshal(v, &p.ClaimedDigest)
	case "length":
		_ = json.Unmarshal(v, &p.ClaimedLength)
	case "revpos":
		_ = json.Unmarshal(v, &p.RevPos)
	case "encoding":
		p.Packed = string(v) == `"gzip"`
	case "stub":
		p.Stub = string(v) == "true"
	case "follows":
		p.Follows = string(v) == "true"
	}
}

// Find returns the attachment that a stub stands for, or nil.
func (p *Part) Find(revisions []docs.DocRevision) *merge.Attachment {
	for _, r := range revisions {
		for i, a := range r.Attachments {
			if a.Name == p.Name && (p.ClaimedDigest == "" || p.ClaimedDigest == a.Digest()) {
				return &r.Attachments[i]
			}
		}
	}
	return nil
}

// FindPacked returns the attachment that a stub with the digest of compressed bytes stands for, or nil. No store keeps that digest here: an ancestor
// has the attachment, as CouchDB has it, if the name and revpos are the stub's, and the length is.
func (p *Part) FindPacked(ancestors []docs.DocRevision) *merge.Attachment {
	for _, r := range ancestors {
		for i, a := range r.Attachments {
			if p.Packed && a.Name == p.Name && a.RevPos == p.RevPos && a.Length == p.ClaimedLength {
				return &r.Attachments[i]
			}
		}
	}
	return nil
}
