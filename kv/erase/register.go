package erase

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Register erases people, and finishes erasures that a crash or a full disk has interrupted. One erasure runs at a time.
type Register struct {
	Recall     *Recall                 // tells other stores of erasures, and carries out what they tell
	Interrupt  func(step string) error // a test's, which ends the erasure at a step; nil = none
	tables     *table.Set
	standing   table.Standing
	mu         sync.Mutex    // held while an erasure runs
	dir        string        // of the ledger; "" = none is kept
	done       atomic.Uint64 // how many erasures were finished since the start
	rekey      func()        // rings for the laptops that wait for keys: they are told of the erasure at once
	close      context.CancelFunc
	running    sync.WaitGroup
	unfinished atomic.Int64 // how many records the last attempt could not erase
}

// New makes the register of a store. It does nothing before Start.
func New(t *table.Set, standing table.Standing, rekey func()) *Register {
	rg := &Register{tables: t, standing: standing, rekey: rekey}
	rg.Recall = &Recall{rg}
	return rg
}

// Finished is how many erasures were finished since the start.
func (rg *Register) Finished() uint64 { return rg.done.Load() }

// Uncompacted is how many erased records may still have bytes in free pages of the store's file, and since when. Compacting
// removes the bytes.
func (rg *Register) Uncompacted() (n int, since time.Time, err error) {
	if !rg.tables.Recalls.Any.Load() {
		return 0, since, nil
	}
	err = rg.tables.View(func(v *table.View) error {
		passed, err := table.Compactions(v)
		if err != nil {
			return err
		}
		return v.Scan(table.ErasedBucket, nil, nil, func(key, row []byte) (bool, error) {
			e, err := table.ParseErased(key, row)
			if err != nil {
				return false, err
			}
			if e.IsCompacted(passed) {
				return true, nil
			}
			n++
			if at := time.UnixMicro(e.Done); e.Done != 0 && (since.IsZero() || at.Before(since)) {
				since = at
			}
			return true, nil
		})
	})
	return n, since, err
}

// The file is compacted after an erasure or a release: after compactSoon once the doors are quiet, and after compactLate whether
// they are quiet or not.
const (
	compactSoon = 12 * time.Hour
	compactLate = 23 * time.Hour
)

// WantsCompacting tells that it is time to compact the file.
func (rg *Register) WantsCompacting() (bool, error) {
	_, since, err := rg.Uncompacted()
	if err != nil {
		return false, err
	}
	released, err := releasedSince(rg.tables)
	if since.IsZero() || !released.IsZero() && released.Before(since) {
		since = released
	}
	if err != nil || since.IsZero() {
		return false, err
	}
	age := rg.tables.Clock.Now().Sub(since)
	ahead := age < -table.ClockSlack // the clock was wrong then, so the age is not known
	return ahead || age >= compactLate || age >= compactSoon && !rg.tables.Engine.DoorWithin(table.DoorsQuiet), nil
}

// releasedSince returns the time since which the file holds bytes of released records; zero = it holds none.
func releasedSince(t *table.Set) (since time.Time, err error) {
	err = t.View(func(v *table.View) error {
		n, err := table.ReleasedSince(v)
		if n != 0 {
			since = time.UnixMicro(n)
		}
		return err
	})
	return since, err
}

// Start finishes the erasures that a crash has interrupted, and erases again what a restored file still holds. The store serves
// requests only after that. Then Start waits for erasures that other stores tell of. A record that cannot be erased now is redacted until it is.
func (rg *Register) Start(c table.Config) error {
	rg.close = func() {}
	if c.Aside {
		return nil
	}
	if !c.Restored { // a restored file lies in a temporary folder, which has no ledger
		rg.dir = c.Dir
	}
	told := rg.tables.Recalls.Told.Load() // before FindPending, which misses what is told of later
	found, err := rg.FindPending()
	if err != nil {
		return fmt.Errorf("find out what was to be erased: %w", err)
	}
	if c.ReadOnly {
		rg.unfinished.Store(int64(len(found.pending)))
		return nil // replies redact these records
	}
	rg.FinishPending(found)
	ctx, cancel := context.WithCancel(context.Background())
	rg.close = cancel
	rg.running.Go(func() { rg.follow(ctx, told) })
	return nil
}

