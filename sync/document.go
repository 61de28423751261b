package sync

import (
	"errors"
	"mime"
	"strings"

	"doorward/kv"
	"doorward/kv/record"
	"doorward/sync/line"
)

func getDocument(c *call) error {
	id, err := c.docID()
	if err != nil {
		return err
	}
	if local, is := strings.CutPrefix(id, "_local/"); is {
		setParameter(c, "id", local)
		return getLocal(c)
	}
	q := queryOf(c.query)
	w, rev := showOf(q), q.revision("rev")
	if q.values.Has("open_revs") {
		return openRevs(c, id, q, w)
	}
	latest := q.flag("latest")
	if q.err != nil {
		return q.err
	}
	doc, err := readRevision(c, id, rev, latest)
	if err != nil {
		return err
	}
	r := &doc.Revisions[0]
	if c.isUnchanged(c.setEtag(r.Revision)) {
		return c.notModified()
	}
	w.attachments = w.attachments || w.since != nil
	if w.attachments && len(r.Attachments) > 0 && c.accepts("multipart/related") {
		return writeRelated(c, doc, r, w)
	}
	s := c.begin(compressed)
	s.document(doc, r, w)
	s.text("\n")
	return s.end()
}

// readRevision reads one revision of a document: the one that is named, or the winner unless it is deleted.
func readRevision(c *call, id string, rev record.Revision, latest bool) (*kv.Doc, error) {
	ask := kv.Ask{Latest: latest}
	if rev != (record.Revision{}) {
		ask.Revisions = []record.Revision{rev}
	}
	doc, err := c.db.Read(id, ask)
	switch {
	case err != nil:
		return nil, err
	case rev == (record.Revision{}) && doc.Deleted:
		return nil, errDeleted
	case doc.Revisions[0].Body == nil:
		return nil, errMissing
	}
	return &doc, nil
}

// accepts tells whether a client accepts a content type by name.
func (c *call) accepts(media string) bool {
	for part := range strings.SplitSeq(strings.Join(c.request.Header.Values("Accept"), ","), ",") {
		if name, _, err := mime.ParseMediaType(part); err == nil && name == media {
			return true
		}
	}
	return false
}

// openRevs answers several revisions of a document: all leaves, or a list.
func openRevs(c *call, id string, q *query, w show) error {
	ask, names := kv.Ask{Leaves: true, Latest: q.flag("latest")}, []string(nil)
	if text, _ := q.text("open_revs"); text != "all" {
		names = q.list("open_revs")
		ask.Leaves, ask.Revisions = false, line.ParseRevisions(names)
		if q.err != nil || len(ask.Revisions) < len(names) {
			return line.ErrRevision
		}
	}
	if q.err != nil {
		return q.err
	}
	doc, err := c.db.Read(id, ask)
	if errors.Is(err, kv.ErrNotFound) && !ask.Leaves {
		doc, err = kv.Doc{}, nil // all are missing
		for _, rev := range ask.Revisions {
			doc.Revisions = append(doc.Revisions, kv.DocRevision{Revision: rev})
		}
	}
	if err != nil {
		return err
	}
	if c.accepts("multipart/mixed") {
		w.attachments = true // CouchDB sends them too: its replicator does not ask
		return writeMixed(c, &doc, w)
	}
	s := c.begin(compressed)
	s.text("[")
	var missing []string
	lines := 0
	for i := range doc.Revisions {
		r := &doc.Revisions[i]
		if r.Body == nil {
			missing = append(missing, r.Revision.String())
			continue
		}
		if lines++; lines > 1 {
			s.text(",")
		}
		s.text(`{"ok":`)
		s.document(&doc, r, w)
		s.text("}")
	}
	for _, name := range missing {
		if lines++; lines > 1 {
			s.text(",")
		}
		s.missing(name)
	}
	s.text("]\n")
	return s.end()
}

// missing writes that a revision is missing.
func (s *stream) missing(name string) {
	s.text(`{"missing":`)
	s.quoted(name)
	s.text("}")
}
