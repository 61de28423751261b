package sync

import (
	"errors"

	"doorward/kv"
	"doorward/kv/record"

	"github.com/go-json-experiment/json/jsontext"
)

// wanted is one item of _bulk_get: a document, and one of its revisions or the winner.
type wanted struct {
	id     string
	rev    string
	since  []record.Revision
	anyone bool // no revision is named
}

// bulkGet answers items in the order in which they are asked for. The request is small and read first; the answer is not.
func bulkGet(c *call) error {
	q := queryOf(c.query)
	w, latest := showOf(q), q.flag("latest")
	if q.err != nil {
		return q.err
	}
	items, err := c.wanted()
	if err != nil {
		return err
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

// wanted reads what is asked for.
func (c *call) wanted() (items []wanted, err error) {
	dec, err := c.decoder()
	if err != nil {
		return nil, err
	}
	given := false
	err = eachMember(dec, func(name string) error {
		if name != "docs" {
			return badBody(dec.SkipValue())
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

func readWanted(dec *jsontext.Decoder) (item wanted, err error) {
	item.anyone = true
	err = eachMember(dec, func(name string) error {
		switch name {
		case "id", "rev":
			t, err := dec.ReadToken()
			switch {
			case err != nil:
				return badBody(err)
			case t.Kind() == 'n':
			case t.Kind() != '"':
				return errShape
			case name == "id":
				item.id = t.String()
			default:
				item.rev, item.anyone = t.String(), false
			}
			return nil
		case "atts_since":
			list, err := texts(dec)
			item.since = parseRevisions(list)
			return err
		}
		return badBody(dec.SkipValue())
	})
	return item, err
}

// item writes what there is of one item. What is not there is an empty list: PouchDB throws its whole batch away on an error,
// and asks again for ever.
func (s *stream) item(item wanted, w show, latest bool) error {
	if item.since != nil {
		w.since = item.since
	}
	s.text(`{"id":`)
	s.quoted(item.id)
	s.text(`,"docs":[`)
	ask := kv.Ask{Latest: latest}
	rev, good := record.ParseRevision(item.rev)
	if !item.anyone {
		ask.Revisions = []record.Revision{rev}
	}
	doc, err := s.call.db.Read(item.id, ask)
	switch {
	case errors.Is(err, kv.ErrNotFound) || !good:
		doc.Revisions = nil
	case err != nil:
		return err
	}
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
