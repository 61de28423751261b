package sync

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/sync/input"
	"doorward/sync/replicate"
	"doorward/sync/transit"
)

// readWhole reads a document after which nothing follows.
func readWhole(c *call, dec *jsontext.Decoder) (*transit.Parsed, error) {
	d, err := readDocument(c, dec)
	if err == nil {
		err = input.Trailing(dec)
	}
	return d, err
}

// readDocument reads the next object. It returns an error only if the body cannot be read; a fault of the document stays in the document. It
// stores attachments with bytes at once.
func readDocument(c *call, dec *jsontext.Decoder) (*transit.Parsed, error) {
	if dec.PeekKind() != '{' {
		if err := dec.SkipValue(); err != nil {
			return nil, input.Wrap(err)
		}
		return &transit.Parsed{Err: input.ErrShape}, nil
	}
	d := &transit.Parsed{}
	return d, d.ReadMembers(dec, func() error {
		c.values.Large = true
		defer func() { c.values.Large = false }()
		return readAttachments(c, dec, d)
	})
}

// docWrite makes a write of a document: a new edit, or a replicated revision. A fault of the document stays in the write.
func docWrite(c *call, d *transit.Parsed, replicated bool) (w merge.DocWrite, err error) {
	w = merge.DocWrite{ID: d.ID, Parent: d.Rev, Deleted: d.Deleted, Body: d.Body, Wrong: d.Err}
	if w.Wrong == nil && (d.BadRev || d.BadPath || d.UpperCase && !c.db.Free()) {
		w.Wrong = transit.ErrRevision
	}
	if replicated {
		w.Path = d.Ancestry()
		if w.Wrong == nil && w.Path[0] == (rev.ID{}) {
			w.Wrong = transit.ErrNoRevision
		}
		w.Parent = rev.ID{}
	}
	if w.Wrong != nil {
		return w, nil
	}
	if w.Attachments, err = resolveStubs(c, d, w.Path); errors.Is(err, transit.ErrStub) {
		w.Wrong, err = err, nil
	}
	return w, err
}

// readAttachments reads _attachments, and stores the bytes in it. A database of records stores none: it refuses the document by itself.
func readAttachments(c *call, dec *jsontext.Decoder, d *transit.Parsed) error {
	if dec.PeekKind() != '{' {
		d.Refuse(merge.ErrDocument)
		return input.Wrap(dec.SkipValue())
	}
	keeps := c.db.Free()
	return input.EachMember(dec, func(name string) error {
		if dec.PeekKind() != '{' {
			d.Refuse(merge.ErrDocument)
			return input.Wrap(dec.SkipValue())
		}
		p := transit.Part{Attachment: merge.Attachment{Name: name}}
		data := false
		err := p.ReadMembers(dec, func(v jsontext.Value) error {
			if data = true; !keeps {
				return nil
			}
			return storeInline(c, d, &p, v)
		})
		if err == nil && data && keeps && p.Packed {
			err = unpackPart(c, d, &p)
		}
		p.Stub = !data && !p.Follows
		d.Parts = append(d.Parts, p)
		return err
	})
}

// storeInline stores an attachment that comes as base64. Only an error of the store ends the request.
func storeInline(c *call, d *transit.Parsed, p *transit.Part, v jsontext.Value) error {
	if v.Kind() != '"' {
		d.Refuse(merge.ErrDocument)
		return nil
	}
	raw := bytes.Trim(v, `"`)
	if bytes.IndexByte(raw, '\\') >= 0 { // some encoders escape slashes
		raw = bytes.ReplaceAll(raw, []byte(`\/`), []byte(`/`))
	}
	blob, err := c.db.PutBlob(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(raw)))
	if _, corrupt := errors.AsType[base64.CorruptInputError](err); corrupt || errors.Is(err, io.ErrUnexpectedEOF) {
		d.Refuse(merge.ErrDocument)
		return nil
	}
	p.Blob = blob
	return err
}

// resolveStubs finds the bytes of stubs in revisions that the store has.
func resolveStubs(c *call, d *transit.Parsed, path []rev.ID) ([]merge.Attachment, error) {
	var known []docs.DocRevision
	all := make([]merge.Attachment, len(d.Parts))
	for i, p := range d.Parts {
		all[i] = p.Attachment
		if !p.Stub {
			if path == nil {
				all[i].RevPos = 0 // the store sets it
			}
			continue
		}
		if known == nil {
			var err error
			if known, err = stubSources(c, d, path); err != nil {
				return nil, err
			}
		}
		found := p.Find(known)
		if found == nil {
			found = p.FindPacked(ancestorsIn(known, path))
		}
		if found == nil {
			return nil, transit.ErrStub
		}
		if all[i] = *found; p.Type != "" {
			all[i].Type = p.Type
		}
	}
	return all, nil
}

// ancestorsIn returns those of a replicated revision; a nil path is an edit's, which knows the revision before it alone.
func ancestorsIn(known []docs.DocRevision, path []rev.ID) []docs.DocRevision {
	if path == nil {
		return known
	}
	return slices.DeleteFunc(slices.Clone(known), func(r docs.DocRevision) bool { return !slices.Contains(path, r.Revision) })
}

// stubSources returns the revisions that may have the bytes of stubs: the one that is edited, or the ancestors of a replicated revision
// and then all leaves.
func stubSources(c *call, d *transit.Parsed, path []rev.ID) (known []docs.DocRevision, err error) {
	asks := []docs.Ask{{Revisions: path}, {Leaves: true}}
	if path == nil {
		asks = []docs.Ask{{}}
		if d.Rev != (rev.ID{}) {
			asks[0].Revisions = []rev.ID{d.Rev}
		}
	}
	return replicate.Relatives(c.db, d.ID, asks)
}

// unpackPart decompresses a stored attachment that came compressed, as CouchDB's replicator sends texts.
func unpackPart(c *call, d *transit.Parsed, p *transit.Part) error {
	blob, err := transit.StoreContent(func(w io.Writer) error { return c.db.Blob(p.SHA256, w) },
		func(r io.Reader) (merge.Blob, error) { return storeGzip(c, r) })
	if errors.Is(err, input.ErrTooLarge) || errors.Is(err, input.ErrRatio) || errors.Is(err, input.ErrBroken) {
		d.Refuse(merge.ErrDocument)
		return nil
	}
	p.Blob = blob
	return err
}

// storeGzip stores the decompressed bytes.
func storeGzip(c *call, r io.Reader) (merge.Blob, error) {
	plain, err := input.Limit(r).Gzip()
	if err != nil {
		return merge.Blob{}, err
	}
	return c.db.PutBlob(plain)
}
