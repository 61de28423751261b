package sync

import (
	"net/http"
	"strings"
)

// linesMedia is the type of lines.
const linesMedia = "application/x-ndjson"

// sendLines answers what the database has after a place, as lines.
func sendLines(c *call) error {
	q := queryOf(c.query)
	text, _ := q.text("since")
	if q.err != nil {
		return q.err
	}
	h := &Here{store: c.server.config.Store, db: c.db, carries: true}
	var since sequence
	if text != "" && text != "0" {
		since = sequence(`"` + strings.Trim(text, `"`) + `"`)
	}
	if _, err := h.since(since); err != nil {
		return err
	}
	s := c.beginLines()
	store, count, upto := c.server.config.Store, 0, since
	if upto == nil {
		upto = h.sequence(0)
	}
	_, _ = s.Write(appendJSON(nil, Head{lineFormat, store.Realm(), store.Node(), store.Epoch(), c.db.Name(), since})) // the stream keeps its error
	var b []byte
	err := h.feed(c.request.Context(), wish{since: since}, func(page *batch) error {
		b = b[:0]
		for _, x := range page.replicas {
			b = x.appendLine(b, x.seq)
		}
		count, upto = count+len(page.replicas), page.upto
		c.server.metrics.sent.Add(float64(len(page.replicas)))
		_, err := s.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	_, _ = s.Write(appendJSON(nil, foot{upto, count})) // as above
	return s.end()
}

// beginLines begins an answer of lines, compressed where the client takes zstd.
func (c *call) beginLines() *stream {
	h := c.Header()
	h.Set("Vary", "Accept-Encoding")
	if !strings.Contains(c.request.Header.Get("Accept-Encoding"), "zstd") {
		return c.beginAs(linesMedia, http.StatusOK, unpacked)
	}
	h.Set("Content-Encoding", "zstd")
	s := c.beginAs(linesMedia, http.StatusOK, unpacked)
	if c.request.Method != http.MethodHead {
		s.zip = packLines(patientWriter{c})
		s.buf.Reset(s.zip)
	}
	return s
}

// takeLines stores the revisions of lines, and answers those that it refuses.
func takeLines(c *call) error {
	raw := &counted{from: c.request.Body, left: maxBody}
	if c.request.Header.Get("Content-Encoding") != "zstd" {
		return errMedia
	}
	z := unpackLines(raw)
	defer z.Close()
	h := &Here{store: c.server.config.Store, db: c.db}
	denied := []Denial{}
	g := newGathering(func(b *batch) error {
		d, err := h.write(c.request.Context(), b.replicas)
		denied = append(denied, d...)
		c.server.metrics.received.Add(float64(len(b.replicas) - len(d)))
		for _, one := range d {
			c.server.metrics.refused.WithLabelValues(one.Error).Inc()
		}
		return err
	})
	g.anywhere = true
	dec := newDecoder(&inflated{plain: z, raw: raw})
	for {
		l, err := readLine(dec)
		if err != nil {
			return err
		}
		if l.foot != nil {
			break
		}
		if l.seq == nil {
			continue
		}
		if l.replica == nil {
			return errNoRevision
		}
		if err := g.add(&l); err != nil {
			return err
		}
	}
	if err := g.flush(); err != nil {
		return err
	}
	return c.reply(http.StatusCreated, denied)
}
