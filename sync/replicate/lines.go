package replicate

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

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
		if w.Since, err = t.lines(ctx, w.Since, fn); err != nil || !w.Live {
			return err
		}
	}
	for limit := feedRows; ; {
		b, rows, err := t.changes(ctx, w, page{limit, waiting})
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
			w.Since, err = t.lines(ctx, w.Since, fn)
		}
		if err != nil {
			return err
		}
	}
}

// lines reads the lines after a place, and returns how far they go.
func (t lineTransport) lines(ctx context.Context, since transit.Sequence, fn func(*Batch) error) (upto transit.Sequence, err error) {
	address := t.link.At("_feed")
	if text := transit.SequenceText(since); text != "" {
		address += "?" + url.Values{"since": {text}}.Encode()
	}
	resp, err := t.link.Do(ctx, http.MethodGet, address, &dial.Payload{Accept: "zstd"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it is read, or given up
	z := line.Decompress(resp.Body)
	defer z.Close()
	g := newBatcher(fn)
	f, err := readLines(line.NewReader(z), func(l *line.Line) error {
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
	if string(f.Last) != string(since) {
		g.batch.Upto = f.Last
	}
	return f.Last, g.flush()
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
