package sync

import (
	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/sync/input"
	"doorward/sync/transit"
)

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
	err = input.EachMember(dec, func(id string) error {
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
	for _, text := range list {
		if rev, ok := rev.ParseFree(text); ok && text != "" {
			o.Revisions = append(o.Revisions, rev)
		} else {
			o.others = append(o.others, text)
		}
	}
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
		if i > 0 {
			s.text(",")
		}
		s.quoted(m.ID)
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
		if i > 0 {
			s.text(",")
		}
		s.quoted(text)
	}
	s.text("]")
}
