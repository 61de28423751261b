package replicate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"doorward/kv/disk"
	"doorward/kv/docs"
	"doorward/kv/engine"
	"doorward/sync/dial"
	"doorward/sync/transit"
)

// Job is one replication: it copies what the source has and the target lacks. Only Source and Target are needed.
type Job struct {
	Source   Peer
	Target   Peer
	Live     bool            // goes on with what comes later, until its context ends
	IDs      []string        // only these documents; nil = all
	Selector json.RawMessage // only documents that pass; nil = all
	Since    json.RawMessage // where to begin if no checkpoint says; nil = at the beginning
	Tries    int             // in a row without progress, before the job gives up; 0 = 6, or without end if live
	Pause    time.Duration   // before the second try, doubled before each further one; 0 = half a second
	Note     time.Duration   // how long a checkpoint may lie behind what is stored; 0 = a second
	Logger   *slog.Logger    // nil = silent
	Clock    func() time.Time
	On       Hooks
}

// Hooks are what a job calls besides copying, and what it remembers. Each may be nil.
type Hooks struct {
	Progress func(Outcome)    // when something has been copied
	Waits    func(error) bool // tells an error that ends the job never, however often it comes
	// Left is called with documents that have left the source and live on elsewhere, before the checkpoint passes them.
	Left func(ctx context.Context, ids []string) error
	// Refused is called with what the target has refused, before the checkpoint passes it.
	Refused func(ctx context.Context, denied []Denial) error
	Gave    *Echo // remembers what the source gives
	Skip    *Echo // what the target has just given: it is not asked about that
}

// replication is a job that runs.
type replication struct {
	*Job
	id          string     // of its checkpoints; "" = a peer keeps none
	sourceNotes Checkpoint // at both peers
	targetNotes Checkpoint
	mu          sync.Mutex // guards run and out
	run         HistoryEntry
	out         Outcome
}

// Run carries out a job. It says what was done, also with an error. A job that was cut off anywhere can run again: it goes on at the
// checkpoint, and copies nothing twice but what came after it.
func Run(ctx context.Context, j Job) (Outcome, error) {
	j.defaults()
	r := &replication{Job: &j, run: HistoryEntry{Session: rand.Text(), Began: stamp(j.Clock())}}
	err := r.retry(ctx)
	out := r.outcome()
	out.OK = err == nil
	return out, err
}

func (j *Job) defaults() {
	if j.Tries == 0 && !j.Live {
		j.Tries = 6
	}
	j.Pause, j.Note = cmp.Or(j.Pause, time.Second/2), cmp.Or(j.Note, time.Second)
	j.Logger = cmp.Or(j.Logger, slog.New(slog.DiscardHandler))
	if j.Clock == nil {
		j.Clock = time.Now
	}
}

