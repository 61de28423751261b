package sync

import (
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/docs"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/sync/input"
	"doorward/sync/transit"
)

// bulkItem is an item of _bulk_get: a document, and one of its revisions or the winner.
type bulkItem struct {
	id     *string // nil: missing, or not a text
	rev    *string // nil: the winner
	broken bool    // the revision is not a text
	since  []rev.ID
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
		if err := writeItem(s, item, bulkShow{w, latest}); err != nil {
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
	err = input.EachMember(dec, func(name string) error {
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
func readItem(dec *jsontext.Decoder) (item bulkItem, err error) {
	if dec.PeekKind() != '{' {
		return item, input.Wrap(dec.SkipValue())
	}
	err = input.EachMember(dec, func(name string) error {
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
			item.broken = json.Unmarshal(v, &item.rev) != nil
		case "atts_since":
			var list []string
			if json.Unmarshal(v, &list) == nil { // otherwise it gets all attachments
				item.since = transit.ParseRevs(list)
			}
		}
		return nil
	})
	return item, err
}

// bulkShow says what the answer to an item has.
type bulkShow struct {
	show
	latest bool // leaves that follow a revision are answered in its place
}

// writeItem writes the answer to one item. A missing revision is CouchDB's error in a free database, and an empty list in a database of records:
// PouchDB drops a whole batch on an error and asks again without end.
func writeItem(s *stream, item bulkItem, w bulkShow) error {
	if item.since != nil {
		w.since = item.since
	}
	doc, err := readRevisions(s.call, item, w.latest)
	if err != nil {
		return err
	}
	s.text(`{"id":`)
	writeText(s, item.id)
	s.text(`,"docs":[`)
	lines, free := 0, s.call.db.Free()
	for i := range doc.Revisions {
		r := &doc.Revisions[i]
		if r.Body == nil && !free {
			continue
		}
		if lines++; lines > 1 {
			s.text(",")
		}
		if r.Body == nil {
			writeMissing(s, item, r.Revision.String(), problemOf(errMissing))
			continue
		}
		s.text(`{"ok":`)
		s.document(&doc, r, w.show)
		s.text("}")
	}
	if lines == 0 && free {
		writeMissing(s, item, item.revText(), problemOf(item.missingError()))
	}
	s.text("]}")
	return s.err
}

// writeMissing writes that a revision is missing or cannot be read.
func writeMissing(s *stream, item bulkItem, rev string, p problem) {
	s.text(`{"error":{"id":`)
	writeText(s, item.id)
	s.text(`,"rev":`)
	s.quoted(rev)
	s.problem(p)
	s.text("}}")
}

// revText returns the revision that an item asks for. CouchDB calls a missing one undefined.
func (w *bulkItem) revText() string {
	if w.rev == nil || w.broken {
		return "undefined"
	}
	return *w.rev
}

// missingError returns why nothing was found for an item.
func (w *bulkItem) missingError() error {
	switch {
	case w.id == nil:
		return docs.ErrDocumentID
	case w.broken:
		return transit.ErrRevision
	case w.rev != nil:
		if _, ok := rev.ParseFree(*w.rev); !ok {
			return transit.ErrRevision
		}
	}
	return errMissing
}

// writeText writes a text, or null.
func writeText(s *stream, text *string) {
	if text == nil {
		s.text("null")
		return
	}
	s.quoted(*text)
}

// readRevisions reads the revisions of an item. A missing document has none.
func readRevisions(c *call, item bulkItem, latest bool) (doc docs.Doc, err error) {
	if item.id == nil || item.broken {
		return doc, nil
	}
	ask := docs.Ask{Latest: latest}
	if item.rev != nil {
		revision, good := rev.ParseFree(*item.rev)
		if !good {
			return doc, nil
		}
		ask.Revisions = []rev.ID{revision}
	}
	doc, err = c.db.Read(*item.id, ask)
	if errors.Is(err, table.ErrNotFound) {
		return docs.Doc{}, nil
	}
	return doc, err
}
