package sync

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/sync/input"
	"doorward/sync/transit"

	"github.com/go-json-experiment/json/jsontext"
)

// bulkDocs stores documents, each by itself. Most clients send new_edits after the documents, so these are collected first; their
// attachments are stored by then. In a free database one malformed document refuses all, as in CouchDB.
func bulkDocs(c *call) error {
	b, err := readBatch(c)
	if err == nil && c.db.Free() {
		err = b.malformed()
	}
	if err != nil {
		return err
	}
	if b.together {
		return b.refuse(c, errTogether)
	}
	for begun := false; !begun || len(b.docs) > 0; begun = true {
		n := min(len(b.docs), table.MaxRows)
		results, err := b.store(c, b.docs[:n])
		if err != nil {
			return err
		}
		if !begun {
			b.out = c.beginAs("application/json", http.StatusCreated, uncompressed)
			b.out.text("[")
		}
		for i, r := range results {
			b.writeResult(c, b.docs[i], r)
		}
		clear(b.docs[:n]) // free the memory
		b.docs = b.docs[n:]
	}
	b.out.text("]\n")
	return b.out.end()
}

// refuse refuses all documents for one reason.
func (b *bulk) refuse(c *call, err error) error {
	b.out = c.beginAs("application/json", problemOf(err).status, uncompressed)
	b.out.text("[")
	for _, d := range b.docs {
		b.writeResult(c, d, docs.DocResult{Err: err})
	}
	b.out.text("]\n")
	return b.out.end()
}

// bulk is a request of _bulk_docs.
type bulk struct {
	docs       []*transit.Parsed
	replicated bool
	together   bool
	out        *stream
	lines      int
}

func readBatch(c *call) (*bulk, error) {
	dec, err := c.decoder()
	if err != nil {
		return nil, err
	}
	c.values.LimitDepth()
	b, given := &bulk{}, false
	err = input.WholeObject(dec, func(name string) error {
		switch name {
		case "docs":
			given = true
			return input.EachItem(dec, func() error {
				d, err := readDocument(c, dec)
				b.docs = append(b.docs, d)
				return err
			})
		case "new_edits":
			kind := dec.PeekKind()
			if b.replicated = kind == 'f'; !b.replicated && kind != 't' {
				return input.ErrShape
			}
		case "all_or_nothing":
			b.together = dec.PeekKind() == 't'
		}
		return input.Wrap(dec.SkipValue())
	})
	if err == nil && !given {
		err = input.ErrShape
	}
	return b, err
}

// malformed returns the error of the first malformed document.
func (b *bulk) malformed() error {
	for _, d := range b.docs {
		if d.ID == "" && !b.replicated {
			d.ID = newID()
		}
		if err := d.Malformed(b.replicated); err != nil {
			return err
		}
	}
	return nil
}

// store stores some documents of a batch.
func (b *bulk) store(c *call, some []*transit.Parsed) ([]docs.DocResult, error) {
	results := make([]docs.DocResult, len(some))
	writes, places := make([]merge.DocWrite, 0, len(some)), make([]int, 0, len(some))
	for i, d := range some {
		if d.ID == "" && !b.replicated {
			d.ID = newID()
		}
		if d.IsLocal() {
			results[i] = storeLocal(c, d)
			continue
		}
		w, err := docWrite(c, d, b.replicated)
		if err != nil {
			return nil, err
		}
		writes, places = append(writes, w), append(places, i)
	}
	written, err := c.db.Write(writes)
	for i, r := range written {
		results[places[i]] = r
	}
	if err == nil {
		err = b.ownFault(results)
	}
	return results, err
}

// ownFault returns the first error of replicated documents that is this server's own. It is the answer to the whole request: a client never
// sends a document again that was refused alone.
func (b *bulk) ownFault(results []docs.DocResult) error {
	for _, r := range results {
		if b.replicated && r.Err != nil && problemOf(r.Err).status >= http.StatusInternalServerError {
			return r.Err
		}
	}
	return nil
}

