package sync

import (
	"errors"
	"net/http"

	"doorward/kv"
)

// bulkDocs stores documents, each on its own. Whether they are new edits stands behind them in what most clients send, so they are
// gathered first; attachments are in the store by then.
func bulkDocs(c *call) error {
	b, err := c.readBatch()
	if err != nil {
		return err
	}
	for begun := false; !begun || len(b.docs) > 0; begun = true {
		n := min(len(b.docs), kv.MaxRows)
		results, err := b.store(c, b.docs[:n])
		if err != nil {
			return err
		}
		if !begun {
			b.out = c.beginAs("application/json", http.StatusCreated, unpacked)
			b.out.text("[")
		}
		for i, r := range results {
			b.line(c, b.docs[i], r)
		}
		clear(b.docs[:n]) // what is stored is no longer kept
		b.docs = b.docs[n:]
	}
	b.out.text("]\n")
	return b.out.end()
}

// bulk is a request of _bulk_docs.
type bulk struct {
	docs       []*incoming
	replicated bool
	out        *stream
	lines      int
}

func (c *call) readBatch() (*bulk, error) {
	dec, err := c.decoder()
	if err != nil {
		return nil, err
	}
	c.values.from = &shallow{from: c.values.from}
	b, given := &bulk{}, false
	err = eachMember(dec, func(name string) error {
		switch name {
		case "docs":
			given = true
			return eachItem(dec, func() error {
				d, err := c.readDocument(dec)
				b.docs = append(b.docs, d)
				return err
			})
		case "new_edits":
			t, err := dec.ReadToken()
			b.replicated = err == nil && t.Kind() == 'f'
			return badBody(err)
		}
		return badBody(dec.SkipValue())
	})
	if err == nil && !given {
		err = errShape
	}
	return b, err
}

// store stores some of a batch's documents and answers what became of each.
func (b *bulk) store(c *call, docs []*incoming) ([]kv.DocResult, error) {
	writes := make([]kv.DocWrite, len(docs))
	for i, d := range docs {
		if d.id == "" && !b.replicated {
			d.id = newID()
		}
		var err error
		if writes[i], err = c.write(d, b.replicated); err != nil {
			return nil, err
		}
	}
	return c.db.Write(writes)
}

// line writes what became of one document. Of what was replicated only what was not taken is told.
func (b *bulk) line(c *call, d *incoming, r kv.DocResult) {
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
		s.text(`{"ok":true,"id":`)
		s.quoted(d.id)
		s.text(`,"rev":"` + r.Revision.String() + `"}`)
		return
	}
	c.server.metrics.refuse(r.Err)
	p := refuse(r.Err, b.replicated)
	s.text(`{"id":`)
	s.quoted(d.id)
	if rev := d.rev.String(); rev != "" && !errors.Is(r.Err, kv.ErrConflict) {
		s.text(`,"rev":"` + rev + `"`)
	}
	s.text(`,"error":`)
	s.quoted(p.Error)
	s.text(`,"reason":`)
	s.quoted(p.Reason)
	if r.Kept && c.caller.Node() != "" {
		s.text(`,"kept":true`)
	}
	s.text("}")
}