// pass copies until the source has no more or a stage fails. Three stages run side by side: the feed, what the target lacks of it,
// writing. All have ended when pass returns. What a failed stage has passed on is still written, and the checkpoint is saved.
func (r *replication) pass(ctx context.Context) error {
	since, err := r.begin(ctx)
	if err != nil {
		return err
	}
	reading, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	batches, loads := make(chan *Batch, 1), make(chan *load, 1)
	var stages sync.WaitGroup
	var broke, unread, unwritten error
	stages.Go(func() {
		defer close(batches)
		w := Wish{Since: since, Live: r.Live, IDs: r.IDs, Selector: r.Selector, Records: holdsRecords(reading, r.Target), Lacked: r.Target.Missing}
		broke = r.Source.Feed(reading, w, func(b *Batch) error { return send(reading, batches, b) })
	})
	stages.Go(func() {
		defer close(loads)
		if unread = r.fetch(reading, batches, loads); unread != nil {
			fail(unread)
		}
	})
	stages.Go(func() {
		if unwritten = r.store(ctx, loads); unwritten != nil {
			fail(unwritten)
		}
	})
	stages.Wait()
	for _, err := range []error{unwritten, unread, broke} {
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// send gives a value to the next stage.
func send[T any](ctx context.Context, to chan<- T, v T) error {
	select {
	case to <- v:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin finds where a pass begins: at the common checkpoint, or where the last pass came to if the peers keep none.
func (r *replication) begin(ctx context.Context) (since transit.Sequence, err error) {
	if since, err = r.open(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if since == nil && r.id == "" {
		since = r.run.Recorded
	}
	if since == nil {
		since = r.Since
	}
	if r.run.Recorded == nil {
		r.run.From, r.run.Recorded = since, since
	}
	return since, nil
}

// fetch asks the target what it lacks of each batch, and reads that. While a load waits to be written, the next batches join it: small
// batches make few large loads.
func (r *replication) fetch(ctx context.Context, batches <-chan *Batch, loads chan<- *load) error {
	f := &loader{ctx: ctx, loads: loads, load: &load{}}
	for {
		in, out := batches, loads
		if f.load.upto == nil {
			out = nil // nothing is complete yet
		}
		if f.load.full() || out != nil && len(loads) == 0 {
			in = nil
		}
		select {
		case b, more := <-in:
			if !more {
				return f.flush()
			}
			if err := r.readMissing(f, b); err != nil {
				_ = f.flush() // the first error is the one to tell
				return err
			}
		case out <- f.load:
			f.load = &load{}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// readMissing reads what the target lacks of a batch. The target is always asked, except for revisions that it has just given itself.
func (r *replication) readMissing(f *loader, b *Batch) error {
	if r.On.Left != nil && len(b.Left) > 0 {
		if err := f.flushAndWait(); err != nil {
			return err
		}
		if err := r.On.Left(f.ctx, b.Left); err != nil {
			return err
		}
	}
	var missing []docs.MissingRevs
	if offers := r.On.Skip.Unknown(b.Offers); len(offers) > 0 {
		var err error
		if missing, err = r.Target.Missing(f.ctx, offers); err != nil {
			return err
		}
	}
	r.countChecked(b, missing)
	r.On.Gave.note(missing) // before they are written, because the log offers them then
	f.held = map[string]docs.MissingRevs{}
	for _, m := range missing {
		f.held[m.ID] = m
	}
	var err error
	if b.Carried {
		err = f.addMissing(b.Revisions)
	} else if len(missing) > 0 {
		err = r.Source.Read(f.ctx, missing, f.add)
	}
	if err == nil {
		f.load.upto = b.Upto
	}
	return err
}

// store writes load after load. A checkpoint is saved once all before it is written: the first of a live job at once, later ones at most
// every Note.
func (r *replication) store(ctx context.Context, loads <-chan *load) error {
	var upto transit.Sequence
	var due <-chan time.Time // nil: the checkpoint is up to date
	var noted time.Time
	if !r.Live {
		noted = time.Now()
	}
	for {
		select {
		case l, more := <-loads:
			if !more {
				return r.saveCheckpoint(ctx, upto)
			}
			if err := r.write(ctx, l); err != nil {
				_ = r.saveCheckpoint(ctx, upto) // the first error is the one to tell
				return err
			}
			if l.stored != nil {
				close(l.stored)
			}
			if l.upto != nil {
				upto = l.upto
			}
			if due == nil && upto != nil {
				due = time.After(time.Until(noted.Add(r.Note)))
			}
		case <-due:
			if err := r.saveCheckpoint(ctx, upto); err != nil {
				return err
			}
			due, noted = nil, time.Now()
		}
	}
}

// write writes a load.
func (r *replication) write(ctx context.Context, l *load) error {
	if len(l.revisions) == 0 {
		return nil
	}
	denied, err := r.Target.Write(ctx, l.revisions)
	if err != nil {
		return err
	}
	r.countWritten(l, denied)
	r.reportProgress()
	if r.On.Refused != nil && len(denied) > 0 {
		return r.On.Refused(ctx, denied)
	}
	return nil
}

// isTransient tells whether the job may succeed later: the peer or this store is busy, or out of reach.
func isTransient(err error) bool {
	return dial.Transient(err) || errors.Is(err, engine.ErrBusy) || errors.Is(err, disk.ErrFull)
}

// LongestWaited is the longest pause of a job that waits for Hooks.Waits.
const LongestWaited = 15 * time.Second

// retry runs passes until one has copied all. After an error that may pass it waits and runs another. The wait grows while there is no
// progress.
func (r *replication) retry(ctx context.Context) error {
	var at transit.Sequence
	for failed := 0; ; failed++ {
		err := r.pass(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil || !isTransient(err) {
			return err
		}
		if came := r.outcome().Last; string(came) != string(at) {
			at, failed = came, 0
		}
		wait := dial.Pause(r.Pause, failed, err)
		switch {
		case r.On.Waits != nil && r.On.Waits(err):
			wait = min(wait, LongestWaited)
		case r.Tries > 0 && failed+1 >= r.Tries:
			return err
		}
		r.Logger.Warn("replication is tried again", "after", wait, "error", err)
		if err := dial.Rest(ctx, wait); err != nil {
			return err
		}
	}
}

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
		r.Logger.Warn("a document was refused", "error", d.Error)
	}
	r.out.Denied = append(r.out.Denied, denied[:min(len(denied), keptDenied-len(r.out.Denied))]...)
}

// saveCheckpoint saves a place at both peers. No place was reached if it is nil.
func (r *replication) saveCheckpoint(ctx context.Context, upto transit.Sequence) error {
	r.mu.Lock()
	saved := upto == nil || bytes.Equal(r.run.Recorded, upto)
	run := r.run
	run.Ended, run.To, run.Recorded = stamp(r.Clock()), upto, upto
	r.mu.Unlock()
	if saved {
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
