package sync

import (
	"io"
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
	h := NewHere(c.server.config.Store, c.db)
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
	_, _ = s.Write(appendJSON(nil, Head{Format: lineFormat, Realm: store.Realm(), Node: store.Node(), Epoch: store.Epoch(), DB: c.db.Name(), Since: since})) // the stream keeps its error
	var b []byte
	err := h.feed(c.request.Context(), wish{since: since, carry: true}, func(page *batch) error {
		b = b[:0]
		for _, x := range page.replicas {
			b = x.appendLine(b, x.seq)
		}
		for _, id := range page.left {
			b = appendJSON(b, struct {
				Seq     sequence `json:"seq"`
				Removed string   `json:"removed"`
			}{page.upto, id})
		}
		count, upto = count+len(page.replicas)+len(page.left), page.upto
		b = appendJSON(b, mark{Upto: upto, Count: count})
		c.server.metrics.sent.Add(float64(len(page.replicas)))
		_, err := s.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	_, _ = s.Write(appendJSON(nil, foot{Last: upto, Count: count})) // as above
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
	s.pack(&c.server.packers.lines)
	return s
}

// takeLines stores the revisions of lines, and answers those that it refuses. While some are stored the next are read.
func takeLines(c *call) error {
	if c.request.Header.Get("Content-Encoding") != "zstd" {
		return errMedia
	}
	raw := &counted{from: c.request.Body, left: maxBody}
	z := unpackLines(raw)
	defer z.Close()
	w := &taking{call: c, here: NewHere(c.server.config.Store, c.db), denied: []Denial{}}
	err := w.read(&inflated{plain: z, raw: raw})
	if failed := w.wait(); err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	return c.reply(http.StatusCreated, w.denied)
}

// taking is lines on their way into the store.
type taking struct {
	call   *call
	here   *Here
	denied []Denial
	done   chan error // of what is being stored; nil: nothing is
}

// read reads lines up to the last.
func (w *taking) read(from io.Reader) error {
	g := newGathering(w.store)
	g.anywhere = true
	if _, err := newLines(from).each(g.add); err != nil {
		return err
	}
	return g.flush()
}

// store begins to store a batch once the one before is stored.
func (w *taking) store(b *batch) error {
	if err := w.wait(); err != nil {
		return err
	}
	w.done = make(chan error, 1)
	go func() {
		denied, err := w.here.write(w.call.request.Context(), b.replicas)
		w.denied = append(w.denied, denied...)
		m := w.call.server.metrics
		m.received.Add(float64(len(b.replicas) - len(denied)))
		for _, d := range denied {
			m.refused.WithLabelValues(d.Error).Inc()
		}
		w.done <- err
	}()
	return nil
}

// wait waits for what is being stored.
func (w *taking) wait() error {
	if w.done == nil {
		return nil
	}
	err := <-w.done
	w.done = nil
	return err
}