// writeResult writes a document's row. Replicated documents have one only if they are refused.
func (b *bulk) writeResult(c *call, d *transit.Parsed, r docs.DocResult) {
	s := b.out
	if r.Err == nil {
		c.server.metrics.received.Inc()
		if b.replicated {
			return
		}
	}
	if b.lines++; b.lines > 1 {
		s.text(",\n")
	}
	if r.Err == nil {
		s.quoted(`{"ok":true,"id":`, d.ID)
		s.revision(`,"rev":`, r.Revision)
		s.text("}")
		return
	}
	c.server.metrics.refuse(r.Err)
	p := refusalOf(r.Err, b.replicated)
	s.quoted(`{"id":`, d.ID)
	if d.Rev != (rev.ID{}) && !errors.Is(r.Err, table.ErrConflict) {
		s.revision(`,"rev":`, d.Rev)
	}
	s.problem(p)
	if r.Kept && c.caller.Node() != "" {
		s.text(`,"kept":true`)
	}
	s.text("}")
}

// bulkItem is an item of _bulk_get: a document, and one of its revisions or the winner.
type bulkItem struct {
	id    *string // nil: missing, or not a text
	rev   string  // as it was sent; CouchDB calls a missing one undefined
	ask   docs.Ask
	since []rev.ID
	wrong error // why it names nothing; nil: it names something
}

// bulkGet answers items in the order of the request. The request is read first and is small. The answer is never in memory as a whole.
func bulkGet(c *call) error {
	q := queryOf(c.query)
	items, err := readItems(c, q)
	if err != nil {
		return err
	}
	w, latest := showOf(q), q.flag("latest")
	if q.err != nil {
		return q.err
	}
	s := c.begin(compressed)
	s.text(`{"results":[`)
	for i, item := range items {
		if i > 0 {
			s.text(",\n")
		}
		item.ask.Latest = latest
		if err := writeItem(s, item, w); err != nil {
			return err
		}
	}
	s.text("]}\n")
	return s.end()
}

// maxItems is how many items one request may have.
const maxItems = 100_000

// readItems reads the request. Members beside docs are parameters.
func readItems(c *call, q *query) (items []bulkItem, err error) {
	dec, err := c.decoder()
	if err != nil {
		return nil, err
	}
	given := false
	err = input.WholeObject(dec, func(name string) error {
		if name != "docs" {
			return q.take(dec, name)
		}
		given = true
		return input.EachItem(dec, func() error {
			item, err := readItem(dec)
			if err == nil && len(items) == maxItems {
				err = input.ErrTooLarge
			}
			items = append(items, item)
			return err
		})
	})
	if err == nil && !given {
		err = input.ErrShape
	}
	return items, err
}

// readItem reads the next item. One that names nothing has an empty answer, and the items beside it are answered.
func readItem(dec *jsontext.Decoder) (bulkItem, error) {
	item := bulkItem{rev: "undefined", wrong: docs.ErrDocumentID}
	if dec.PeekKind() != '{' {
		return item, input.Wrap(dec.SkipValue())
	}
	var text *string // nil: the winner
	good := true
	err := input.EachMember(dec, func(name string) error {
		v, err := dec.ReadValue()
		if err != nil {
			return input.Wrap(err)
		}
		switch name {
		case "id":
			if json.Unmarshal(v, &item.id) != nil {
				item.id = nil
			}
		case "rev":
			good = json.Unmarshal(v, &text) == nil
		case "atts_since":
			var list []string
			if json.Unmarshal(v, &list) == nil && len(list) > 0 { // an empty one asks for nothing, as at CouchDB
				item.since = transit.ParseRevs(list)
			}
		}
		return nil
	})
	if good && text != nil {
		item.rev, item.ask.Revisions = *text, make([]rev.ID, 1)
		item.ask.Revisions[0], good = rev.ParseFree(*text)
	}
	switch {
	case item.id != nil && good:
		item.wrong = nil
	case item.id != nil:
		item.wrong = transit.ErrRevision
	}
	return item, err
}

