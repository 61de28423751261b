package sync

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/sync/input"
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
		return readAttachments(c, dec, d, inDocument)
	})
}

// inDocument finds no attachment apart from its document.
func inDocument(int64) io.Reader { return nil }

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
	w.Attachments, err = resolveStubs(c, d, w.Path)
	return w, err
}

// readAttachments reads _attachments, and stores the bytes in it. apart returns the base64 of a value that ends at an offset, unless the decoder has it.
// A database of records stores none: it refuses the document by itself.
func readAttachments(c *call, dec *jsontext.Decoder, d *transit.Parsed, apart func(offset int64) io.Reader) error {
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
			data = true
			text := apart(dec.InputOffset())
			switch {
			case !keeps:
				return nil
			case v.Kind() != '"':
				d.Refuse(merge.ErrDocument)
				return nil
			case text == nil:
				text = bytes.NewReader(v[1 : len(v)-1])
			}
			return storeInline(c, d, &p, text)
		})
		if err == nil && data && keeps && p.Packed {
			err = unpackPart(c, d, &p)
		}
		p.Stub = !data && !p.Follows
		d.Parts = append(d.Parts, p)
		return err
	})
}

// base64Buffer is how much base64 is read at a time.
const base64Buffer = 16 << 10

// storeInline stores an attachment that comes as base64. Only an error of the store ends the request.
func storeInline(c *call, d *transit.Parsed, p *transit.Part, text io.Reader) error {
	blob, err := c.db.PutBlob(base64.NewDecoder(base64.StdEncoding, slashes{bufio.NewReaderSize(text, base64Buffer)}))
	if _, corrupt := errors.AsType[base64.CorruptInputError](err); corrupt || errors.Is(err, io.ErrUnexpectedEOF) {
		d.Refuse(merge.ErrDocument)
		return nil
	}
	p.Blob = blob
	return err
}

// slashes reads base64 in which slashes may be escaped, as some encoders do.
type slashes struct{ from *bufio.Reader }

// Read drops the backslash before each slash.
func (s slashes) Read(p []byte) (n int, err error) {
	for n < len(p) {
		c, err := s.from.ReadByte()
		if err != nil && n > 0 {
			return n, nil
		} else if err != nil {
			return 0, err
		}
		if c == '\\' {
			if next, _ := s.from.Peek(1); string(next) == "/" {
				continue
			}
		}
		p[n] = c
		n++
	}
	return n, nil
}

// resolveStubs finds the bytes of stubs in the revision that the document is based on. A stub that is not found there has no bytes, and the store
// refuses it, unless it finds a conflict first.
func resolveStubs(c *call, d *transit.Parsed, path []rev.ID) ([]merge.Attachment, error) {
	var base *docs.DocRevision
	all := make([]merge.Attachment, len(d.Parts))
	for i, p := range d.Parts {
		all[i] = p.Attachment
		if !p.Stub {
			if path == nil {
				all[i].RevPos = 0 // the store sets it
			}
			continue
		}
		if base == nil {
			var err error
			if base, err = stubBase(c, d, path); err != nil {
				return nil, err
			}
		}
		if found := p.StandsFor(base); found != nil {
			all[i].Blob, all[i].RevPos, all[i].Type = found.Blob, found.RevPos, cmp.Or(p.Type, found.Type)
		}
	}
	return all, nil
}

// stubBase returns the revision that a document is based on: the one that is edited, or the nearest ancestor of a replicated revision that the
// database holds. It is empty if there is none.
func stubBase(c *call, d *transit.Parsed, path []rev.ID) (*docs.DocRevision, error) {
	ask := docs.Ask{Revisions: path}
	if path == nil && d.Rev != (rev.ID{}) {
		ask.Revisions = []rev.ID{d.Rev}
	}
	doc, err := c.db.Read(d.ID, ask)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return nil, err
	}
	for i := range doc.Revisions {
		if doc.Revisions[i].Body != nil {
			return &doc.Revisions[i], nil
		}
	}
	return &docs.DocRevision{}, nil
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
	plain, err := input.Limit(r, input.MaxPush).Gzip(input.RatioFromLines)
	if err != nil {
		return merge.Blob{}, err
	}
	return c.db.PutBlob(plain)
}
