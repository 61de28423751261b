package replicate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"doorward/kv/merge"
	"doorward/sync/dial"
	"doorward/sync/line"
	"doorward/sync/transit"
)

// How a live feed treats its own echo. Changes that the target has given itself come back in the peer's feed. While these alone come, a
// request asks for many, and the next waits. A change of another origin waits no longer than that.
const (
	echoRows  = 10_000
	echoPause = 400 * time.Millisecond
)

// lineTransport uses lines, which only our own nodes give and take. The rest goes over HTTP as with any server.
type lineTransport struct{ *httpTransport }

// feed reads all changes as one long stream of lines. A live feed then waits for changes, and reads on if the target lacks some of them.
func (t lineTransport) feed(ctx context.Context, w Wish, fn func(*Batch) error) (err error) {
	if !w.Live || len(w.Since) == 0 {
		if w.Since, err = t.lines(ctx, w.Since, 0, fn); err != nil || !w.Live {
			return err
		}
	}
	for limit := feedRows; ; {
		b, rows, err := t.changes(ctx, w, limit, waiting)
		if err != nil {
			return err
		}
		missing, err := w.Lacked(ctx, b.Offers)
		switch {
		case err != nil:
			return err
		case rows > 0 && len(missing)+len(b.Left)+len(b.Denied) == 0:
			limit, w.Since = echoRows, b.Upto
			if err = fn(b); err == nil {
				err = dial.Rest(ctx, echoPause)
			}
		default:
			limit = feedRows
			w.Since, err = t.lines(ctx, w.Since, 0, fn)
		}
		if err != nil {
			return err
		}
	}
}

// lines reads the lines after a place, and returns how far they go. It leaves out what a laptop does not take along; 0 = nothing.
func (t lineTransport) lines(ctx context.Context, since transit.Sequence, laptop int64, fn func(*Batch) error) (upto transit.Sequence, err error) {
	q := url.Values{}
	if text := transit.SequenceText(since); text != "" {
		q.Set("since", text)
	}
	if laptop != 0 {
		q.Set(dial.ParameterFor, strconv.FormatInt(laptop, 10))
	}
	address := t.link.At("_feed")
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	resp, err := t.link.Do(ctx, http.MethodGet, address, &dial.Payload{Accept: "zstd"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it is read, or given up
	if resp.Header.Get(dial.HeaderFor) != q.Get(dial.ParameterFor) {
		return nil, errNotFor
	}
	z := line.Decompress(resp.Body)
	defer z.Close()
	g := newBatcher(fn)
	upto, err = readLines(line.NewReader(z), func(l *line.Line) error {
		if l.Revision != nil {
			x := l.Revision
			x.Content = func(ctx context.Context, p *transit.Part, w io.Writer) error { return t.content(ctx, x, p, w) }
		}
		return g.add(l)
	})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, err
	}
	if string(upto) != string(since) {
		g.batch.Upto = upto
	}
	return upto, g.flush()
}

// write sends revisions as lines. Attachments are stubs; resendWhole sends those that the peer lacks. The body is small once compressed,
// and is sent with its length: a connection ends with a body that has none.
func (t lineTransport) write(ctx context.Context, revisions []*transit.Revision) ([]Denial, error) {
	var body bytes.Buffer // takes everything
	z := line.Compress(&body)
	out := line.NewWriter(z)
	for _, x := range revisions {
		out.Add(x)
	}
	_ = out.Foot(nil)
	_ = z.Close()
	return t.denials(ctx, t.link.At("_feed"), &dial.Payload{Media: line.Media, Packing: "zstd", Read: &body, Size: int64(body.Len())})
}

// How much a batch holds. It ends between two changes, where a mark says that it is complete.
const (
	carriedRows  = 4000
	carriedBytes = 4 << 20
)

// How much is held in memory until a mark comes. A batch of this program is smaller.
const (
	unmarkedRows  = 16 * carriedRows
	unmarkedBytes = 16 * carriedBytes
)

// batcher makes batches of lines.
type batcher struct {
	batch    *Batch
	bytes    int
	anywhere bool // a batch may end between any two lines
	fn       func(*Batch) error
}

func newBatcher(fn func(*Batch) error) *batcher {
	return &batcher{batch: &Batch{Carried: true}, fn: fn}
}

// add adds a line. A full batch goes on before the first line of another change.
func (g *batcher) add(l *line.Line) error {
	b := g.batch
	full := len(b.Revisions) >= carriedRows || g.bytes >= carriedBytes
	if full && (g.anywhere || l.Mark != nil) {
		if err := g.flush(); err != nil {
			return err
		}
		b = g.batch
	}
	switch {
	case l.Mark != nil:
		return nil
	case len(b.Revisions) >= unmarkedRows, g.bytes >= unmarkedBytes:
		return line.ErrUnmarked
	}
	b.Upto = l.Seq
	if l.Removed != "" {
		b.Left = append(b.Left, l.Removed)
	}
	x := l.Revision
	if x == nil {
		return nil
	}
	if n := len(b.Offers); n > 0 && b.Offers[n-1].ID == x.ID {
		b.Offers[n-1].Revisions = append(b.Offers[n-1].Revisions, x.Rev())
	} else {
		b.Offers = append(b.Offers, merge.Revs{ID: x.ID, Revisions: x.Path[:1:1]})
	}
	b.Revisions = append(b.Revisions, x)
	g.bytes += x.Size()
	return nil
}

// flush passes the batch on.
func (g *batcher) flush() error {
	b := g.batch
	g.batch, g.bytes = &Batch{Carried: true}, 0
	if b.Upto == nil {
		return nil
	}
	return g.fn(b)
}

// readLines is Each for the lines of a source. It returns ErrCut if they break off.
func readLines(s *line.Reader, fn func(*line.Line) error) (last transit.Sequence, err error) {
	var ours error
	last, err = s.Each(func(l *line.Line) error {
		ours = fn(l)
		return ours
	})
	if _, wrong := errors.AsType[*line.Error](err); wrong || err == nil || ours != nil {
		return last, err
	}
	return last, dial.ErrCut
}

// ReadBatches reads lines up to the last, and calls fn with batches. A batch may end between any two lines, because a sender that was cut
// off sends all again.
func ReadBatches(from io.Reader, fn func(*Batch) error) error {
	g := newBatcher(fn)
	g.anywhere = true
	if _, err := line.NewReader(from).Each(g.add); err != nil {
		return err
	}
	return g.flush()
}
