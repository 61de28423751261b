package sync

import (
	"io"
	"net/http"
	"strings"

	"doorward/sync/input"
	"doorward/sync/line"
	"doorward/sync/replicate"
)

// sendLines answers what the database has after a place, as lines.
func sendLines(c *call) error {
	q := queryOf(c.query)
	text, _ := q.text("since")
	if q.err != nil {
		return q.err
	}
	h := replicate.NewLocal(c.server.config.Store, c.db)
	var since line.Sequence
	if text != "" && text != "0" {
		since = line.Sequence(`"` + strings.Trim(text, `"`) + `"`)
	}
	if _, err := h.Since(since); err != nil {
		return err
	}
	s := beginLines(c)
	store, count, upto := c.server.config.Store, 0, since
	if upto == nil {
		upto = h.Sequence(0)
	}
	_, _ = s.Write(line.Append(nil, line.Head{Format: line.Format, Realm: store.Realm(), Node: store.Node(), Epoch: store.Epoch(), DB: c.db.Name(), Since: since})) // the stream keeps its error
	var b []byte
	err := h.Feed(c.request.Context(), replicate.Wish{Since: since, Carry: true}, func(page *replicate.Batch) error {
		b = b[:0]
		for _, x := range page.Replicas {
			b = x.AppendLine(b, x.Seq)
		}
		for _, id := range page.Left {
			b = line.Append(b, struct {
				Seq     line.Sequence `json:"seq"`
				Removed string        `json:"removed"`
			}{page.Upto, id})
		}
		count, upto = count+len(page.Replicas)+len(page.Left), page.Upto
		b = line.Append(b, line.Mark{Upto: upto, Count: count})
		c.server.metrics.sent.Add(float64(len(page.Replicas)))
		_, err := s.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	_, _ = s.Write(line.Append(nil, line.Foot{Last: upto, Count: count})) // as above
	return s.end()
}

// beginLines begins an answer of lines, compressed where the client takes zstd.
func beginLines(c *call) *stream {
	h := c.Header()
	h.Set("Vary", "Accept-Encoding")
	if !strings.Contains(c.request.Header.Get("Accept-Encoding"), "zstd") {
		return c.beginAs(line.Media, http.StatusOK, uncompressed)
	}
	h.Set("Content-Encoding", "zstd")
	s := c.beginAs(line.Media, http.StatusOK, uncompressed)
	s.compress(&c.server.packers.lines)
	return s
}

// takeLines stores the revisions of lines, and answers those that it refuses. While some are stored the next are read.
func takeLines(c *call) error {
	if c.request.Header.Get("Content-Encoding") != "zstd" {
		return errMedia
	}
	raw := &input.Limited{From: c.request.Body, Left: input.MaxSize}
	z := line.Decompress(raw)
	defer z.Close()
	w := &upload{call: c, here: replicate.NewLocal(c.server.config.Store, c.db), denied: []replicate.Denial{}}
	err := w.read(&input.Inflated{Plain: z, Raw: raw})
	if failed := w.wait(); err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	return c.reply(http.StatusCreated, w.denied)
}

// upload is lines on their way into the store.
type upload struct {
	call   *call
	here   *replicate.Local
	denied []replicate.Denial
	done   chan error // of what is being stored; nil: nothing is
}

// read reads lines up to the last.
func (w *upload) read(from io.Reader) error {
	g := replicate.NewBatcher(w.store)
	g.CutAnywhere = true
	if _, err := line.NewReader(from).Each(g.Add); err != nil {
		return err
	}
	return g.Flush()
}

// store begins to store a batch once the one before is stored.
func (w *upload) store(b *replicate.Batch) error {
	if err := w.wait(); err != nil {
		return err
	}
	w.done = make(chan error, 1)
	go func() {
		denied, err := w.here.Write(w.call.request.Context(), b.Replicas)
		w.denied = append(w.denied, denied...)
		m := w.call.server.metrics
		m.received.Add(float64(len(b.Replicas) - len(denied)))
		for _, d := range denied {
			m.refused.WithLabelValues(d.Error).Inc()
		}
		w.done <- err
	}()
	return nil
}

// wait waits for what is being stored.
func (w *upload) wait() error {
	if w.done == nil {
		return nil
	}
	err := <-w.done
	w.done = nil
	return err
}
