package replicate

import (
	"context"
	"slices"

	"doorward/kv/docs"
	"doorward/sync/transit"
)

// load is some revisions to write in one request, and the place that is reached then.
type load struct {
	revisions []*transit.Revision
	bytes     int
	upto      transit.Sequence // nil: more of the same batch follows
	stored    chan struct{}    // closed when this load and those before it are written; nil = no one waits
}

func (l *load) full() bool { return len(l.revisions) >= loadRows || l.bytes >= loadBytes }

// loader collects revisions of batches into loads.
type loader struct {
	ctx   context.Context
	loads chan<- *load
	load  *load
	held  map[string]docs.MissingRevs // what the target lacks of the present batch
}

// How much is in memory at once: loads of so many revisions and about so many bytes. One is written, one waits, one is filled.
const (
	loadRows   = 16_000
	loadBytes  = 8 << 20
	keptDenied = 1000 // refused revisions that an outcome names
)

// add adds a revision. A full load goes to be written.
func (f *loader) add(x *transit.Revision) error {
	x.Held = f.held[x.ID].PossibleAncestors
	f.load.revisions = append(f.load.revisions, x)
	f.load.bytes += x.Size()
	if !f.load.full() {
		return nil
	}
	full := f.load
	f.load = &load{}
	return send(f.ctx, f.loads, full)
}

// flush sends the last load if it ends with a complete batch.
func (f *loader) flush() error {
	if f.load.upto == nil {
		return nil
	}
	return send(f.ctx, f.loads, f.load)
}

// flushAndWait waits until all that was read is written. A document that leaves the source may be among it.
func (f *loader) flushAndWait() error {
	f.load.stored = make(chan struct{})
	stored := f.load.stored
	if err := send(f.ctx, f.loads, f.load); err != nil {
		return err
	}
	f.load = &load{}
	select {
	case <-stored:
		return nil
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
}

// addMissing adds those of the carried revisions that the target lacks.
func (f *loader) addMissing(carried []*transit.Revision) error {
	for _, x := range carried {
		if !slices.Contains(f.held[x.ID].Missing, x.Rev()) {
			continue
		}
		if err := f.add(x); err != nil {
			return err
		}
	}
	return nil
}