// writeItem writes the answer to one item. A missing revision is CouchDB's error in a free database, and an empty list in a database of records:
// PouchDB drops a whole batch on an error and asks again without end.
func writeItem(s *stream, item bulkItem, w show) error {
	if item.since != nil {
		w.since, w.attachments = item.since, true
	}
	doc, err := readRevisions(s.call, item)
	if err != nil {
		return err
	}
	s.textOrNull(`{"id":`, item.id)
	s.text(`,"docs":[`)
	lines, free := 0, s.call.db.Free()
	for i := range doc.Revisions {
		r := &doc.Revisions[i]
		if r.Body == nil && !free {
			continue
		}
		s.comma(lines)
		lines++
		if r.Body == nil {
			writeMissing(s, item, r.Revision.String(), problemOf(errMissing))
			continue
		}
		s.text(`{"ok":`)
		s.document(&doc, r, w)
		s.text("}")
	}
	if lines == 0 && free {
		writeMissing(s, item, item.rev, problemOf(cmp.Or(item.wrong, errMissing)))
	}
	s.text("]}")
	return s.err
}

// writeMissing writes that a revision is missing or cannot be read.
func writeMissing(s *stream, item bulkItem, rev string, p problem) {
	s.textOrNull(`{"error":{"id":`, item.id)
	s.quoted(`,"rev":`, rev)
	s.problem(p)
	s.text("}}")
}

// textOrNull writes lead as it is, then text as a JSON string, or null.
func (s *stream) textOrNull(lead string, text *string) {
	if text == nil {
		s.text(lead + "null")
		return
	}
	s.quoted(lead, *text)
}

// readRevisions reads the revisions of an item. A missing document has none.
func readRevisions(c *call, item bulkItem) (doc docs.Doc, err error) {
	if item.wrong != nil {
		return doc, nil
	}
	doc, err = c.db.Read(*item.id, item.ask)
	if errors.Is(err, table.ErrNotFound) {
		return docs.Doc{}, nil
	}
	return doc, err
}

// offered is the revisions of a document that a peer has. others are texts that are no revisions: the answer calls them missing, the peer sends
// them, and the server refuses them.
type offered struct {
	merge.Revs
	others []string
}

// revsDiff answers which of the offered revisions the database lacks. It checks offers as they come and keeps what is missing, because the
// answer may not begin before the request ends.
func revsDiff(c *call) error {
	dec, err := c.decoder()
	if err != nil {
		return err
	}
	d := &difference{call: c}
	err = input.WholeObject(dec, func(id string) error {
		o, err := readOffer(dec, id)
		if err != nil {
			return err
		}
		if d.offers = append(d.offers, o); len(d.offers) < docs.DocPage {
			return nil
		}
		return d.lookUp()
	})
	if err == nil {
		err = d.lookUp()
	}
	if err != nil {
		return err
	}
	return d.answer()
}

func readOffer(dec *jsontext.Decoder, id string) (o offered, err error) {
	list, err := input.Texts(dec)
	if err != nil {
		return o, err
	}
	o.ID = id
	o.Revisions, o.others = transit.SortRevs(list)
	return o, nil
}

// difference collects the answer.
type difference struct {
	call    *call
	offers  []offered
	missing []missingDoc
}

// missingDoc is what the database lacks of one document.
type missingDoc struct {
	docs.MissingRevs
	others []string
}

// lookUp finds what is missing of the offers so far.
func (d *difference) lookUp() error {
	asked := make([]merge.Revs, len(d.offers))
	for i, o := range d.offers {
		asked[i] = o.Revs
	}
	missing, err := d.call.db.Missing(asked)
	if err != nil {
		return err
	}
	for i, m := range missing {
		if others := d.offers[i].others; len(m.Missing)+len(others) > 0 {
			d.missing = append(d.missing, missingDoc{m, others})
		}
	}
	d.offers = d.offers[:0]
	return nil
}

func (d *difference) answer() error {
	s := d.call.begin(compressed)
	s.text("{")
	for i, m := range d.missing {
		s.comma(i)
		s.quoted("", m.ID)
		s.text(`:{"missing":`)
		s.list(append(transit.RevTexts(m.Missing), m.others...))
		if len(m.PossibleAncestors) > 0 {
			s.text(`,"possible_ancestors":`)
			s.list(transit.RevTexts(m.PossibleAncestors))
		}
		s.text("}")
	}
	s.text("}\n")
	return s.end()
}

// list writes a list of texts.
func (s *stream) list(texts []string) {
	s.text("[")
	for i, text := range texts {
		s.comma(i)
		s.quoted("", text)
	}
	s.text("]")
}
