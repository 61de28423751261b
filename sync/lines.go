package sync

import (
	"net/http"
	"strings"

	"doorward/sync/input"
	"doorward/sync/line"
	"doorward/sync/replicate"
	"doorward/sync/transit"
)

// sendLines answers the changes after a place as lines.
func sendLines(c *call) error {
	q := queryOf(c.query)
	text, _ := q.text("since")
	if q.err != nil {
		return q.err
	}
	var since transit.Sequence
	if text != "" && text != "0" {
		since = transit.SequenceOf(text)
	}
	if _, err := replicate.SinceOf(c.store(), since); err != nil {
		return err
	}
	along, err := alongOf(c)
	if err != nil {
		return err
	}
	s := beginLines(c)
	out, upto := line.NewWriter(s), since
	if upto == nil {
		upto = transit.SequenceOf(c.store().Tables.Epochs.SeqText(0))
	}
	if err := out.Head(line.Head{Realm: c.store().Tables.Identity.Realm(), Node: c.store().Tables.Identity.Node(), Epoch: c.store().Tables.Epochs.Present(), DB: c.db.Name(), Since: since}); err != nil {
		return err
	}
	own, wish := replicate.NewLocal(c.store(), c.db), replicate.Wish{Since: since, Carry: true}
	err = own.Feed(c.request.Context(), wish, func(page *replicate.Batch) error {
		for _, x := range page.Revisions {
			if along == nil || isAlong(along, x) {
				out.Add(x)
			}
		}
		for _, id := range page.Left {
			out.Remove(id, page.Upto)
		}
		upto = page.Upto
		c.server.metrics.sent.Add(float64(len(page.Revisions)))
		return out.Mark(upto)
	})
	if err == nil {
		err = out.Foot(upto)
	}
	if err != nil {
		return err
	}
	return s.end()
}

// beginLines begins an answer of lines, compressed if the client takes zstd.
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

// takeLines stores the revisions of lines, and answers those that it refuses. It reads the next while it stores some.
func takeLines(c *call) error {
	if c.request.Header.Get("Content-Encoding") != "zstd" {
		return errMedia
	}
	raw := input.Limit(c.request.Body, input.MaxSize)
	z := line.Decompress(raw)
	defer z.Close()
	w := &upload{call: c, own: replicate.NewLocal(c.store(), c.db), denied: []replicate.Denial{}}
	err := replicate.ReadBatches(raw.Inflated(z, input.RatioFromLines), w.store)
	if failed := w.wait(); err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	return c.reply(http.StatusCreated, w.denied)
}

// upload is lines that are being stored.
type upload struct {
	call   *call
	own    *replicate.Local
	denied []replicate.Denial
	done   chan error // of the batch that is being stored; nil: there is none
}

// store stores a batch once the one before is stored.
func (w *upload) store(b *replicate.Batch) error {
	if err := w.wait(); err != nil {
		return err
	}
	w.done = make(chan error, 1)
	go func() {
		denied, err := w.own.Write(w.call.request.Context(), b.Revisions)
		w.denied = append(w.denied, denied...)
		m := w.call.server.metrics
		m.received.Add(float64(len(b.Revisions) - len(denied)))
		for _, d := range denied {
			m.refused.WithLabelValues(d.Error).Inc()
		}
		w.done <- err
	}()
	return nil
}

// wait waits for the batch that is being stored.
func (w *upload) wait() error {
	if w.done == nil {
		return nil
	}
	err := <-w.done
	w.done = nil
	return err
}
