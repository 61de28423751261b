package sync

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"doorward/kv"
	"doorward/kv/rev"
)

// attachmentName is the attachment that the path names; its own slashes may come as they are.
func (c *call) attachmentName() (id, name string, err error) {
	if id, err = c.docID(); err == nil {
		name, err = c.parameter("*")
	}
	if id == "_local" || strings.HasPrefix(id, "_local/") {
		return "", "", errLocalParts
	}
	if err == nil && name == "" {
		err = errPath
	}
	return id, name, err
}

// getAttachment answers an attachment's bytes as what their author said they are, to no page of this server's own.
func getAttachment(c *call) error {
	id, name, err := c.attachmentName()
	if err != nil {
		return err
	}
	rev, err := c.named(queryOf(c.query))
	if err != nil {
		return err
	}
	doc, err := c.revision(id, rev, false)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(doc.Revisions[0].Attachments, func(a kv.Attachment) bool { return a.Name == name })
	if i < 0 {
		return errMissing
	}
	a := doc.Revisions[0].Attachments[i]
	h := c.Header()
	tag := `"` + strings.TrimPrefix(a.Digest(), "md5-") + `"`
	h.Set("Etag", tag)
	h.Set("Cache-Control", "must-revalidate")
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	if c.isUnchanged(tag) {
		return c.notModified()
	}
	c.began = true
	h.Set("Content-Type", orBinary(a.Type))
	h.Set("Content-Length", strconv.FormatInt(a.Length, 10))
	h.Set("Accept-Ranges", "none")
	c.WriteHeader(http.StatusOK)
	if c.request.Method == http.MethodHead {
		return nil
	}
	return c.db.Blob(a.SHA256, patientWriter{c})
}

// orBinary is a content type, or that of bytes that nobody has named.
func orBinary(media string) string {
	if media == "" || strings.ContainsAny(media, "\r\n") {
		return "application/octet-stream"
	}
	return media
}

// putAttachment makes an edit of the document that has these bytes besides what it has.
func putAttachment(c *call) error {
	r, err := c.body()
	if err != nil {
		return err
	}
	return c.editAttachment(func(name string, w *kv.DocWrite) error {
		blob, err := c.db.PutBlob(r)
		if err != nil {
			return badBytes(err)
		}
		w.Attachments = append(w.Attachments, kv.Attachment{Name: name, Type: orBinary(c.request.Header.Get("Content-Type")), Blob: blob})
		return nil
	})
}

// badBytes is what is wrong with bytes that could not be stored: how they came, else the store's own error.
func badBytes(err error) error {
	for _, known := range []error{kv.ErrForbidden, kv.ErrNotFound, kv.ErrStopped, kv.ErrBusy, kv.ErrDiskFull, kv.ErrBadLogin, errTooLarge, errRatio} {
		if errors.Is(err, known) {
			return err
		}
	}
	return errBroken
}

// deleteAttachment makes an edit of the document that does without.
func deleteAttachment(c *call) error {
	return c.editAttachment(func(string, *kv.DocWrite) error { return nil })
}

// editAttachment makes an edit of a document without the named attachment, to which add may add.
func (c *call) editAttachment(add func(name string, w *kv.DocWrite) error) error {
	id, name, err := c.attachmentName()
	if err != nil {
		return err
	}
	revision, err := c.named(queryOf(c.query))
	if err != nil {
		return err
	}
	deleting := c.request.Method == http.MethodDelete
	w := kv.DocWrite{ID: id, Parent: revision}
	doc, err := c.revision(id, revision, false)
	switch {
	case err == nil && revision == (rev.ID{}):
		return c.refused(&kv.Conflict{Reason: "the document has a revision"})
	case err == nil:
		before := doc.Revisions[0]
		w.Body = before.Body
		w.Attachments = slices.DeleteFunc(slices.Clone(before.Attachments), func(a kv.Attachment) bool { return a.Name == name })
		if deleting && len(w.Attachments) == len(before.Attachments) {
			return errMissing
		}
	case !isMissing(err) || deleting:
		return err
	case revision != (rev.ID{}):
		return c.refused(&kv.Conflict{Reason: "the document has no such revision"})
	}
	if err := add(name, &w); err != nil {
		return err
	}
	next, err := c.writeOne(w)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if deleting {
		status = http.StatusOK
	}
	c.setEtag(next)
	return c.reply(status, written{true, id, next.String()})
}

func isMissing(err error) bool {
	return errors.Is(err, kv.ErrNotFound) || errors.Is(err, errMissing) || errors.Is(err, errDeleted)
}