// Close ends the goroutine that Start has started, and waits for it.
func (rg *Register) Close() {
	if rg.close != nil {
		rg.close()
	}
	rg.running.Wait()
}

// A failed erasure is tried again after retrySoon, then after twice as long each time, up to retryLate.
const (
	retrySoon = time.Minute
	retryLate = time.Hour
)

// follow carries out the erasures that other stores tell of, and tries failed ones again, until the store takes no more writes. done is how
// many times it was told of those that are carried out.
func (rg *Register) follow(ctx context.Context, done uint64) {
	patience := retrySoon
	for rg.tables.Engine.Figures().Stopped == nil {
		turn, cancel := ctx, context.CancelFunc(func() {})
		failed := rg.Unfinished() > 0
		if failed {
			turn, cancel = context.WithTimeout(ctx, patience)
		}
		_ = rg.tables.Recalls.Come.Await(turn, func() bool { return rg.tables.Recalls.Told.Load() != done || !failed && rg.Unfinished() > 0 })
		cancel()
		switch {
		case ctx.Err() != nil:
			if rg.tables.Recalls.Told.Load() != done { // a command that only copies ends here, and nothing would run later
				rg.ErasePending()
			}
			return
		case !failed && rg.tables.Recalls.Told.Load() == done:
			continue // an erasure by a request has failed just now
		case failed:
			patience = min(2*patience, retryLate)
		}
		done = rg.tables.Recalls.Told.Load()
		if rg.ErasePending() {
			patience = retrySoon
		}
	}
}

// ErasePending carries out the erasures that are pending. finished is false if some are left.
func (rg *Register) ErasePending() (finished bool) {
	found, err := rg.FindPending()
	if err != nil {
		rg.logFailed(1, err)
		return false
	}
	return rg.FinishPending(found)
}

// redactTold redacts the records that a laptop has told of. They are erased later.
func (rg *Register) redactTold(n int) {
	found, err := rg.FindPending()
	if err != nil {
		rg.logFailed(n, err)
		return
	}
	rg.unfinished.Store(int64(len(found.pending)))
	rg.tables.Recalls.Come.Ring()
}

// logFailed logs that n records could not be erased, and has them tried again.
func (rg *Register) logFailed(n int, cause error) {
	rg.unfinished.Store(int64(max(1, n)))
	rg.tables.Recalls.Come.Ring()
	rg.tables.Log.Error("an erasure could not be finished; it is tried again", slog.Any("cause", cause))
}

// newEraser returns an eraser with nothing to erase yet, and the lines of the ledger.
func (rg *Register) newEraser() (*eraser, []ledger.LedgerLine, error) {
	led, lines, err := ledger.ReadLedger(rg.dir, rg.tables.Identity.Realm(), rg.tables.Log)
	return &eraser{register: rg, Ledger: led, all: map[*record.Kind][]record.ID{}, tickets: map[record.ID]bool{}}, lines, err
}

// pendingWork is the erasures that are noted and not finished.
type pendingWork struct {
	*eraser
	pending, absent []ledger.LedgerLine // absent: the record is not here
	all             []ledger.LedgerLine // all that the store knows of, finished or not
}

// FindPending finds the erasures that the ledger or the store has noted and that are not finished. Replies redact these records
// from now on.
func (rg *Register) FindPending() (b pendingWork, err error) {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	return rg.redactPending()
}

// redactPending is FindPending with the lock held.
func (rg *Register) redactPending() (b pendingWork, err error) {
	var lines []ledger.LedgerLine
	if b.eraser, lines, err = rg.newEraser(); err != nil {
		return b, err
	}
	if b.pending, b.all, err = rg.pendingLines(lines); err != nil {
		return b, err
	}
	rg.tables.Recalls.Any.Store(len(b.all)+len(b.pending) > 0)
	if len(b.pending) == 0 {
		return b, nil
	}
	if b.absent, err = b.identify(b.pending); err != nil {
		return b, err
	}
	rg.redact(b.eraser)
	return b, nil
}

