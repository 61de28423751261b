package erase

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

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
			if e.Done == table.NothingHeld || e.Done != 0 && e.Done <= compacted {
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
