package replicate

import (
	"bytes"
	"context"
	"slices"

	"doorward/kv"
	"doorward/kv/record"
	"doorward/sync/line"
)

// loader gathers the revisions of batches into loads.
type loader struct {
	ctx   context.Context
	loads chan<- *load
	load  *load
	held  map[string]kv.MissingRevs // of the batch that is being read
}

// add adds a revision that was read; a load that is full goes to be written.
func (f *loader) add(x *line.Revision) error {
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

// flush hands on what whole batches have brought, before the stage ends.
func (f *loader) flush() error {
	if f.load.upto == nil {
		return nil
	}
	return send(f.ctx, f.loads, f.load)
}

// flushAndWait waits until all that was read is written: a document of it may be one that has left the source since.
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

// addMissing takes those of the carried revisions that the target lacks.
func (f *loader) addMissing(carried []*line.Revision) error {
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

// countChecked counts what was offered and what of it is missing.
func (r *replication) countChecked(b *Batch, missing []kv.MissingRevs) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range b.Offers {
		r.run.Checked += len(o.Revisions)
	}
	for _, m := range missing {
		r.run.Found += len(m.Missing)
	}
	r.countDenied(b.Denied)
}

// countWritten counts what was written.
func (r *replication) countWritten(l *load, denied []Denial) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.Read += len(l.revisions)
	r.run.Written += len(l.revisions) - len(denied)
	r.countDenied(denied)
}

// countDenied counts and names what was refused. Nobody waits for it.
func (r *replication) countDenied(denied []Denial) {
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

// saveCheckpoint notes a place at both ends.
func (r *replication) saveCheckpoint(ctx context.Context, upto line.Sequence) error {
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
	r.reportProgress()
	return nil
}

// reportProgress tells whoever asks how far the job has come.
func (r *replication) reportProgress() {
	if r.On.Progress != nil {
		r.On.Progress(r.outcome())
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
		History: []HistoryEntry{run}, Denied: slices.Clone(r.out.Denied), RefusedFacts: r.out.RefusedFacts, Unkept: r.out.Unkept,
	}
}

// offer is a document's revisions of a feed; those that are none of ours are denied.
func (b *Batch) offer(id string, revs []string) {
	o := kv.Revs{ID: id}
	for _, text := range revs {
		if rev, ok := record.ParseFreeRevision(text); ok && text != "" {
			o.Revisions = append(o.Revisions, rev)
		} else {
			b.Denied = append(b.Denied, Denial{ID: id, Rev: text, Error: "forbidden", Reason: "not a revision"})
		}
	}
	if len(o.Revisions) > 0 {
		b.Offers = append(b.Offers, o)
	}
}
