package sync

import (
	"cmp"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/sync/input"
	"doorward/sync/transit"
)

// withDocument reads the document's id in the path before the handler. The slash of a local document's id may be escaped.
func withDocument(do, local func(c *call, id string) error) handler {
	return func(c *call) error {
		id, err := c.docID()
		if err != nil {
			return err
		}
		if name, is := strings.CutPrefix(id, "_local/"); is {
			return local(c, name)
		}
		return do(c, id)
	}
}

func getDocument(c *call, id string) error {
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
	if !w.tellsMore() && c.isUnchanged(c.setEtag(r.Revision)) {
		c.Header().Add("Vary", "Accept-Encoding") // as the whole answer has it
		return c.notModified()
	}
	if w.attachments && len(r.Attachments) > 0 && c.accepts("multipart/related") {
		return writeRelated(c, doc, r, w)
	}
	s := c.begin(compressed)
	s.document(doc, r, w)
	s.text("\n")
	return s.end()
}

// readRevision reads one revision of a document: the one that is named, or the winner unless it is deleted.
func readRevision(c *call, id string, revision rev.ID, latest bool) (*docs.Doc, error) {
	ask := docs.Ask{Latest: latest}
	if revision != (rev.ID{}) {
		ask.Revisions = []rev.ID{revision}
	}
	doc, err := c.db.Read(id, ask)
	switch {
	case err != nil:
		return nil, err
	case revision == (rev.ID{}) && doc.Deleted:
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
	ask, names := docs.Ask{Leaves: true, Latest: q.flag("latest")}, []string(nil)
	if text, _ := q.text("open_revs"); text != "all" {
		names = q.list("open_revs")
		ask.Leaves, ask.Revisions = false, transit.ParseRevs(names)
		if q.err != nil || len(ask.Revisions) < len(names) {
			return transit.ErrRevision
		}
	}
	if q.err != nil {
		return q.err
	}
	doc, err := c.db.Read(id, ask)
	if errors.Is(err, table.ErrNotFound) && !ask.Leaves {
		doc, err = docs.Doc{}, nil // all are missing
		for _, rev := range ask.Revisions {
			doc.Revisions = append(doc.Revisions, docs.DocRevision{Revision: rev})
		}
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(doc.Revisions, func(a, b docs.DocRevision) int { // those that are missing come last
		return cmp.Compare(table.Flag(a.Body == nil), table.Flag(b.Body == nil))
	})
	if c.accepts("multipart/mixed") {
		w.attachments = true // CouchDB sends them too: its replicator does not ask
		return writeMixed(c, &doc, w)
	}
	s := c.begin(compressed)
	s.text("[")
	for i := range doc.Revisions {
		s.comma(i)
		r := &doc.Revisions[i]
		if r.Body == nil {
			s.missing(r.Revision.String())
			continue
		}
		s.text(`{"ok":`)
		s.document(&doc, r, w)
		s.text("}")
	}
	s.text("]\n")
	return s.end()
}

// missing writes that a revision is missing.
func (s *stream) missing(name string) {
	s.quoted(`{"missing":`, name)
	s.text("}")
}

func postDocument(c *call) error {
	dec, err := c.decoder()
	if err != nil {
		return err
	}
	d, err := readWhole(c, dec)
	if err != nil {
		return err
	}
	if d.ID == "" {
		d.ID = newID()
	}
	c.Header().Set("Location", strings.TrimSuffix(c.request.URL.EscapedPath(), "/")+"/"+url.PathEscape(d.ID))
	if name, is := strings.CutPrefix(d.ID, "_local/"); is {
		return writeLocal(c, name, d)
	}
	return storeDocument(c, d, false)
}

// putDocument stores the document that the path names. As at CouchDB, an _id within it does not count.
func putDocument(c *call, id string) error {
	d, err := readPut(c)
	if err != nil {
		return err
	}
	d.ID = id
	q := queryOf(c.query)
	replicated := q.values.Has("new_edits") && !q.flag("new_edits")
	if d.Rev, err = namedRevision(c, q, d.Rev, rev.ParseFree); err != nil {
		return err
	}
	c.Header().Set("Location", c.request.URL.EscapedPath())
	return storeDocument(c, d, replicated)
}

// readPut reads the document of a PUT: JSON, or JSON and its attachments.
func readPut(c *call) (*transit.Parsed, error) {
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
	return readWhole(c, dec)
}

// namedRevision returns the one revision that a write names: in its body, in the query, or in If-Match, bare or as a tag. A weak tag counts: a proxy
// weakens tags when it compresses, and a revision says the same of a document in any encoding.
func namedRevision(c *call, q *query, body rev.ID, parse func(string) (rev.ID, bool)) (rev.ID, error) {
	named := body
	text, _ := q.text("rev")
	tag := strings.Join(c.request.Header.Values("If-Match"), ",")
	for _, text := range []string{text, strings.Trim(strings.TrimPrefix(tag, "W/"), `"`)} {
		revision, ok := parse(text)
		switch {
		case !ok || tag == `""`:
			return named, transit.ErrRevision
		case named == (rev.ID{}):
			named = revision
		case revision != (rev.ID{}) && revision != named:
			return named, errRevisions
		}
	}
	return named, q.err
}

// storeDocument stores one document and answers its revision.
func storeDocument(c *call, d *transit.Parsed, replicated bool) error {
	w, err := docWrite(c, d, replicated)
	if err != nil {
		return err
	}
	return writeOne(c, w)
}

// countRefused counts a refused document.
func countRefused(c *call, err error) error {
	c.server.metrics.refuse(err)
	return err
}

// writeOne writes one revision and answers it.
func writeOne(c *call, w merge.DocWrite) error {
	results, err := c.db.Write([]merge.DocWrite{w})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return countRefused(c, err)
	}
	c.server.metrics.received.Inc()
	next, status := results[0].Revision, http.StatusCreated
	if c.request.Method == http.MethodDelete {
		status = http.StatusOK
	}
	c.setEtag(next)
	return c.reply(status, writtenDoc{true, w.ID, next.String()})
}

func deleteDocument(c *call, id string) error {
	revision, err := namedRevision(c, queryOf(c.query), rev.ID{}, rev.ParseFree)
	if err != nil {
		return err
	}
	doc, err := c.db.Read(id, docs.Ask{})
	switch {
	case err != nil:
		return err
	case doc.Deleted && revision == (rev.ID{}):
		return errDeleted
	}
	return writeOne(c, merge.DocWrite{ID: id, Parent: revision, Deleted: true})
}

// etag returns a revision for a header; "" if a header cannot hold it.
func etag(rev rev.ID) string {
	text := rev.String()
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' }) {
		return ""
	}
	return `"` + text + `"`
}

