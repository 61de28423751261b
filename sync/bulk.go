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

// bulkDocs stores documents, each by itself, in groups. Nothing is stored before the body was read to its end: most clients send new_edits after the
// documents. A fault of a replicated document is its own; of new edits in a free database one malformed document refuses all, as in CouchDB.
func bulkDocs(c *call) error {
	b, err := readBatch(c)
	if err != nil {
		return err
	}
	defer b.close()
	if c.db.Free() && !b.replicated {
		if err := b.malformed(c); err != nil {
			return err
		}
	}
	if b.body.Together {
		return b.refuse(c, errTogether)
	}
	for next := 0; next < b.body.Len() || b.out == nil; {
		group, err := b.group(c, next)
		if err != nil {
			return err
		}
		results, err := b.store(c, group)
		if err != nil {
			return err
		}
		if b.out == nil {
			b.begin(c, http.StatusCreated)
		}
		for i, r := range results {
			b.writeResult(c, group[i], r)
		}
		next += len(group)
	}
	return b.end()
}

// refuse refuses all documents for one reason.
func (b *bulk) refuse(c *call, err error) error {
	b.begin(c, problemOf(err).status)
	for i := range b.body.Len() {
		d, failed := b.document(c, i, passAttachments)
		if failed != nil {
			return failed
		}
		b.writeResult(c, d, docs.DocResult{Err: err})
	}
	return b.end()
}

// bulk is a request of _bulk_docs.
type bulk struct {
	body       *input.Batch
	replicated bool
	spool      *input.Spool
	out        *stream // nil: the answer has not begun
	lines      int
}

// readBatch reads the body to its end.
func readBatch(c *call) (*bulk, error) {
	if !isJSON(c.request.Header) {
		return nil, errMedia
	}
	if _, err := c.db.Write(nil); err != nil {
		return nil, err // a caller that may write nothing takes no memory
	}
	r, err := c.body(c.server.spools.most)
	if err != nil {
		return nil, err
	}
	b := &bulk{spool: newSpool(c)}
	if b.body, err = input.ReadBatch(r, b.spool); err != nil {
		b.close()
		return nil, err
	}
	b.replicated = !b.body.NewEdits
	c.values = input.NewValues(nil)
	return b, nil
}

// close forgets the body.
func (b *bulk) close() { _ = b.spool.Close() } // it was read

// begin begins the answer.
func (b *bulk) begin(c *call, status int) {
	b.out = c.beginAs("application/json", status, uncompressed)
	b.out.text("[")
}

// end ends the answer.
func (b *bulk) end() error {
	b.out.text("]\n")
	return b.out.end()
}

// groupBytes is about how many bytes of documents are in memory at a time.
const groupBytes = 4 << 20

// group reads the next documents, as many as one operation takes.
func (b *bulk) group(c *call, next int) (group []*transit.Parsed, err error) {
	for size := int64(0); next < b.body.Len() && len(group) < table.MaxRows && size < groupBytes; next++ {
		d, err := b.document(c, next, storeAttachments)
		if err != nil {
			return nil, err
		}
		group = append(group, d)
		size += b.body.Document(next).Size()
	}
	return group, nil
}

// malformed returns the error of the first malformed document.
func (b *bulk) malformed(c *call) error {
	for i := range b.body.Len() {
		d, err := b.document(c, i, passAttachments)
		if err != nil {
			return err
		}
		if err := d.Malformed(); err != nil {
			return err
		}
	}
	return nil
}

// attachmentUse says what is done with the attachments of a document that is read.
type attachmentUse bool

const (
	storeAttachments attachmentUse = true
	passAttachments  attachmentUse = false
)

// document reads a document, and gives a new one without an id an id.
func (b *bulk) document(c *call, i int, use attachmentUse) (*transit.Parsed, error) {
	from := b.body.Document(i)
	fault, err := from.Known()
	var d *transit.Parsed
	if err == nil && fault == nil {
		d, fault, err = readWell(c, from, use)
	}
	if err != nil {
		return nil, err
	}
	if fault != nil {
		d = readBadly(c, from, fault)
	}
	if d.ID == "" && !b.replicated {
		d.ID = newID()
	}
	return d, nil
}

// readWell reads a document that must be JSON as it is wanted; otherwise it returns the fault.
func readWell(c *call, from *input.Document, use attachmentUse) (d *transit.Parsed, fault, err error) {
	d = &transit.Parsed{}
	c.values.Reset(from)
	dec := c.values.Decoder()
	err = d.ReadMembers(dec, func() error {
		if !use {
			return input.Wrap(dec.SkipValue())
		}
		return readAttachments(c, dec, d, from.Apart)
	})
	fault, err = from.Fault(err)
	return d, fault, err
}

// readBadly reads what can be read of a document with a fault: the answer names it, and staff see what it was.
func readBadly(c *call, from *input.Document, fault error) *transit.Parsed {
	d := &transit.Parsed{}
	d.Refuse(fault)
	c.values.Reset(input.Shallow(from.Rewind()), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	dec := c.values.Decoder()
	_ = d.ReadMembers(dec, func() error { return input.Wrap(dec.SkipValue()) }) // the fault is known
	return d
}

// store stores some documents of a batch.
func (b *bulk) store(c *call, some []*transit.Parsed) ([]docs.DocResult, error) {
	results := make([]docs.DocResult, len(some))
	writes, places := make([]merge.DocWrite, 0, len(some)), make([]int, 0, len(some))
	for i, d := range some {
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
	s.text(`{"id":`)
	s.text(d.QuotedID())
	switch {
	case errors.Is(r.Err, table.ErrConflict):
	case d.Rev != (rev.ID{}) && !d.BadRev:
		s.revision(`,"rev":`, d.Rev)
	case d.RevText != "":
		s.quoted(`,"rev":`, d.RevText)
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

// readItems reads the request. Members beside docs are parameters.
func readItems(c *call, q *query) (items []bulkItem, err error) {
	dec, err := c.decoder()
	if err != nil {
		return nil, err
	}
	given := false
	err = input.WholeObject(dec, func(name string) error {
		if name != "docs" {
			return q.take(c, dec, name)
		}
		given = true
		return input.EachItem(dec, func() error {
			if err := c.items.Add(1); err != nil {
				return err
			}
			item, err := readItem(c, dec)
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
func readItem(c *call, dec *jsontext.Decoder) (bulkItem, error) {
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
			if err := c.items.Add(input.CountItems(v)); err != nil {
				return err
			}
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
	var ids input.Items
	err = input.WholeObject(dec, func(id string) error {
		if err := ids.Add(1); err != nil {
			return err
		}
		o, err := readOffer(c, dec, id)
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

func readOffer(c *call, dec *jsontext.Decoder, id string) (o offered, err error) {
	list, err := input.CountedTexts(dec, &c.items)
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
