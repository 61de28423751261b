package sync

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/docs"
	"doorward/kv/engine"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/sync/input"
	"doorward/sync/transit"
)

// attachmentOf returns the attachment that the path names, and the revision that the request does. Slashes in its name may be escaped or not.
func attachmentOf(c *call) (id, name string, revision rev.ID, err error) {
	if id, err = c.docID(); err == nil {
		name, err = c.parameter("*")
	}
	if id == "_local" || strings.HasPrefix(id, "_local/") {
		return "", "", rev.ID{}, errLocalParts
	}
	if err == nil && name == "" {
		err = errPath
	}
	if err == nil {
		revision, err = namedRevision(c, queryOf(c.query), rev.ID{}, rev.ParseFree)
	}
	return id, name, revision, err
}

// getAttachment answers an attachment's bytes with the type that its author gave. No page of this server may run them.
func getAttachment(c *call) error {
	id, name, rev, err := attachmentOf(c)
	if err != nil {
		return err
	}
	doc, err := readRevision(c, id, rev, false)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(doc.Revisions[0].Attachments, func(a merge.Attachment) bool { return a.Name == name })
	if i < 0 {
		return errMissing
	}
	a := doc.Revisions[0].Attachments[i]
	h := c.Header()
	tag := `"` + strings.TrimPrefix(a.Digest(), "md5-") + `"`
	h.Set("Etag", tag)
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	if c.isUnchanged(tag) {
		return c.notModified()
	}
	c.began = true
	h.Set("Content-Type", transit.MediaType(a.Type))
	h.Set("Content-Length", strconv.FormatInt(a.Length, 10))
	h.Set("Accept-Ranges", "none")
	c.WriteHeader(http.StatusOK)
	if c.request.Method == http.MethodHead {
		return nil
	}
	return c.db.Blob(a.SHA256, idleWriter{c})
}

// putAttachment edits the document: it has these bytes in addition.
func putAttachment(c *call) error {
	r, err := c.body(input.MaxPush)
	if err != nil {
		return err
	}
	return editAttachment(c, func(name string, w *merge.DocWrite) error {
		blob, err := c.db.PutBlob(r)
		if err != nil {
			return badBytes(err)
		}
		c.Header().Set("Location", c.request.URL.EscapedPath())
		w.Attachments = append(w.Attachments, merge.Attachment{Name: name, Type: transit.MediaType(c.request.Header.Get("Content-Type")), Blob: blob})
		return nil
	})
}

// badBytes returns what a client is told of bytes that could not be read or stored.
func badBytes(err error) error {
	for _, known := range []error{auth.ErrForbidden, table.ErrNotFound, engine.ErrStopped, engine.ErrBusy, disk.ErrFull, table.ErrBadLogin, input.ErrTooLarge, input.ErrRatio} {
		if errors.Is(err, known) {
			return err
		}
	}
	return input.ErrBroken
}

// deleteAttachment edits the document: it has the attachment no longer.
func deleteAttachment(c *call) error {
	return editAttachment(c, func(string, *merge.DocWrite) error { return nil })
}

// editAttachment edits a document without the named attachment. add may add another.
func editAttachment(c *call, add func(name string, w *merge.DocWrite) error) error {
	id, name, revision, err := attachmentOf(c)
	if err != nil {
		return err
	}
	deleting := c.request.Method == http.MethodDelete
	w := merge.DocWrite{ID: id, Parent: revision}
	doc, err := readRevision(c, id, revision, false)
	switch {
	case err == nil && revision == (rev.ID{}):
		return countRefused(c, &table.Conflict{Reason: "the document has a revision"})
	case err == nil:
		before := doc.Revisions[0]
		w.Body = before.Body
		w.Attachments = slices.DeleteFunc(slices.Clone(before.Attachments), func(a merge.Attachment) bool { return a.Name == name })
		if deleting && len(w.Attachments) == len(before.Attachments) {
			return errMissing
		}
	case !isMissing(err) || deleting && (revision == (rev.ID{}) || errors.Is(err, table.ErrNotFound)):
		return err
	case revision != (rev.ID{}):
		return countRefused(c, &table.Conflict{Reason: "the document has no such revision"})
	}
	if err := add(name, &w); err != nil {
		return err
	}
	return writeOne(c, w)
}

func isMissing(err error) bool {
	return errors.Is(err, table.ErrNotFound) || errors.Is(err, errMissing) || errors.Is(err, errDeleted)
}

// relatedBoundary returns the boundary of a multipart/related body; "" for any other.
func relatedBoundary(h http.Header) string {
	media, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || media != "multipart/related" {
		return ""
	}
	return parameters["boundary"]
}

