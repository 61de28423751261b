package sync

import (
	"bytes"
	"context"
	"slices"

	"doorward/kv"
	"doorward/kv/rev"
)

// fetching gathers the revisions of batches into loads.
type fetching struct {
	ctx   context.Context
	loads chan<- *load
	load  *load
	held  map[string]kv.MissingRevs // of the batch that is being read
}

// take adds a revision that was read; a load that is full goes to be written.
func (f *fetching) take(x *replica) error {
	x.held = f.held[x.id].PossibleAncestors
	f.load.replicas = append(f.load.replicas, x)
	f.load.bytes += x.size()
	if !f.load.full() {
		return nil
	}
	full := f.load
	f.load = &load{}
	return send(f.ctx, f.loads, full)
}

// rest hands on what whole batches have brought, before the stage ends.
func (f *fetching) rest() error {
	if f.load.upto == nil {
		return nil
	}
	return send(f.ctx, f.loads, f.load)
}

// settle waits until all that was read is written: a document of it may be one that has left the source since.
func (f *fetching) settle() error {
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

// filter takes those of the carried revisions that the target lacks.
func (f *fetching) filter(carried []*replica) error {
	for _, x := range carried {
		if !slices.Contains(f.held[x.id].Missing, x.rev()) {
			continue
		}
		if err := f.take(x); err != nil {
			return err
		}
	}
	return nil
}

// checked counts what was offered and what of it is missing.
func (r *replication) checked(b *batch, missing []kv.MissingRevs) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range b.offers {
		r.run.Checked += len(o.Revisions)
	}
	for _, m := range missing {
		r.run.Found += len(m.Missing)
	}
	r.deny(b.denied)
}

// wrote counts what was written.
func (r *replication) wrote(l *load, denied []Denial) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.Read += len(l.replicas)
	r.run.Written += len(l.replicas) - len(denied)
	r.deny(denied)
}

// deny counts and names what was refused. Nobody waits for it.
func (r *replication) deny(denied []Denial) {
	r.run.Failures += len(denied)
	for _, d := range denied {
		if isFact(d.ID) {
			r.out.RefusedFacts++
		}
		if !d.Kept {
			r.out.Unkept++
		}
	}
	r.out.Denied = append(r.out.Denied, denied[:min(len(denied), keptDenied-len(r.out.Denied))]...)
	for _, d := range denied {
		r.Logger.Warn("a document was refused", "error", d.Error)
	}
}

// reach notes a place at both ends.
func (r *replication) reach(ctx context.Context, upto sequence) error {
	r.mu.Lock()
	again := bytes.Equal(r.run.Recorded, upto)
	run := r.run
	run.Ended, run.To, run.Recorded = stamp(r.Clock()), upto, upto
	r.mu.Unlock()
	if again {
		return nil
	}
	if err := r.keep(ctx, run); err != nil {
		return err
	}
	r.mu.Lock()
	r.run.Ended, r.run.To, r.run.Recorded = run.Ended, upto, upto
	r.mu.Unlock()
	r.tell()
	return nil
}

// tell tells whoever asks how far the job has come.
func (r *replication) tell() {
	if r.Progress != nil {
		r.Progress(r.outcome())
	}
}

// outcome is what has been done so far.
func (r *replication) outcome() Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	run := r.run
	if run.Ended == "" {
		run.Ended = stamp(r.Clock())
	}
	if run.To == nil {
		run.To = run.Recorded
	}
	return Outcome{
		NoChanges: run.Checked == 0, Session: run.Session, Last: run.Recorded, Version: checkpointVersion,
		History: []Run{run}, Denied: slices.Clone(r.out.Denied), RefusedFacts: r.out.RefusedFacts, Unkept: r.out.Unkept,
	}
}

// offer is a document's revisions of a feed; those that are none of ours are denied.
func (b *batch) offer(id string, revs []string) {
	o := kv.Revs{ID: id}
	for _, text := range revs {
		if rev, ok := rev.ParseFree(text); ok && text != "" {
			o.Revisions = append(o.Revisions, rev)
		} else {
			b.denied = append(b.denied, Denial{ID: id, Rev: text, Error: "forbidden", Reason: "not a revision"})
		}
	}
	if len(o.Revisions) > 0 {
		b.offers = append(b.offers, o)
	}
}
