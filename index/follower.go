package index

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	bleve "github.com/blevesearch/bleve_index_api"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/record"
)

// follower brings what a store's log says into an engine.
type follower struct {
	engine    *engine
	store     *kv.Store
	sources   map[*record.Kind]*source
	kinds     []*record.Kind
	saved     uint64        // the cursor that the engine has
	released  uint64        // how often the store had released something when last no document was without its record
	at        atomic.Uint64 // the last row looked at
	documents atomic.Int64
	paused    atomic.Bool // the disk is nearly full: it follows no further
}

const (
	batchRows = 5000                   // how many rows of the log a batch takes at most
	saveRows  = 10000                  // after so many rows that are none of ours the cursor is written all the same
	pace      = 200 * time.Millisecond // live batches are at least so far apart: each is a segment that searches must ask
	fullPause = time.Second            // how often it looks whether a full disk has room again
	chores    = 500 * time.Millisecond // how often a live index looks after itself
)

func newFollower(e *engine, s *kv.Store, from []source) *follower {
	f := &follower{engine: e, store: s, sources: map[*record.Kind]*source{}, released: s.Tables.Commits.Releases()}
	for i := range from {
		f.sources[from[i].kind] = &from[i]
		f.kinds = append(f.kinds, from[i].kind)
	}
	return f
}

// errOther means a sound index of another store, or of another epoch of this one. A restore leaves it in the folder.
var errOther = errors.New("the search index is another store's")

// resume takes up the engine's own cursor: errOther where it follows another log, errBroken where it is ahead of this one.
func (f *follower) resume() error {
	snap, err := f.engine.snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	c, err := readCursor(snap)
	if err != nil {
		return err
	}
	if c != cursorOf(f.store, c.seq) {
		return errOther
	}
	if c.seq > f.store.Tables.Commits.Seq() {
		return fmt.Errorf("%w: it is ahead of the store", errBroken)
	}
	f.saved = c.seq
	f.at.Store(c.seq)
	return nil
}

// catchUp follows the log to its end: disk.ErrFull where there is no room for what it says.
func (f *follower) catchUp(ctx context.Context, batch func()) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.store.Tables.Folder.Room.Check(disk.Imports); err != nil {
			return err
		}
		more, err := f.step()
		if err != nil || !more {
			return err
		}
		batch()
	}
}

// step takes one batch of the log; more tells whether there was any.
func (f *follower) step() (more bool, err error) {
	at := f.at.Load()
	page, upto, err := f.store.Log.Replay(auth.Operator(), at, batchRows, f.kinds...)
	if err != nil || upto == at && at > 0 {
		return false, err
	}
	if len(page) == 0 && upto-f.saved < saveRows && f.saved > 0 {
		f.engine.skipped.Store(&skip{f.saved, upto})
		f.at.Store(upto)
		return true, nil
	}
	b := bleve.NewBatch()
	for i := range page {
		if r := &page[i]; r.Deleted {
			b.Delete(documentID(r.Kind, r.ID))
		} else {
			b.Update(newDocument(f.sources[r.Kind], r))
		}
	}
	b.SetInternal(cursorKey, cursorOf(f.store, upto).encode())
	if err := f.engine.write(b); err != nil {
		return false, err
	}
	f.saved = upto
	err = f.count()
	f.at.Store(upto) // after the count: whoever awaits upto may ask for it
	return upto > at, err
}

// count notes how many documents there are.
func (f *follower) count() error {
	n, err := f.engine.count(f.kinds)
	f.documents.Store(n)
	return err
}

// live follows the log as it grows, until ctx ends or something is wrong.
func (f *follower) live(ctx context.Context, news func(), chore func() error) error {
	next := time.Now()
	for {
		wait, cancel := context.WithTimeout(ctx, time.Until(next))
		err := f.store.Log.Await(wait, f.at.Load(), f.released)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			err := f.catchUp(ctx, func() {})
			if f.paused.Store(errors.Is(err, disk.ErrFull)); f.paused.Load() {
				pause(ctx, fullPause)
				break // until then the store looks at the changes itself
			}
			if err != nil {
				return err
			}
			news()
			if f.store.Tables.Commits.Releases() != f.released {
				next = time.Now() // released records leave the index at once
			}
			pause(ctx, pace)
		case !errors.Is(err, context.DeadlineExceeded):
			return err
		}
		if !time.Now().Before(next) {
			if err := chore(); err != nil {
				return err
			}
			news()
			next = time.Now().Add(chores)
		}
	}
}

// prepare brings an index to the end of the log and compares it with the store. A disk that is nearly full leaves it behind.
func (f *follower) prepare(ctx context.Context) error {
	if err := f.resume(); err != nil {
		return err
	}
	if err := f.catchUp(ctx, func() {}); err != nil && !errors.Is(err, disk.ErrFull) {
		return err
	}
	if err := guarded(f.compare); err != nil {
		return err
	}
	return errors.Join(f.count(), guarded(f.engine.warm))
}

// total is how many records there are to index.
func (f *follower) total() (n int, err error) {
	for _, k := range f.kinds {
		ids, err := f.store.Desk.IDs(auth.Operator(), k)
		if err != nil {
			return 0, err
		}
		n += len(ids)
	}
	return n, nil
}
