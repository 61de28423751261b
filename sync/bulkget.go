package sync

import (
	"encoding/json"
	"errors"

	"doorward/kv"
	"doorward/kv/record"

	"github.com/go-json-experiment/json/jsontext"
)

// wanted is one item of _bulk_get: a document, and one of its revisions or the winner.
type wanted struct {
	id     *string // nil: there is none, or it is no text
	rev    *string // nil: the winner
	broken bool    // the revision is none
	since  []record.Revision
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

// item writes what there is of one item. What is not there is an empty list: PouchDB throws its whole batch away on an error,
// and asks again for ever.
func (s *stream) item(item wanted, w show, latest bool) error {
	if item.since != nil {
		w.since = item.since
	}
	doc, err := s.read(item, latest)
	if err != nil {
		return err
	}
	s.text(`{"id":`)
	if item.id == nil {
		s.text("null")
	} else {
		s.quoted(*item.id)
	}
	s.text(`,"docs":[`)
	first := true
	for i := range doc.Revisions {
		if doc.Revisions[i].Body == nil {
			continue
		}
		if !first {
			s.text(",")
		}
		first = false
		s.text(`{"ok":`)
		s.document(&doc, &doc.Revisions[i], w)
		s.text("}")
	}
	s.text("]}")
	return s.err
}

// read reads what is wanted: no revision of what is not there, or not named.
func (s *stream) read(item wanted, latest bool) (doc kv.Doc, err error) {
	if item.id == nil || item.broken {
		return doc, nil
	}
	ask := kv.Ask{Latest: latest}
	if item.rev != nil {
		rev, good := record.ParseRevision(*item.rev)
		if !good {
			return doc, nil
		}
		ask.Revisions = []record.Revision{rev}
	}
	doc, err = s.call.db.Read(*item.id, ask)
	if errors.Is(err, kv.ErrNotFound) {
		return kv.Doc{}, nil
	}
	return doc, err
}