// setEtag sets the answer's header.
func (c *call) setEtag(rev rev.ID) (tag string) {
	if tag = etag(rev); tag != "" {
		c.Header().Set("Etag", tag)
	}
	return tag
}

// quotedTag is an entity tag without the mark of a weak one.
var quotedTag = regexp.MustCompile(`"[^"]*"`)

// isUnchanged tells whether the client has the tag's version. Weak tags count too.
func (c *call) isUnchanged(tag string) bool {
	return tag != "" && slices.ContainsFunc(c.request.Header.Values("If-None-Match"), func(line string) bool {
		return line == "*" || slices.Contains(quotedTag.FindAllString(line, -1), tag)
	})
}

// notModified answers that nothing has changed.
func (c *call) notModified() error {
	c.began = true
	c.WriteHeader(http.StatusNotModified)
	return nil
}

// localRev returns a local document's revision, "0-" and how often it was written.
func localRev(written uint64) rev.ID { return rev.ID{Text: strconv.FormatUint(written, 10)} }

// parseLocalRev reads a local document's revision. "" is the zero one.
func parseLocalRev(text string) (r rev.ID, ok bool) {
	written, is := strings.CutPrefix(text, "0-")
	n, err := strconv.ParseUint(written, 10, 53)
	if !is || err != nil {
		return r, text == ""
	}
	return localRev(n), true
}

// getLocal answers a local document. Its tag is for If-Match alone: a document that is deleted and written again has revisions of before.
func getLocal(c *call, id string) error {
	body, written, err := c.db.Local(id)
	if err != nil {
		return err
	}
	c.setEtag(localRev(written))
	s := c.begin(uncompressed)
	s.quoted(`{"_id":`, "_local/"+id)
	s.revision(`,"_rev":`, localRev(written))
	if len(body) > len("{}") {
		s.text(",")
	}
	_, _ = s.Write(body[1:]) // the stream keeps the error
	return s.end()
}

// putLocal stores a local document. If it names a revision, that must be the last. It ignores attachments, as CouchDB does.
func putLocal(c *call, id string) error {
	dec, err := c.anyDecoder()
	if err != nil {
		return err
	}
	d, err := readWhole(c, dec)
	if err != nil {
		return err
	}
	return writeLocal(c, id, d)
}

// localOf returns the body of a local document to store, nil to delete it, and the revision that it names.
func localOf(d *transit.Parsed) (body []byte, before rev.ID, err error) {
	before, ok := parseLocalRev(d.RevText)
	switch {
	case d.Err != nil:
		return nil, before, d.Err
	case !ok || d.BadRev && d.RevText == "": // not even a text
		return nil, before, transit.ErrRevision
	case d.Deleted:
		return nil, before, nil
	}
	return d.Body, before, nil
}

// storeLocal stores a local document of _bulk_docs.
func storeLocal(c *call, d *transit.Parsed) (r docs.DocResult) {
	body, before, err := localOf(d)
	if r.Err = err; err == nil {
		r.Revision, r.Err = keepLocal(c, strings.TrimPrefix(d.ID, "_local/"), body, before)
	}
	return r
}

func deleteLocal(c *call, id string) error {
	return writeLocal(c, id, &transit.Parsed{Deleted: true})
}

// writeLocal writes one local document and answers its revision.
func writeLocal(c *call, id string, d *transit.Parsed) error {
	body, before, err := localOf(d)
	if err == nil {
		before, err = namedRevision(c, queryOf(c.query), before, parseLocalRev)
	}
	if err != nil {
		return err
	}
	next, err := keepLocal(c, id, body, before)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if body == nil {
		status = http.StatusOK
	}
	c.setEtag(next)
	return c.reply(status, writtenDoc{true, "_local/" + id, next.String()})
}

// keepLocal writes a local document after a revision, the zero one for any, and returns the next; a nil body deletes it.
func keepLocal(c *call, id string, body []byte, before rev.ID) (next rev.ID, err error) {
	written := uint64(docs.Whatever)
	if before != (rev.ID{}) {
		written, _ = strconv.ParseUint(before.Text, 10, 53) // parseLocalRev has read it
	}
	count, err := c.db.PutLocal(id, body, written)
	if body == nil {
		count = 0
	}
	return localRev(count), err
}