// errMorePending says that another erasure was noted while this one ran.
var errMorePending = errors.New("another erasure was begun at the same time")

// FinishPending carries out the erasures that FindPending has found. finished is false if some are left.
func (rg *Register) FinishPending(b pendingWork) (finished bool) {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	if err := b.complete(); err != nil {
		rg.logFailed(len(b.pending), err)
		return false
	}
	left, err := rg.redactPending()
	if err == nil && len(left.pending) > 0 {
		err = errMorePending
	}
	if err != nil {
		rg.logFailed(len(left.pending), err)
		return false
	}
	rg.unfinished.Store(0)
	rg.tables.Recalls.Concealed.Store(nil)
	return true
}

// complete enters all erasures in the ledger, and carries out the pending ones.
func (b pendingWork) complete() error {
	if err := b.Enter(b.all); err != nil || len(b.pending) == 0 {
		return err
	}
	note := func(o *table.Tx, l ledger.LedgerLine) error { return merge.NoteErased(o, l, 0, 0) }
	if err := table.DoEach(b.register.tables, b.pending, note); err != nil {
		return err
	}
	if len(b.absent) < len(b.pending) {
		if err := b.run(); err != nil {
			return err
		}
	}
	return b.finish(b.absent)
}

// pendingLines returns the erasures of the ledger that the store does not know, and those that it has not finished. all are the
// store's own.
func (rg *Register) pendingLines(lines []ledger.LedgerLine) (pending, all []ledger.LedgerLine, err error) {
	seen := map[ledger.ErasedHash]bool{}
	err = rg.tables.View(func(v *table.View) error {
		// A damaged row is passed over: the ledger has the same erasure.
		table.Sound(v.View, table.ErasedBucket, nil, func(key, row []byte) {
			e, err := table.ParseErased(key, row)
			if err != nil {
				rg.tables.Damage.Note(err)
				return
			}
			l := ledger.LedgerLine{Kind: e.Kind, Hash: e.Hash, At: rg.tables.Clock.Now()}
			all, seen[l.Hash] = append(all, l), true
			if e.Done == 0 {
				pending = append(pending, l)
			}
		}, func(key []byte) {
			rg.tables.Damage.Note(fmt.Errorf("%w: %s", engine.ErrCorrupt, table.DamagedRow(table.ErasedBucket, key)))
		})
		return nil
	})
	for _, l := range lines {
		if !seen[l.Hash] {
			seen[l.Hash] = true
			pending = append(pending, l)
		}
	}
	return pending, all, err
}

// redact has replies hide the records of an eraser from now on. If damage hides which holdings these are, replies redact all holdings.
func (rg *Register) redact(e *eraser) {
	persons, holdings := e.all[record.Person], slices.Clip(e.all[record.Holder])
	if len(persons)+len(holdings) == 0 {
		return
	}
	c := &table.Concealed{Persons: setOf(persons)}
	if held, err := naming(rg.tables, record.Holder, "persons", persons); err == nil { // an error is counted by the read that has found it
		c.Holdings = setOf(append(holdings, held...))
	}
	rg.tables.Recalls.Concealed.Store(c)
}

func setOf(ids []record.ID) map[record.ID]bool {
	set := map[record.ID]bool{}
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// Unfinished is how many records are to be erased and could not be. The register tries again by itself, and replies show no
// personal data of these records.
func (rg *Register) Unfinished() int { return int(rg.unfinished.Load()) }

// Gauges returns the metrics of Uncompacted and Unfinished.
func (rg *Register) Gauges() []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	return []prometheus.Collector{
		gauge("doorward_erasures_uncompacted", "Erased records whose bytes may lie in free pages of the file until it is compacted.", func() float64 {
			n, _, err := rg.Uncompacted()
			if err != nil {
				return math.NaN()
			}
			return float64(n)
		}),
		gauge("doorward_erasures_unfinished", "Records that are to be erased and could not be: replies hide them, and it is tried again.", func() float64 {
			return float64(rg.Unfinished())
		}),
	}
}
