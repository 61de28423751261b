package replicate

import (
	"errors"
	"io"

	"doorward/kv/merge"
	"doorward/sync/dial"
	"doorward/sync/line"
)

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
func readLines(s *line.Reader, fn func(*line.Line) error) (last line.Foot, err error) {
	var ours error
	last, err = s.Each(func(l *line.Line) error {
		ours = fn(l)
		return ours
	})
	var wrong *line.Error
	if err == nil || ours != nil || errors.As(err, &wrong) {
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
