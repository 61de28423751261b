package sync

import (
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv"
	"doorward/kv/rev"
)

// wanted is one item of _bulk_get: a document, and one of its revisions or the winner.
type wanted struct {
	id     *string // nil: there is none, or it is no text
	rev    *string // nil: the winner
	broken bool    // the revision is none
	since  []rev.ID
}

// bulkGet answers items in the order in which they are asked for. The request is small and read first; the answer is not.
func bulkGet(c *call) error {
	q := queryOf(c.query)
	items, err := c.wanted(q)
	if err != nil {
		return err
	}
	w, latest := showOf(q), q.flag("latest")
	if q.err != nil {
		return q.err
	}
	s := c.begin(packed)
	s.text(`{"results":[`)
	for i, item := range items {
		if i > 0 {
			s.text(",\n")
		}
		if err := s.item(item, w, latest); err != nil {
			return err
		}
	}
	s.text("]}\n")
	return s.end()
}

// maxWanted is how many items one request may ask for.
const maxWanted = 100_000

// wanted reads what is asked for. The members beside the items are parameters.
func (c *call) wanted(q *query) (items []wanted, err error) {
	dec, err := c.decoder()
	if err != nil {
		return nil, err
	}
	given := false
	err = eachMember(dec, func(name string) error {
		if name != "docs" {
			return q.take(dec, name)
		}
		given = true
		return eachItem(dec, func() error {
			item, err := readWanted(dec)
			if err == nil && len(items) == maxWanted {
				err = errTooLarge
			}
			items = append(items, item)
			return err
		})
	})
	if err == nil && !given {
		err = errShape
	}
	return items, err
}

// readWanted reads the item that comes next. Of one that names nothing there is nothing, and the items around it are answered.
func readWanted(dec *jsontext.Decoder) (item wanted, err error) {
	if dec.PeekKind() != '{' {
		return item, badBody(dec.SkipValue())
	}
	err = eachMember(dec, func(name string) error {
		v, err := dec.ReadValue()
		if err != nil {
			return badBody(err)
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
			if json.Unmarshal(v, &list) == nil { // else it wants all attachments
				item.since = parseRevisions(list)
			}
		}
		return nil
	})
	return item, err
}

// item writes what there is of one item. What is not there is CouchDB's error in a free database, and an empty list in one of
// records, which may hold it out of scope: PouchDB throws its whole batch away on an error, and asks again for ever.
func (s *stream) item(item wanted, w show, latest bool) error {
	if item.since != nil {
		w.since = item.since
	}
	doc, err := s.read(item, latest)
	if err != nil {
		return err
	}
	s.text(`{"id":`)
	s.textOrNull(item.id)
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
			s.lacking(item, r.Revision.String(), explain(errMissing))
			continue
		}
		s.text(`{"ok":`)
		s.document(&doc, r, w)
		s.text("}")
	}
	if lines == 0 && free {
		s.lacking(item, item.named(), explain(item.fault()))
	}
	s.text("]}")
	return s.err
}

// lacking writes that a revision is not there, or is none.
func (s *stream) lacking(item wanted, rev string, p problem) {
	s.text(`{"error":{"id":`)
	s.textOrNull(item.id)
	s.text(`,"rev":`)
	s.quoted(rev)
	s.text(`,"error":`)
	s.quoted(p.Error)
	s.text(`,"reason":`)
	s.quoted(p.Reason)
	s.text("}}")
}

// named is the revision that an item asks for; CouchDB calls it undefined where there is none.
func (w *wanted) named() string {
	if w.rev == nil || w.broken {
		return "undefined"
	}
	return *w.rev
}

// fault is why nothing was found for an item.
func (w *wanted) fault() error {
	switch {
	case w.id == nil:
		return kv.ErrDocumentID
	case w.broken:
		return errRevision
	case w.rev != nil:
		if _, ok := rev.ParseFree(*w.rev); !ok {
			return errRevision
		}
	}
	return errMissing
}

// textOrNull writes a text, or null where there is none.
func (s *stream) textOrNull(text *string) {
	if text == nil {
		s.text("null")
		return
	}
	s.quoted(*text)
}

// read reads what is wanted: no revision of what is not there, or not named.
func (s *stream) read(item wanted, latest bool) (doc kv.Doc, err error) {
	if item.id == nil || item.broken {
		return doc, nil
	}
	ask := kv.Ask{Latest: latest}
	if item.rev != nil {
		revision, good := rev.ParseFree(*item.rev)
		if !good {
			return doc, nil
		}
		ask.Revisions = []rev.ID{revision}
	}
	doc, err = s.call.db.Read(*item.id, ask)
	if errors.Is(err, kv.ErrNotFound) {
		return kv.Doc{}, nil
	}
	return doc, err
}
