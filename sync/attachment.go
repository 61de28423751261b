package sync

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"doorward/kv/auth"
	"doorward/kv/disk"
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
		revision, err = namedRevision(c, queryOf(c.query))
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
	h.Set("Cache-Control", "must-revalidate")
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
	r, err := c.body()
	if err != nil {
		return err
	}
	return editAttachment(c, func(name string, w *merge.DocWrite) error {
		blob, err := c.db.PutBlob(r)
		if err != nil {
			return badBytes(err)
		}
		w.Attachments = append(w.Attachments, merge.Attachment{Name: name, Type: transit.MediaType(c.request.Header.Get("Content-Type")), Blob: blob})
		return nil
	})
}

// badBytes returns what a client is told of bytes that could not be stored.
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
	case !isMissing(err) || deleting:
		return err
	case revision != (rev.ID{}):
		return countRefused(c, &table.Conflict{Reason: "the document has no such revision"})
	}
	if err := add(name, &w); err != nil {
		return err
	}
	next, err := writeOne(c, w)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if deleting {
		status = http.StatusOK
	}
	c.setEtag(next)
	return c.reply(status, writtenDoc{true, id, next.String()})
}

func isMissing(err error) bool {
	return errors.Is(err, table.ErrNotFound) || errors.Is(err, errMissing) || errors.Is(err, errDeleted)
}
