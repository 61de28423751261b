package sync

import "doorward/kv"

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

// gathering makes batches of lines.
type gathering struct {
	batch    *batch
	bytes    int
	anywhere bool // the lines are no use but all together: a batch may end between any two
	fn       func(*batch) error
}

func newGathering(fn func(*batch) error) *gathering {
	return &gathering{batch: &batch{carried: true}, fn: fn}
}

// add adds a line; before one of another change a batch that is full goes on.
func (g *gathering) add(l *line) error {
	b := g.batch
	full := len(b.replicas) >= carriedRows || g.bytes >= carriedBytes
	if full && (g.anywhere || l.mark != nil) {
		if err := g.flush(); err != nil {
			return err
		}
		b = g.batch
	}
	switch {
	case l.mark != nil:
		return nil
	case len(b.replicas) >= unmarkedRows, g.bytes >= unmarkedBytes:
		return errUnmarked
	}
	b.upto = l.seq
	if l.removed != "" {
		b.left = append(b.left, l.removed)
	}
	x := l.replica
	if x == nil {
		return nil
	}
	if n := len(b.offers); n > 0 && b.offers[n-1].ID == x.id {
		b.offers[n-1].Revisions = append(b.offers[n-1].Revisions, x.rev())
	} else {
		b.offers = append(b.offers, kv.Revs{ID: x.id, Revisions: x.path[:1:1]})
	}
	b.replicas = append(b.replicas, x)
	g.bytes += x.size()
	return nil
}

// flush lets go of what there is.
func (g *gathering) flush() error {
	b := g.batch
	g.batch, g.bytes = &batch{carried: true}, 0
	if b.upto == nil {
		return nil
	}
	return g.fn(b)
}
