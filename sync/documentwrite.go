package sync

import (
	"net/http"
	"net/url"
	"strings"

	"doorward/kv"
	"doorward/kv/record"
	"doorward/sync/input"
	"doorward/sync/line"
)

func postDocument(c *call) error {
	dec, err := c.decoder()
	if err != nil {
		return err
	}
	d, err := readDocument(c, dec)
	if err == nil {
		err = input.Trailing(dec)
	}
	if err != nil {
		return err
	}
	if d.ID == "" {
		d.ID = newID()
	}
	return storeDocument(c, d, false)
}

func putDocument(c *call) error {
	id, err := c.docID()
	if err != nil {
		return err
	}
	if local, is := strings.CutPrefix(id, "_local/"); is {
		setParameter(c, "id", local)
		return putLocal(c)
	}
	d, err := readPut(c)
	if err != nil {
		return err
	}
	if d.ID != "" && d.ID != id {
		return errPath
	}
	d.ID = id
	q := queryOf(c.query)
	replicated := q.values.Has("new_edits") && !q.flag("new_edits")
	named, err := namedRevision(c, q)
	if err != nil {
		return err
	}
	if named != (record.Revision{}) {
		d.Rev = named
	}
	return storeDocument(c, d, replicated)
}

// readPut reads the document of a PUT: JSON, or JSON and its attachments.
func readPut(c *call) (*line.Parsed, error) {
	if boundary := relatedBoundary(c.request.Header); boundary != "" {
		return readRelated(c, boundary)
	}
	dec, err := c.anyDecoder()
	if err != nil {
		return nil, err
	}
	if dec.PeekKind() != '{' {
		return nil, input.ErrShape
	}
	d, err := readDocument(c, dec)
	if err == nil {
		err = input.Trailing(dec)
	}
	return d, err
}

// namedRevision returns the revision that the query or If-Match names.
func namedRevision(c *call, q *query) (record.Revision, error) {
	rev := q.revision("rev")
	if tag := c.request.Header.Get("If-Match"); tag != "" && rev == (record.Revision{}) {
		rev = queryOf(url.Values{"rev": {strings.Trim(tag, `"`)}}).revision("rev")
		if rev == (record.Revision{}) {
			return rev, line.ErrRevision
		}
	}
	return rev, q.err
}

// storeDocument stores one document and answers its revision.
func storeDocument(c *call, d *line.Parsed, replicated bool) error {
	w, err := docWrite(c, d, replicated)
	if err != nil {
		return err
	}
	rev, err := writeOne(c, w)
	if err != nil {
		return err
	}
	c.setEtag(rev)
	c.Header().Set("Location", c.request.URL.EscapedPath())
	return c.reply(http.StatusCreated, writtenDoc{true, d.ID, rev.String()})
}

// countRefused counts a refused document.
func countRefused(c *call, err error) error {
	c.server.metrics.refuse(err)
	return err
}

// writeOne writes one revision.
func writeOne(c *call, w kv.DocWrite) (record.Revision, error) {
	results, err := c.db.Write([]kv.DocWrite{w})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return record.Revision{}, countRefused(c, err)
	}
	c.server.metrics.received.Inc()
	return results[0].Revision, nil
}

func deleteDocument(c *call) error {
	id, err := c.docID()
	if err != nil {
		return err
	}
	if local, is := strings.CutPrefix(id, "_local/"); is {
		setParameter(c, "id", local)
		return deleteLocal(c)
	}
	rev, err := namedRevision(c, queryOf(c.query))
	if err != nil {
		return err
	}
	doc, err := c.db.Read(id, kv.Ask{})
	switch {
	case err != nil:
		return err
	case doc.Deleted && rev == (record.Revision{}):
		return errDeleted
	}
	next, err := writeOne(c, kv.DocWrite{ID: id, Parent: rev, Deleted: true})
	if err != nil {
		return err
	}
	c.setEtag(next)
	return c.reply(http.StatusOK, writtenDoc{true, id, next.String()})
}
