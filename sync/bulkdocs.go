package sync

import (
	"errors"
	"net/http"

	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/sync/input"
	"doorward/sync/transit"
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

// bulk is a request of _bulk_docs.
type bulk struct {
	docs       []*transit.Parsed
	replicated bool
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
	err = input.EachMember(dec, func(name string) error {
		switch name {
		case "docs":
			given = true
			return input.EachItem(dec, func() error {
				d, err := readDocument(c, dec)
				b.docs = append(b.docs, d)
				return err
			})
		case "new_edits":
			t, err := dec.ReadToken()
			b.replicated = err == nil && t.Kind() == 'f'
			return input.Wrap(err)
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

// docOutcome is what was done with one document of a batch.
type docOutcome struct {
	docs.DocResult
	local string // a local document's revision
}

// store stores some documents of a batch.
func (b *bulk) store(c *call, docs []*transit.Parsed) ([]docOutcome, error) {
	results := make([]docOutcome, len(docs))
	writes, places := make([]merge.DocWrite, 0, len(docs)), make([]int, 0, len(docs))
	for i, d := range docs {
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
		results[places[i]].DocResult = r
	}
	if err == nil {
		err = b.ownFault(results)
	}
	return results, err
}

// ownFault returns the first error of replicated documents that is this server's own. It is the answer to the whole request: a client never
// sends a document again that was refused alone.
func (b *bulk) ownFault(results []docOutcome) error {
	for _, r := range results {
		if b.replicated && r.Err != nil && problemOf(r.Err).status >= http.StatusInternalServerError {
			return r.Err
		}
	}
	return nil
}

// writeResult writes a document's row. Replicated documents have one only if they are refused.
func (b *bulk) writeResult(c *call, d *transit.Parsed, r docOutcome) {
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
		s.quoted(d.ID)
		s.text(`,"rev":`)
		if d.IsLocal() {
			s.quoted(r.local)
		} else {
			s.revision(r.Revision)
		}
		s.text("}")
		return
	}
	c.server.metrics.refuse(r.Err)
	p := refusalOf(r.Err, b.replicated)
	s.text(`{"id":`)
	s.quoted(d.ID)
	if d.Rev != (rev.ID{}) && !errors.Is(r.Err, table.ErrConflict) {
		s.text(`,"rev":`)
		s.revision(d.Rev)
	}
	s.problem(p)
	if r.Kept && c.caller.Node() != "" {
		s.text(`,"kept":true`)
	}
	s.text("}")
}
