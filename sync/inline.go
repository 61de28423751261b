package sync

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"

	"doorward/kv"
	"doorward/kv/record"
	"doorward/sync/input"
	"doorward/sync/line"
	"doorward/sync/replicate"

	"github.com/go-json-experiment/json/jsontext"
)

// readAttachments reads _attachments, and stores the bytes in it.
func readAttachments(c *call, dec *jsontext.Decoder, d *line.Parsed) error {
	if dec.PeekKind() != '{' {
		d.Refuse(kv.ErrDocument)
		return input.Wrap(dec.SkipValue())
	}
	return input.EachMember(dec, func(name string) error {
		if dec.PeekKind() != '{' {
			d.Refuse(kv.ErrDocument)
			return input.Wrap(dec.SkipValue())
		}
		p := line.Part{Attachment: kv.Attachment{Name: name}}
		data := false
		err := input.EachMember(dec, func(name string) error {
			v, err := dec.ReadValue()
			if err != nil {
				return input.Wrap(err)
			}
			if name == "data" {
				data = true
				return storeInline(c, d, &p, v)
			}
			p.ReadMember(name, v)
			return nil
		})
		if err == nil && data && p.Packed {
			err = unpackPart(c, d, &p)
		}
		p.Stub = !data && !p.Follows
		d.Parts = append(d.Parts, p)
		return err
	})
}

// storeInline stores an attachment that comes as base64. Only an error of the store ends the request.
func storeInline(c *call, d *line.Parsed, p *line.Part, v jsontext.Value) error {
	if v.Kind() != '"' {
		d.Refuse(kv.ErrDocument)
		return nil
	}
	raw := bytes.Trim(v, `"`)
	if bytes.IndexByte(raw, '\\') >= 0 { // some encoders escape slashes
		raw = bytes.ReplaceAll(raw, []byte(`\/`), []byte(`/`))
	}
	blob, err := c.db.PutBlob(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(raw)))
	var corrupt base64.CorruptInputError
	if errors.As(err, &corrupt) || errors.Is(err, io.ErrUnexpectedEOF) {
		d.Refuse(kv.ErrDocument)
		return nil
	}
	p.Blob = blob
	return err
}

// resolveStubs finds the bytes of stubs in revisions that the store has.
func resolveStubs(c *call, d *line.Parsed, path []record.Revision) ([]kv.Attachment, error) {
	var known []kv.DocRevision
	all := make([]kv.Attachment, len(d.Parts))
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
			return nil, line.ErrStub
		}
		if all[i] = *found; p.Type != "" {
			all[i].Type = p.Type
		}
	}
	return all, nil
}

// stubSources returns the revisions that may have the bytes of stubs: the one that is edited, or the ancestors of a replicated revision
// and then all leaves.
func stubSources(c *call, d *line.Parsed, path []record.Revision) (known []kv.DocRevision, err error) {
	asks := []kv.Ask{{Revisions: path}, {Leaves: true}}
	if path == nil {
		asks = []kv.Ask{{}}
		if d.Rev != (record.Revision{}) {
			asks[0].Revisions = []record.Revision{d.Rev}
		}
	}
	return replicate.Relatives(c.db, d.ID, asks)
}

// unpackPart decompresses a stored attachment that came compressed, as CouchDB's replicator sends texts.
func unpackPart(c *call, d *line.Parsed, p *line.Part) error {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.CloseWithError(c.db.Blob(p.SHA256, w)) // never fails
	}()
	blob, err := storeGzip(c, r)
	_ = r.Close() // never fails; it ends the writer
	<-done
	if errors.Is(err, input.ErrTooLarge) || errors.Is(err, input.ErrRatio) || errors.Is(err, input.ErrBroken) {
		d.Refuse(kv.ErrDocument)
		return nil
	}
	p.Blob = blob
	return err
}

// storeGzip stores the decompressed bytes.
func storeGzip(c *call, r io.Reader) (kv.Blob, error) {
	plain, err := input.Limit(r).Gzip()
	if err != nil {
		return kv.Blob{}, err
	}
	return c.db.PutBlob(plain)
}
