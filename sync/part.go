package sync

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv"
	"doorward/kv/rev"
)

// part is an attachment on its way in.
type part struct {
	kv.Attachment
	digest  string // as the document says it; "" where it does not
	said    int64  // how long it is, as the document says it; 0 where it does not
	packed  bool   // the bytes come compressed: the digest is of these
	stub    bool   // the server has the bytes
	follows bool   // the bytes come after the document
	data    []byte // the bytes as base64 in quotes, where a line of a file has them
}

// readAttachments reads _attachments. Bytes within it are stored as they come.
func (c *call) readAttachments(dec *jsontext.Decoder, d *incoming) error {
	if dec.PeekKind() != '{' {
		d.refuse(kv.ErrDocument)
		return badBody(dec.SkipValue())
	}
	return eachMember(dec, func(name string) error {
		if dec.PeekKind() != '{' {
			d.refuse(kv.ErrDocument)
			return badBody(dec.SkipValue())
		}
		p := part{Attachment: kv.Attachment{Name: name}}
		data := false
		err := eachMember(dec, func(name string) error {
			v, err := dec.ReadValue()
			if err != nil {
				return badBody(err)
			}
			if name == "data" {
				data = true
				return c.storeInline(d, &p, v)
			}
			p.read(name, v)
			return nil
		})
		if err == nil && data && p.packed {
			err = c.unpack(d, &p)
		}
		p.stub = !data && !p.follows
		d.parts = append(d.parts, p)
		return err
	})
}

// read reads what a document says of an attachment. What cannot be read is as if it were not said.
func (p *part) read(name string, v jsontext.Value) {
	switch name {
	case "content_type":
		_ = json.Unmarshal(v, &p.Type)
	case "digest":
		_ = json.Unmarshal(v, &p.digest)
	case "length":
		_ = json.Unmarshal(v, &p.said)
	case "revpos":
		_ = json.Unmarshal(v, &p.RevPos)
	case "encoding":
		p.packed = string(v) == `"gzip"`
	case "stub":
		p.stub = string(v) == "true"
	case "follows":
		p.follows = string(v) == "true"
	}
}

// storeInline stores an attachment that comes as base64. Only where the store itself fails does the request end.
func (c *call) storeInline(d *incoming, p *part, v jsontext.Value) error {
	if v.Kind() != '"' {
		d.refuse(kv.ErrDocument)
		return nil
	}
	raw := bytes.Trim(v, `"`)
	if bytes.IndexByte(raw, '\\') >= 0 { // an escaped slash, as some encoders write it
		raw = bytes.ReplaceAll(raw, []byte(`\/`), []byte(`/`))
	}
	blob, err := c.db.PutBlob(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(raw)))
	var corrupt base64.CorruptInputError
	if errors.As(err, &corrupt) || errors.Is(err, io.ErrUnexpectedEOF) {
		d.refuse(kv.ErrDocument)
		return nil
	}
	p.Blob = blob
	return err
}

// resolve finds the bytes of stubs: those of the same name in a revision that the store has.
func (c *call) resolve(d *incoming, path []rev.ID) ([]kv.Attachment, error) {
	var known []kv.DocRevision
	all := make([]kv.Attachment, len(d.parts))
	for i, p := range d.parts {
		all[i] = p.Attachment
		if !p.stub {
			if path == nil {
				all[i].RevPos = 0 // it comes with this edit
			}
			continue
		}
		if known == nil {
			var err error
			if known, err = c.relatives(d, path); err != nil {
				return nil, err
			}
		}
		found := p.in(known)
		if found == nil {
			return nil, errStub
		}
		if all[i] = *found; p.Type != "" {
			all[i].Type = p.Type
		}
	}
	return all, nil
}

// relatives are the revisions that may have the bytes of a document's stubs: the one that is edited; of a replicated revision
// those before it, then all leaves.
func (c *call) relatives(d *incoming, path []rev.ID) (known []kv.DocRevision, err error) {
	asks := []kv.Ask{{Revisions: path}, {Leaves: true}}
	if path == nil {
		asks = []kv.Ask{{}}
		if d.rev != (rev.ID{}) {
			asks[0].Revisions = []rev.ID{d.rev}
		}
	}
	return relatives(c.db, d.id, asks)
}

// in finds what a stub stands for.
func (p *part) in(revisions []kv.DocRevision) *kv.Attachment {
	for _, r := range revisions {
		for i, a := range r.Attachments {
			if a.Name == p.Name && (p.digest == "" || p.digest == a.Digest()) {
				return &r.Attachments[i]
			}
		}
	}
	return nil
}