// readRelated reads a document and then the attachments that follow it, in its order or by name.
func readRelated(c *call, boundary string) (*transit.Parsed, error) {
	body, err := c.body(input.MaxPush)
	if err != nil {
		return nil, err
	}
	parts := multipart.NewReader(body, boundary)
	first, err := parts.NextRawPart()
	if err != nil {
		return nil, badBytes(err)
	}
	dec := c.decode(first)
	if dec.PeekKind() != '{' {
		return nil, input.ErrShape
	}
	d, err := readWhole(c, dec)
	if err != nil {
		return nil, err
	}
	for {
		in, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, badBytes(err)
		}
		if err := readFollowing(c, d, in); err != nil {
			return nil, err
		}
	}
	if _, err := io.Copy(io.Discard, body); err != nil { // what follows the last boundary says whether the body is whole
		return nil, badBytes(err)
	}
	if slices.ContainsFunc(d.Parts, func(p transit.Part) bool { return p.Follows }) {
		d.Refuse(transit.ErrStub)
	}
	return d, nil
}

// readFollowing stores one attachment that follows its document.
func readFollowing(c *call, d *transit.Parsed, in *multipart.Part) error {
	i := slices.IndexFunc(d.Parts, func(p transit.Part) bool { return p.Follows && p.Name == in.FileName() })
	if i < 0 {
		i = slices.IndexFunc(d.Parts, func(p transit.Part) bool { return p.Follows })
	}
	if i < 0 {
		d.Refuse(merge.ErrDocument)
		return nil
	}
	p := &d.Parts[i]
	blob, err := c.db.PutBlob(in)
	if err != nil {
		return badBytes(err)
	}
	if p.Blob = blob; p.ClaimedDigest != "" && p.ClaimedDigest != p.Digest() {
		d.Refuse(errDigest)
	} else if p.Packed {
		if err := unpackPart(c, d, p); err != nil {
			return err
		}
	}
	if p.ClaimedLength > 0 && p.ClaimedLength != p.Length {
		d.Refuse(transit.ErrLength)
	}
	p.Follows = false
	return nil
}

// parts is an answer of several parts.
type parts struct {
	*stream
	mw *multipart.Writer
}

// writeRelated answers a document and then its attachments' bytes.
func writeRelated(c *call, doc *docs.Doc, r *docs.DocRevision, w show) error {
	p := c.beginParts("related")
	p.related(doc, r, w)
	return p.end()
}

// beginParts begins an answer of a multipart type.
func (c *call) beginParts(kind string) *parts {
	boundary := multipart.NewWriter(io.Discard).Boundary() // it draws one
	s := c.beginAs(`multipart/`+kind+`; boundary="`+boundary+`"`, http.StatusOK, uncompressed)
	p := &parts{stream: s, mw: multipart.NewWriter(s)}
	_ = p.mw.SetBoundary(boundary) // a boundary of this package is valid
	return p
}

// related writes a document and its attachments as parts.
func (p *parts) related(doc *docs.Doc, r *docs.DocRevision, w show) {
	w.follow = true
	p.part("application/json")
	p.document(doc, r, w)
	known := w.knownGeneration(doc, r.Revision)
	for _, a := range r.Attachments {
		if !w.attachments || a.RevPos <= known {
			continue
		}
		_, err := p.mw.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {mime.FormatMediaType("attachment", map[string]string{"filename": a.Name})},
			"Content-Type":        {transit.MediaType(a.Type)},
			"Content-Length":      {strconv.FormatInt(a.Length, 10)},
		})
		p.keep(0, err)
		if p.err == nil {
			p.keep(0, p.call.db.Blob(a.SHA256, p.stream))
		}
	}
	p.keep(0, p.mw.Close())
}

func (p *parts) part(media string) {
	_, err := p.mw.CreatePart(textproto.MIMEHeader{"Content-Type": {media}})
	p.keep(0, err)
}

// writeMixed answers revisions as parts, those that are missing last, as CouchDB's replicator needs them. One with attachments has parts of its own.
func writeMixed(c *call, doc *docs.Doc, w show) error {
	p := c.beginParts("mixed")
	for i := range doc.Revisions {
		r := &doc.Revisions[i]
		switch {
		case r.Body == nil:
			p.part(`application/json; error="true"`)
			p.missing(r.Revision.String())
		case w.attachments && len(r.Attachments) > 0:
			inner := &parts{stream: p.stream, mw: multipart.NewWriter(p.stream)}
			p.part(`multipart/related; boundary="` + inner.mw.Boundary() + `"`)
			inner.related(doc, r, w)
		default:
			p.part("application/json")
			p.document(doc, r, w)
		}
	}
	p.keep(0, p.mw.Close())
	return p.end()
}
