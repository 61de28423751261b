package sync

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv"
	"doorward/kv/rev"
)

// incoming is a document on its way in. What is wrong with it alone is its err; the ones around it go on.
type incoming struct {
	id      string
	rev     rev.ID
	said    string   // _rev as it stands there
	strange bool     // _rev is none: as of a local document
	path    []rev.ID // of _revisions
	astray  bool     // _revisions are none, as above
	upper   bool     // a hash has upper-case digits, as a record's may not
	deleted bool
	body    []byte // without the members that begin with "_"
	parts   []part
	err     error
}

// readDocument reads the object that comes next. Its error is one of reading; what is wrong with the document is in it.
// Attachments that come with it go to the store at once.
func (c *call) readDocument(dec *jsontext.Decoder) (*incoming, error) {
	if dec.PeekKind() != '{' {
		if err := dec.SkipValue(); err != nil {
			return nil, badBody(err)
		}
		return &incoming{err: errShape}, nil
	}
	d := &incoming{body: []byte{'{'}}
	err := eachMember(dec, func(name string) error {
		if name == "_attachments" {
			c.values.large = true
			defer func() { c.values.large = false }()
			return c.readAttachments(dec, d)
		}
		v, err := dec.ReadValue()
		if err != nil {
			return badBody(err)
		}
		if strings.HasPrefix(name, "_") {
			d.refuse(d.special(name, v))
			return nil
		}
		d.member(name, v)
		return nil
	})
	d.body = append(d.body, '}')
	return d, err
}

// badMember is a member that begins with "_" and means nothing; its name is for the client alone.
type badMember string

// Error does not say the name, which anything may stand in.
func (badMember) Error() string { return errMember.Error() }

// Is tells that it is an errMember.
func (badMember) Is(target error) bool { return target == errMember }

// shown is the name as far as an answer says it.
func (m badMember) shown() string { return strings.ToValidUTF8(string(m[:min(len(m), 100)]), "") }

// refuse notes what is wrong with the document; the first is told.
func (d *incoming) refuse(err error) {
	if d.err == nil {
		d.err = err
	}
}

// member keeps a member of the body, as long as the body may become one.
func (d *incoming) member(name string, v jsontext.Value) {
	if len(d.body)+len(v) > maxValue {
		d.refuse(kv.ErrTooLarge)
		return
	}
	if len(d.body) > 1 {
		d.body = append(d.body, ',')
	}
	quoted, err := jsontext.AppendQuote(d.body, name)
	if err != nil {
		d.refuse(kv.ErrDocument)
	}
	d.body = append(append(quoted, ':'), v...)
}

// special reads a member that begins with "_".
func (d *incoming) special(name string, v jsontext.Value) error {
	var text string
	switch name {
	case "_id":
		if json.Unmarshal(v, &d.id) != nil {
			return kv.ErrDocumentID
		}
	case "_rev":
		if string(v) == "null" {
			return nil
		}
		err := json.Unmarshal(v, &text)
		rev, good := rev.ParseFree(text)
		d.strange = err != nil || !good
		d.rev, d.said = rev, text
		d.upper = d.upper || good && rev.String() != text
	case "_deleted":
		if json.Unmarshal(v, &d.deleted) != nil {
			return badMember(name)
		}
	case "_revisions":
		upper := false
		d.path, upper = parsePath(v)
		d.astray, d.upper = d.path == nil, d.upper || upper
	case "_conflicts", "_deleted_conflicts", "_revs_info", "_local_seq", "_removed":
		// what only an answer holds; a client may send it back
	default:
		return badMember(name)
	}
	return nil
}

// parsePath reads where a replicated revision comes from: it and those before; nil for what is no path. upper tells of upper-case digits.
func parsePath(v jsontext.Value) (path []rev.ID, upper bool) {
	var in struct {
		Start uint64   `json:"start"`
		IDs   []string `json:"ids"`
	}
	if json.Unmarshal(v, &in) != nil || len(in.IDs) == 0 || uint64(len(in.IDs)) > in.Start {
		return nil, false
	}
	in.IDs = in.IDs[:min(len(in.IDs), rev.MaxPath)] // the oldest are more than any tree knows
	for i, id := range in.IDs {
		rev, ok := rev.FromHash(in.Start-uint64(i), id)
		if !ok {
			return nil, false
		}
		path, upper = append(path, rev), upper || rev.HashText() != id
	}
	return path, upper
}

// malformed answers what CouchDB refuses a whole request for: members, an id or a revision that no document has.
func (d *incoming) malformed(replicated bool) error {
	named := d.rev != (rev.ID{}) || d.path != nil
	switch {
	case d.err != nil && isMalformed(d.err):
		return d.err
	case d.isLocal():
		return nil // its revisions are others
	case d.strange || d.astray:
		return errRevision
	case replicated && !named:
		return errNoRevision
	}
	return kv.CheckDocID(d.id)
}

// isMalformed tells what is wrong with a document's form from what is wrong with its size or its attachments' bytes.
func isMalformed(err error) bool {
	return slices.ContainsFunc([]error{errShape, errMember, kv.ErrDocumentID}, func(known error) bool { return errors.Is(err, known) })
}

// isLocal tells a local document among others.
func (d *incoming) isLocal() bool { return strings.HasPrefix(d.id, "_local/") }

// write is the document as the store takes it: as a new edit of its revision, or as it was replicated. What is wrong with it is in it.
func (c *call) write(d *incoming, replicated bool) (w kv.DocWrite, err error) {
	w = kv.DocWrite{ID: d.id, Parent: d.rev, Deleted: d.deleted, Body: d.body, Wrong: d.err}
	if w.Wrong == nil && (d.strange || d.astray || d.upper && !c.db.Free()) {
		w.Wrong = errRevision
	}
	if replicated {
		if w.Path = d.path; w.Path == nil || d.rev != (rev.ID{}) && w.Path[0] != d.rev {
			w.Path = []rev.ID{d.rev}
		}
		if w.Wrong == nil && w.Path[0] == (rev.ID{}) {
			w.Wrong = errNoRevision
		}
		w.Parent = rev.ID{}
	}
	if w.Wrong != nil {
		return w, nil
	}
	if w.Attachments, err = c.resolve(d, w.Path); errors.Is(err, errStub) {
		w.Wrong, err = err, nil
	}
	return w, err
}
