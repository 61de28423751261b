package sync

import (
	"errors"
	"net/http"

	"doorward/kv"
	"doorward/kv/rev"
)

// bulkDocs stores documents, each on its own. Whether they are new edits stands behind them in what most clients send, so they are
// gathered first; attachments are in the store by then. In a free database one document that is malformed refuses them all, as
// CouchDB has it.
func bulkDocs(c *call) error {
	b, err := c.readBatch()
	if err == nil && c.db.Free() {
		err = b.malformed()
	}
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

// malformed answers what is wrong with the first document that is malformed.
func (b *bulk) malformed() error {
	for _, d := range b.docs {
		if d.id == "" && !b.replicated {
			d.id = newID()
		}
		if err := d.malformed(b.replicated); err != nil {
			return err
		}
	}
	return nil
}

// outcome is what became of one document of a batch.
type outcome struct {
	kv.DocResult
	local string // the revision of a local document
}

// store stores some of a batch's documents and answers what became of each.
func (b *bulk) store(c *call, docs []*incoming) ([]outcome, error) {
	results := make([]outcome, len(docs))
	writes, places := make([]kv.DocWrite, 0, len(docs)), make([]int, 0, len(docs))
	for i, d := range docs {
		if d.id == "" && !b.replicated {
			d.id = newID()
		}
		if d.isLocal() {
			results[i] = c.storeLocal(d)
			continue
		}
		w, err := c.write(d, b.replicated)
		if err != nil {
			return nil, err
		}
		writes, places = append(writes, w), append(places, i)
	}
	written, err := c.db.Write(writes)
	for i, r := range written {
		results[places[i]].DocResult = r
	}
	return results, err
}

// line writes what became of one document. Of what was replicated only what was not taken is told.
func (b *bulk) line(c *call, d *incoming, r outcome) {
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
		s.text(`,"rev":`)
		if d.isLocal() {
			s.quoted(r.local)
		} else {
			s.revision(r.Revision)
		}
		s.text("}")
		return
	}
	c.server.metrics.refuse(r.Err)
	p := refuse(r.Err, b.replicated)
	s.text(`{"id":`)
	s.quoted(d.id)
	if d.rev != (rev.ID{}) && !errors.Is(r.Err, kv.ErrConflict) {
		s.text(`,"rev":`)
		s.revision(d.rev)
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
