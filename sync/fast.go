package sync

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/klauspost/compress/zstd"
)

// By fastHeader our own nodes know each other: who sends it to a database and has it sent back may use _feed. Each answer to who
// sends it names the node that gives it.
const (
	fastHeader  = "Doorward-Feed"
	fastVersion = "1"
	realmHeader = "Doorward-Realm"
	nodeHeader  = "Doorward-Node"
	epochHeader = "Doorward-Epoch"
	codesHeader = "Doorward-Code-Key" // to the operator alone
)

// maxWindow is how much memory a peer's compression may ask for.
const maxWindow = 8 << 20

// packLines compresses lines.
func packLines(w io.Writer) *zstd.Encoder {
	z, _ := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20)) // the options are good
	return z
}

// unpackLines decompresses lines; what is no zstd is an error of the first Read.
func unpackLines(r io.Reader) *zstd.Decoder {
	z, _ := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow)) // the options are good
	return z
}

// What the peer has from nobody but the target comes back in its feed: then so many changes are asked for at once, and not more
// often than so. A change of somebody else's waits no longer than that.
const (
	echoRows = 10_000
	echoRest = 400 * time.Millisecond
)

// fastFeed reads all that there is as one long stream of lines; live, it then waits for changes, and reads on where they are news.
func (t *There) fastFeed(ctx context.Context, w wish, fn func(*batch) error) (err error) {
	if !w.live || len(w.since) == 0 {
		if w.since, err = t.lines(ctx, w.since, fn); err != nil || !w.live {
			return err
		}
	}
	w.waits = true
	for limit := feedRows; ; {
		b, rows, err := t.changes(ctx, w, limit)
		if err != nil {
			return err
		}
		missing, err := w.lacked(ctx, b.offers)
		switch {
		case err != nil:
			return err
		case rows > 0 && len(missing)+len(b.left)+len(b.denied) == 0:
			limit, w.since = echoRows, b.upto
			if err = fn(b); err == nil {
				err = rest(ctx, echoRest)
			}
		default:
			limit = feedRows
			w.since, err = t.lines(ctx, w.since, fn)
		}
		if err != nil {
			return err
		}
	}
}

// lines reads the lines after a place and answers how far they go.
func (t *There) lines(ctx context.Context, since sequence, fn func(*batch) error) (upto sequence, err error) {
	address := t.link.at("_feed")
	if text := sinceText(since); text != "" {
		address += "?" + url.Values{"since": {text}}.Encode()
	}
	resp, err := t.link.do(ctx, http.MethodGet, address, &payload{accept: "zstd"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it is read, or given up
	z := unpackLines(resp.Body)
	defer z.Close()
	g := newGathering(fn)
	f, err := readLines(newLines(z), func(l *line) error {
		if l.replica != nil {
			x := l.replica
			x.content = func(ctx context.Context, p *part, w io.Writer) error { return t.content(ctx, x, p, w) }
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
		g.batch.upto = f.Last
	}
	return f.Last, g.flush()
}

// fastWrite sends revisions as lines. Attachments are named alone; those that the peer lacks follow. A load takes little room once it
// is compressed, and is sent with its length: the connection ends with a body that has none.
func (t *There) fastWrite(ctx context.Context, replicas []*replica) ([]Denial, error) {
	var body bytes.Buffer // takes everything
	z := packLines(&body)
	var b []byte
	for _, x := range replicas {
		b = x.appendLine(b[:0], sequence("0"))
		_, _ = z.Write(b)
	}
	_, _ = z.Write(appendJSON(nil, foot{Last: sequence("0"), Count: len(replicas)}))
	_ = z.Close()
	return t.denials(ctx, t.link.at("_feed"), &payload{media: linesMedia, packing: "zstd", read: &body, size: int64(body.Len())})
}
