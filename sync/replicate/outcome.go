package replicate

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"doorward/kv/docs"
	"doorward/sync/transit"
)

// Outcome is the result of a replication, in CouchDB's form.
type Outcome struct {
	OK        bool            `json:"ok"`
	NoChanges bool            `json:"no_changes,omitempty"`
	Session   string          `json:"session_id"`
	Last      json.RawMessage `json:"source_last_seq"`
	Version   int             `json:"replication_id_version"`
	History   []HistoryEntry  `json:"history"` // this run alone
	Denied    []Denial        `json:"denied,omitempty"`
	// RefusedFacts counts all refused facts. Denied names only the first refusals.
	RefusedFacts int `json:"-"`
	Unkept       int `json:"-"` // refused, and not kept for the target's staff
}

// countChecked counts what was offered, what of it is missing, and what has left: two checkpoints of one run differ in the count if one of
// them is behind.
func (r *replication) countChecked(b *Batch, missing []docs.MissingRevs) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range b.Offers {
		r.run.Checked += len(o.Revisions)
	}
	r.run.Checked += len(b.Left)
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

// countDenied counts and names what was refused.
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

// saveCheckpoint saves a place at both peers.
func (r *replication) saveCheckpoint(ctx context.Context, upto transit.Sequence) error {
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

// reportProgress calls the hook.
func (r *replication) reportProgress() {
	if r.On.Progress != nil {
		r.On.Progress(r.outcome())
	}
}

// outcome returns what has been done so far.
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
