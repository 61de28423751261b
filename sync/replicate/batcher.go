package replicate

import (
	"errors"

	"doorward/kv"
	"doorward/sync/dial"
	"doorward/sync/line"
)

// Lines of one change follow one another; a batch ends between two changes, where a mark says that it is whole.
const (
	carriedRows  = 4000
	carriedBytes = 4 << 20
)

// How much is held until a mark comes; a batch of ours is less.
const (
	unmarkedRows  = 16 * carriedRows
	unmarkedBytes = 16 * carriedBytes
)

// Batcher makes batches of lines.
type Batcher struct {
	batch       *Batch
	bytes       int
	CutAnywhere bool // the lines are no use but all together: a batch may end between any two
	fn          func(*Batch) error
}

func NewBatcher(fn func(*Batch) error) *Batcher {
	return &Batcher{batch: &Batch{carried: true}, fn: fn}
}

// Add adds a line; before one of another change a batch that is full goes on.
func (g *Batcher) Add(l *line.Line) error {
	b := g.batch
	full := len(b.Replicas) >= carriedRows || g.bytes >= carriedBytes
	if full && (g.CutAnywhere || l.Mark != nil) {
		if err := g.Flush(); err != nil {
			return err
		}
		b = g.batch
	}
	switch {
	case l.Mark != nil:
		return nil
	case len(b.Replicas) >= unmarkedRows, g.bytes >= unmarkedBytes:
		return line.ErrUnmarked
	}
	b.Upto = l.Seq
	if l.Removed != "" {
		b.Left = append(b.Left, l.Removed)
	}
	x := l.Replica
	if x == nil {
		return nil
	}
	if n := len(b.offers); n > 0 && b.offers[n-1].ID == x.Id {
		b.offers[n-1].Revisions = append(b.offers[n-1].Revisions, x.Rev())
	} else {
		b.offers = append(b.offers, kv.Revs{ID: x.Id, Revisions: x.Path[:1:1]})
	}
	b.Replicas = append(b.Replicas, x)
	g.bytes += x.Size()
	return nil
}

// Flush lets go of what there is.
func (g *Batcher) Flush() error {
	b := g.batch
	g.batch, g.bytes = &Batch{carried: true}, 0
	if b.Upto == nil {
		return nil
	}
	return g.fn(b)
}

// readLines is each for lines of a source: errCut where they break off.
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
