package sync

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/klauspost/compress/zstd"
)

// By fastHeader our own nodes know each other: who sends it to a database and has it sent back may use _feed.
const (
	fastHeader  = "Doorward-Feed"
	fastVersion = "1"
	realmHeader = "Doorward-Realm"
	nodeHeader  = "Doorward-Node"
	epochHeader = "Doorward-Epoch"
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

// fastFeed reads all that there is as one long stream of lines; live, it then waits for a change and reads on.
func (t *There) fastFeed(ctx context.Context, w wish, fn func(*batch) error) error {
	for {
		upto, err := t.lines(ctx, w.since, fn)
		if err != nil || !w.live {
			return err
		}
		w.since = upto
		if _, _, err := t.changes(ctx, w, true); err != nil {
			return err
		}
	}
}

// lines reads the lines after a place and answers how far they go.
func (t *There) lines(ctx context.Context, since sequence, fn func(*batch) error) (upto sequence, err error) {
	address := t.at("_feed")
	if text := sinceText(since); text != "" {
		address += "?" + url.Values{"since": {text}}.Encode()
	}
	resp, err := t.do(ctx, http.MethodGet, address, &payload{accept: "zstd"})
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

// fastWrite sends revisions as lines. Attachments are named alone; those that the peer lacks follow.
func (t *There) fastWrite(ctx context.Context, replicas []*replica) ([]Denial, error) {
	r, w := io.Pipe()
	go func() {
		z := packLines(w)
		var b []byte
		var err error
		for i := 0; i < len(replicas) && err == nil; i++ {
			b = replicas[i].appendLine(b[:0], sequence("0"))
			_, err = z.Write(b)
		}
		if err == nil {
			_, err = z.Write(appendJSON(nil, foot{Last: sequence("0"), Count: len(replicas)}))
		}
		if e := z.Close(); err == nil {
			err = e
		}
		_ = w.CloseWithError(err) // never fails
	}()
	denied, err := t.denials(ctx, t.at("_feed"), &payload{media: linesMedia, packing: "zstd", read: r})
	_ = r.Close() // never fails; it ends the writer
	return denied, err
}
