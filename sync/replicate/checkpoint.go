package replicate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"doorward/sync/dial"
	"doorward/sync/transit"
)

// Checkpoint says how far a replication has come. Both peers keep one, in CouchDB's form.
type Checkpoint struct {
	Session string           `json:"session_id"`
	Last    transit.Sequence `json:"source_last_seq"`
	Version int              `json:"replication_id_version"`
	History []HistoryEntry   `json:"history"`
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
	checkpointVersion = 4  // of the way in which ReplicationID names a replication
	keptRuns          = 50 // of which a checkpoint tells
)

// ReplicationID names a replication. The same peers with the same filter go on at the same checkpoint.
func ReplicationID(source, target string, j *Job) string {
	b, _ := json.Marshal([]any{source, target, slices.Sorted(slices.Values(j.IDs)), j.Selector}) // these can be marshalled
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// commonPlace returns the latest place that both checkpoints have; nil is the beginning.
func commonPlace(a, b Checkpoint) transit.Sequence {
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
			return other.Recorded // one peer saved less of the run, or was restored from a backup
		}
		return run.Recorded
	}
	return nil
}

// addRun adds a run, in the place of an earlier state of it.
func (c *Checkpoint) addRun(run HistoryEntry) {
	c.Session, c.Last, c.Version = run.Session, run.Recorded, checkpointVersion
	if len(c.History) > 0 && c.History[0].Session == run.Session {
		c.History[0] = run
		return
	}
	c.History = append([]HistoryEntry{run}, c.History...)
	c.History = c.History[:min(len(c.History), keptRuns)]
}

// stamp is a time as CouchDB's histories have it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC1123) }

// open reads both checkpoints and returns where to begin. If a peer keeps none, there is no common place. It returns ErrRealm if records
// would go to another realm.
func (r *replication) open(ctx context.Context) (since transit.Sequence, err error) {
	source, err := r.Source.Identify(ctx)
	if err != nil {
		return nil, err
	}
	target, err := r.Target.Identify(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkRealm(source, target); err != nil || source.ID == "" || target.ID == "" {
		return nil, err
	}
	r.id = ReplicationID(source.ID, target.ID, r.Job)
	if r.targetNotes, err = r.Target.Checkpoint(ctx, r.id); err != nil {
		return nil, err
	}
	if r.sourceNotes, err = r.Source.Checkpoint(ctx, r.id); err != nil {
		return nil, err
	}
	return commonPlace(r.sourceNotes, r.targetNotes), nil
}

// keep saves at both peers how far a run has come. A source that may only be read saves none: then the next run begins at the beginning,
// and asks for what the target has already.
func (r *replication) keep(ctx context.Context, run HistoryEntry) error {
	if r.id == "" {
		return nil
	}
	r.targetNotes.addRun(run)
	if err := r.Target.Keep(ctx, r.id, r.targetNotes); err != nil {
		return err
	}
	r.sourceNotes.addRun(run)
	err := r.Source.Keep(ctx, r.id, r.sourceNotes)
	if dial.Is(err, http.StatusUnauthorized, http.StatusForbidden) {
		return nil
	}
	return err
}
