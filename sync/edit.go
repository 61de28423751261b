package sync

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv"
	"doorward/kv/rev"
)

func postDocument(c *call) error {
	dec, err := c.decoder()
	if err != nil {
		return err
	}
	d, err := c.readDocument(dec)
	if err == nil {
		err = trailing(dec)
	}
	if err != nil {
		return err
	}
	if d.id == "" {
		d.id = newID()
	}
	return c.store(d, false)
}

// trailing wants a body to end with its document.
func trailing(dec *jsontext.Decoder) error {
	if dec.PeekKind() != 0 {
		return errJSON
	}
	return nil
}

func putDocument(c *call) error {
	id, err := c.docID()
	if err != nil {
		return err
	}
	if local, is := strings.CutPrefix(id, "_local/"); is {
		c.setParameter("id", local)
		return putLocal(c)
	}
	d, err := c.readPut()
	if err != nil {
		return err
	}
	if d.id != "" && d.id != id {
		return errPath
	}
	d.id = id
	q := queryOf(c.query)
	replicated := q.values.Has("new_edits") && !q.flag("new_edits")
	named, err := c.named(q)
	if err != nil {
		return err
	}
	if named != (rev.ID{}) {
		d.rev = named
	}
	return c.store(d, replicated)
}

// readPut reads the document of a PUT: JSON, or JSON and its attachments.
func (c *call) readPut() (*incoming, error) {
	if boundary := relatedBoundary(c.request.Header); boundary != "" {
		return c.readRelated(boundary)
	}
	dec, err := c.anyDecoder()
	if err != nil {
		return nil, err
	}
	if dec.PeekKind() != '{' {
		return nil, errShape
	}
	d, err := c.readDocument(dec)
	if err == nil {
		err = trailing(dec)
	}
	return d, err
}

// named is the revision that a request names beside the document: in its query or in If-Match.
func (c *call) named(q *query) (rev.ID, error) {
	revision := q.revision("rev")
	if tag := c.request.Header.Get("If-Match"); tag != "" && revision == (rev.ID{}) {
		revision = queryOf(url.Values{"rev": {strings.Trim(tag, `"`)}}).revision("rev")
		if revision == (rev.ID{}) {
			return revision, errRevision
		}
	}
	return revision, q.err
}

// store stores one document and answers its revision.
func (c *call) store(d *incoming, replicated bool) error {
	w, err := c.write(d, replicated)
	if err != nil {
		return err
	}
	rev, err := c.writeOne(w)
	if err != nil {
		return err
	}
	c.setEtag(rev)
	c.Header().Set("Location", c.request.URL.EscapedPath())
	return c.reply(http.StatusCreated, written{true, d.id, rev.String()})
}

// refused counts a document that is not taken.
func (c *call) refused(err error) error {
	c.server.metrics.refuse(err)
	return err
}

// writeOne writes one revision.
func (c *call) writeOne(w kv.DocWrite) (rev.ID, error) {
	results, err := c.db.Write([]kv.DocWrite{w})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return rev.ID{}, c.refused(err)
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
		c.setParameter("id", local)
		return deleteLocal(c)
	}
	revision, err := c.named(queryOf(c.query))
	if err != nil {
		return err
	}
	doc, err := c.db.Read(id, kv.Ask{})
	switch {
	case err != nil:
		return err
	case doc.Deleted && revision == (rev.ID{}):
		return errDeleted
	}
	next, err := c.writeOne(kv.DocWrite{ID: id, Parent: revision, Deleted: true})
	if err != nil {
		return err
	}
	c.setEtag(next)
	return c.reply(http.StatusOK, written{true, id, next.String()})
}
