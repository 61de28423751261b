package sync

import (
	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv"
	"doorward/kv/rev"
)

// offered is what a peer says it has of a document. Texts that are no revisions are missing for good: sent, they are refused.
type offered struct {
	kv.Revs
	others []string
}

// revsDiff answers which of the revisions that a peer has the database lacks. The offers are looked at as they come in; only what
// is missing is kept until all have come, for an answer may not begin before.
func revsDiff(c *call) error {
	dec, err := c.decoder()
	if err != nil {
		return err
	}
	d := &difference{call: c}
	err = eachMember(dec, func(id string) error {
		o, err := readOffer(dec, id)
		if err != nil {
			return err
		}
		if d.offers = append(d.offers, o); len(d.offers) < kv.DocPage {
			return nil
		}
		return d.look()
	})
	if err == nil {
		err = d.look()
	}
	if err != nil {
		return err
	}
	return d.answer()
}

func readOffer(dec *jsontext.Decoder, id string) (o offered, err error) {
	list, err := texts(dec)
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

// difference is the answer while it is made.
type difference struct {
	call    *call
	offers  []offered
	missing []lacking
}

// lacking is what the database does not have of one document.
type lacking struct {
	kv.MissingRevs
	others []string
}

// look asks for what is missing of the offers so far.
func (d *difference) look() error {
	asked := make([]kv.Revs, len(d.offers))
	for i, o := range d.offers {
		asked[i] = o.Revs
	}
	missing, err := d.call.db.Missing(asked)
	if err != nil {
		return err
	}
	for i, m := range missing {
		if others := d.offers[i].others; len(m.Missing)+len(others) > 0 {
			d.missing = append(d.missing, lacking{m, others})
		}
	}
	d.offers = d.offers[:0]
	return nil
}

func (d *difference) answer() error {
	s := d.call.begin(packed)
	s.text("{")
	for i, m := range d.missing {
		if i > 0 {
			s.text(",")
		}
		s.quoted(m.ID)
		s.text(`:{"missing":`)
		s.list(append(revisionTexts(m.Missing), m.others...))
		if len(m.PossibleAncestors) > 0 {
			s.text(`,"possible_ancestors":`)
			s.list(revisionTexts(m.PossibleAncestors))
		}
		s.text("}")
	}
	s.text("}\n")
	return s.end()
}

func revisionTexts(revs []rev.ID) []string {
	list := make([]string, len(revs))
	for i, rev := range revs {
		list[i] = rev.String()
	}
	return list
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
