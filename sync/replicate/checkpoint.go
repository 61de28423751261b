package replicate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"doorward/sync/dial"
	"doorward/sync/line"
)

// Checkpoint is what both ends keep of a replication, in the form that CouchDB gives it.
type Checkpoint struct {
	Session string         `json:"session_id"`
	Last    line.Sequence  `json:"source_last_seq"`
	Version int            `json:"replication_id_version"`
	History []HistoryEntry `json:"history"`
}

// HistoryEntry is one run of a replication.
type HistoryEntry struct {
	Session  string          `json:"session_id"`
	Began    string          `json:"start_time"`
	Ended    string          `json:"end_time"`
	From     json.RawMessage `json:"start_last_seq"`
	To       json.RawMessage `json:"end_last_seq"`
	Recorded json.RawMessage `json:"recorded_seq"`
	Checked  int             `json:"missing_checked"`
	Found    int             `json:"missing_found"`
	Read     int             `json:"docs_read"`
	Written  int             `json:"docs_written"`
	Failures int             `json:"doc_write_failures"`
}

const (
	checkpointVersion = 4  // of how replicationID names a replication
	keptRuns          = 50 // in a checkpoint
)

// ReplicationID names a replication: the same two ends with the same wishes go on where they were.
func ReplicationID(source, target string, j *Job) string {
	b, _ := json.Marshal([]any{source, target, slices.Sorted(slices.Values(j.IDs)), j.Selector}) // it can be
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// commonPlace is where both ends say that the last run came to: the latest place that both have written down. nil is the beginning.
func commonPlace(a, b Checkpoint) line.Sequence {
	if a.Session == "" || b.Session == "" {
		return nil
	}
	if a.Session == b.Session && bytes.Equal(a.Last, b.Last) {
		return a.Last
	}
	for _, run := range a.History {
		i := slices.IndexFunc(b.History, func(r HistoryEntry) bool { return r.Session == run.Session })
		if i < 0 {
			continue
		}
		if other := b.History[i]; other.Checked < run.Checked {
			return other.Recorded // one end noted less of the run, or has been put back to an earlier day
		}
		return run.Recorded
	}
	return nil
}

// addRun adds what a run has come to, in place of what was noted of it before.
func (c *Checkpoint) addRun(run HistoryEntry) {
	c.Session, c.Last, c.Version = run.Session, run.Recorded, checkpointVersion
	if len(c.History) > 0 && c.History[0].Session == run.Session {
		c.History[0] = run
		return
	}
	c.History = append([]HistoryEntry{run}, c.History...)
	c.History = c.History[:min(len(c.History), keptRuns)]
}

// stamp is a moment as CouchDB's histories have it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC1123) }

// checkpoints are both ends' notes of one replication.
type checkpoints struct {
	source, target Peer
	id             string
	sourceNotes    Checkpoint
	targetNotes    Checkpoint
}

// open reads what both ends have noted and answers where to begin. An end that keeps nothing has no say, and then there is no
// common place.
func (l *checkpoints) open(ctx context.Context, j *Job) (since line.Sequence, err error) {
	source, err := l.source.Identify(ctx)
	if err != nil {
		return nil, err
	}
	target, err := l.target.Identify(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkRealm(source, target); err != nil || source.ID == "" || target.ID == "" {
		return nil, err
	}
	l.id = ReplicationID(source.ID, target.ID, j)
	if l.targetNotes, err = l.target.Checkpoint(ctx, l.id); err != nil {
		return nil, err
	}
	if l.sourceNotes, err = l.source.Checkpoint(ctx, l.id); err != nil {
		return nil, err
	}
	return commonPlace(l.sourceNotes, l.targetNotes), nil
}

// keep notes at both ends how far a run has come. A source that may only be read keeps none: then the next run begins anew, and
// asks for what is there already.
func (l *checkpoints) keep(ctx context.Context, run HistoryEntry) error {
	if l.id == "" {
		return nil
	}
	l.targetNotes.addRun(run)
	if err := l.target.Keep(ctx, l.id, l.targetNotes); err != nil {
		return err
	}
	l.sourceNotes.addRun(run)
	err := l.source.Keep(ctx, l.id, l.sourceNotes)
	var r *dial.Refusal
	if errors.As(err, &r) && (r.Status == 401 || r.Status == 403) {
		return nil
	}
	return err
}
