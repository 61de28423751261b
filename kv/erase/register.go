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

// Register erases people, and finishes erasures that a crash or a full disk has interrupted.
type Register struct {
	tables     *table.Set
	mu         sync.Mutex              // one at a time
	dir        string                  // of the ledger; "" = none is kept
	Stop       func(step string) error // of tests, which end the work there; nil = nobody
	done       atomic.Uint64           // how often any were finished since the start, which laptops are told of at once
	rekey      func()                  // tells those who wait for keys that a person was erased
	close      context.CancelFunc
	running    sync.WaitGroup
	unfinished atomic.Int64 // what could not be erased the last time
}

func New(t *table.Set, rekey func()) *Register { return &Register{tables: t, rekey: rekey} }

// Times is how often erasures were finished since the start.
func (rg *Register) Times() uint64 { return rg.done.Load() }

// ErasuresDue is how many erasures have left bytes in free pages of the store's file, which compacting takes away, and since when.
func (rg *Register) ErasuresDue() (n int, since time.Time, err error) {
	if !rg.tables.Recalls.Any.Load() {
		return 0, since, nil
	}
	err = rg.tables.View(func(v *table.View) error {
		compacted, err := table.CompactedAt(v)
		if err != nil {
			return err
		}
		return v.Scan(table.ErasedBucket, nil, nil, func(_, row []byte) (bool, error) {
			e, err := table.ParseErased(row)
			if err != nil {
				return false, err
			}
			if e.Kept || e.Done == table.NothingHeld || e.Done != 0 && e.Done <= compacted {
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

// When a store is to be compacted after an erasure, or after what it has released: as soon as doors are quiet once half a day has
// gone by, and before a day has whatever happens at them.
const compactSoon = 12 * time.Hour

const compactLate = 23 * time.Hour

// WantsCompacting tells that it is time to write the file anew (Compact).
func (rg *Register) WantsCompacting() (bool, error) {
	_, since, err := rg.ErasuresDue()
	if err != nil {
		return false, err
	}
	released, err := rg.tables.ReleasedSince()
	if since.IsZero() || !released.IsZero() && released.Before(since) {
		since = released
	}
	if err != nil || since.IsZero() {
		return false, err
	}
	age := rg.tables.ClockNow().Sub(since)
	ahead := age < -table.DoubtSlack // the clock was wrong when it was noted: nobody knows how long ago that is
	return ahead || age >= compactLate || age >= compactSoon && !rg.tables.Engine.DoorWithin(table.DoorsQuiet), nil
}

// TakeUpErasures finishes before anybody is served what was begun before a crash, and erases anew what a restored file holds still;
// then it waits for what peers tell of. What cannot be finished now is concealed until it is.
func (rg *Register) TakeUpErasures(c table.Config) error {
	rg.close = func() {}
	if c.Aside {
		return nil
	}
	if !c.Restored { // the folder is one that the file is in for the moment
		rg.dir = c.Dir
	}
	begun, err := rg.BegunErasures()
	if err != nil {
		return fmt.Errorf("find out what was to be erased: %w", err)
	}
	if c.ReadOnly {
		rg.unfinished.Store(int64(len(begun.pending)))
		return nil // what cannot be erased is concealed
	}
	rg.FinishErasures(begun)
	ctx, cancel := context.WithCancel(context.Background())
	rg.close = cancel
	rg.running.Go(func() { rg.followErasures(ctx) })
	return nil
}

// End ends what runs by itself.
func (rg *Register) End() {
	if rg.close != nil {
		rg.close()
	}
	rg.running.Wait()
}

// How long after a failure what is unfinished is tried again: at first, and at most.
const (
	retrySoon = time.Minute
	retryLate = time.Hour
)

// followErasures carries out what peers tell of, and tries again what could not be finished, until writing has stopped for good.
func (rg *Register) followErasures(ctx context.Context) {
	patience := retrySoon
	for done := rg.tables.Recalls.Told.Load(); rg.tables.Engine.Stopped() == nil; {
		turn, cancel := ctx, context.CancelFunc(func() {})
		failed := rg.ErasuresUnfinished() > 0
		if failed {
			turn, cancel = context.WithTimeout(ctx, patience)
		}
		_ = rg.tables.Recalls.Come.Await(turn, func() bool { return rg.tables.Recalls.Told.Load() != done || !failed && rg.ErasuresUnfinished() > 0 })
		cancel()
		switch {
		case ctx.Err() != nil:
			if rg.tables.Recalls.Told.Load() != done { // a command that has copied is not there any more to be asked
				rg.EraseBegun()
			}
			return
		case !failed && rg.tables.Recalls.Told.Load() == done:
			continue // somebody's erasure has failed just now
		case failed:
			patience = min(2*patience, retryLate)
		}
		done = rg.tables.Recalls.Told.Load()
		if rg.EraseBegun() {
			patience = retrySoon
		}
	}
}

// EraseBegun carries out what is to be erased, and tells whether nothing is left to do.
func (rg *Register) EraseBegun() (finished bool) {
	begun, err := rg.BegunErasures()
	if err != nil {
		rg.eraseFailed(1, err)
		return false
	}
	return rg.FinishErasures(begun)
}

// eraseFailed notes and tells that so many records are not erased.
func (rg *Register) eraseFailed(n int, cause error) {
	rg.unfinished.Store(int64(max(1, n)))
	rg.tables.Recalls.Come.Ring()
	rg.tables.Log.Error("an erasure could not be finished; it is tried again", slog.Any("cause", cause))
}

// newEraser is one that has nothing to do yet, and what the ledger says.
func (rg *Register) newEraser() (*eraser, []ledger.LedgerLine, error) {
	led, lines, err := ledger.ReadLedger(rg.dir, rg.tables.Realm(), rg.tables.Log)
	return &eraser{store: rg, Ledger: led, all: map[*record.Kind][]record.ID{}}, lines, err
}

// begun are erasures that are to be finished.
type begun struct {
	*eraser
	pending, absent []ledger.LedgerLine // absent: of what is not here
	all             []ledger.LedgerLine // what the store knows of, finished or not
}

// BegunErasures finds out what the ledger or the store says is erased and is not. From now on it is concealed.
func (rg *Register) BegunErasures() (b begun, err error) {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	return rg.concealBegun()
}

// concealBegun is begunErasures, with the lock held.
func (rg *Register) concealBegun() (b begun, err error) {
	var lines []ledger.LedgerLine
	if b.eraser, lines, err = rg.newEraser(); err != nil {
		return b, err
	}
	if b.pending, b.all, err = rg.pendingErasures(b.Ledger, lines); err != nil {
		return b, err
	}
	rg.tables.Recalls.Any.Store(len(b.all)+len(b.pending) > 0)
	if len(b.pending) == 0 {
		return b, nil
	}
	if b.absent, err = b.identify(b.pending); err != nil {
		return b, err
	}
	rg.conceal(b.eraser)
	return b, nil
}

// errBegunSince is why more is left to do.
var errBegunSince = errors.New("another erasure has been begun meanwhile")

// FinishErasures erases what was begun, and tells whether nothing is left to do.
func (rg *Register) FinishErasures(b begun) (finished bool) {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	if err := b.complete(); err != nil {
		rg.eraseFailed(len(b.pending), err)
		return false
	}
	left, err := rg.concealBegun()
	if err == nil && len(left.pending) > 0 {
		err = errBegunSince
	}
	if err != nil {
		rg.eraseFailed(len(left.pending), err)
		return false
	}
	rg.unfinished.Store(0)
	rg.tables.Recalls.Concealed.Store(nil)
	return true
}

// complete erases what was begun.
func (b begun) complete() error {
	if err := b.Enter(b.all); err != nil || len(b.pending) == 0 {
		return err
	}
	var steps []table.Step
	for _, l := range b.pending {
		steps = append(steps, table.Step{Run: func(o *table.Tx) error { return merge.NoteErased(o, l, 0, 0) }})
	}
	if err := b.store.tables.DoEach(steps); err != nil {
		return err
	}
	if len(b.absent) < len(b.pending) {
		if err := b.run(); err != nil {
			return err
		}
	}
	return b.finish(b.absent)
}

// pendingErasures are those of the ledger that the store does not know, and those that it has not finished; all are the store's own.
func (rg *Register) pendingErasures(led ledger.Ledger, lines []ledger.LedgerLine) (pending, all []ledger.LedgerLine, err error) {
	seen := map[ledger.ErasedHash]bool{}
	err = rg.tables.View(func(v *table.View) error {
		// Of a damaged row the ledger knows what was erased.
		table.Sound(v.View, table.ErasedBucket, nil, func(key, row []byte) {
			e, err := table.ParseErased(row)
			if err != nil || len(key) != ledger.CodeHashSize {
				rg.tables.NoteCorrupt(table.OrCorrupt(err))
				return
			}
			if e.Kept {
				return
			}
			l := ledger.LedgerLine{Kind: e.Kind, Hash: ledger.ErasedHash(key), At: rg.tables.ClockNow()}
			more := !rg.tables.IsLeaf() && e.Learn(led.Known[l.Hash]) // a laptop is told by its centre
			l.Firsts = e.Firsts
			all, seen[l.Hash] = append(all, l), true
			if e.Done == 0 || more {
				pending = append(pending, l)
			}
		}, func(key []byte) {
			rg.tables.NoteCorrupt(fmt.Errorf("%w: %s", engine.ErrCorrupt, table.DamagedRow(table.ErasedBucket, key)))
		})
		return nil
	})
	for _, l := range slices.Backward(lines) { // the last says most
		if !seen[l.Hash] {
			seen[l.Hash] = true
			pending = append(pending, l)
		}
	}
	return pending, all, err
}

// conceal hides from now on what an eraser is at; of a ticket that was passed on, what it was before. Where damage keeps it from
// telling which tickets these are, it hides whose all tickets are.
func (rg *Register) conceal(e *eraser) {
	persons, tickets := e.all[record.Person], slices.Clip(e.all[record.Ticket])
	if len(persons)+len(tickets) == 0 {
		return
	}
	c := &table.Concealed{Persons: setOf(persons)}
	if past, err := e.heldOnce(); err == nil { // what is damaged is counted where it is read
		c.Past = setOf(past)
	}
	err := rg.tables.View(func(v *table.View) error {
		for _, id := range persons {
			held, err := v.Lookup(record.Holder, "person_id", id.Int())
			if err != nil {
				return err
			}
			tickets = append(tickets, held...)
		}
		return nil
	})
	if err == nil { // as above
		c.Tickets = setOf(tickets)
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

// ErasuresUnfinished is how many records shall be erased and could not be. It is tried again by itself, and nobody is shown what is
// personal in them.
func (rg *Register) ErasuresUnfinished() int { return int(rg.unfinished.Load()) }

func ErasuresGauge(due func() (n int, since time.Time, err error)) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_erasures_uncompacted", Help: "Erased records whose bytes may lie in free pages of the file until it is compacted."}, func() float64 {
		n, _, err := due()
		if err != nil {
			return math.NaN()
		}
		return float64(n)
	})
}

func UnfinishedGauge(unfinished func() int) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_erasures_unfinished", Help: "Records that are to be erased and could not be: nobody is shown them, and it is tried again."}, func() float64 {
		return float64(unfinished())
	})
}
