package index

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/record"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"
)

// follower brings what a store's log says into an engine.
type follower struct {
	engine    *engine
	store     *kv.Store
	kinds     []*record.Kind
	patience  time.Duration // the longest wait for the end of bulk work
	bulk      uint64        // so many changes in a second are bulk work
	saved     uint64        // the cursor that the engine has
	released  uint64        // how often the store had released something when last no document was without its record
	at        atomic.Uint64 // the last row looked at
	documents atomic.Int64
	paused    atomic.Bool // the disk is nearly full: it follows no further
	asked     atomic.Bool // a search has looked at many changes itself
}

const (
	batchRows = 2000                   // how many rows of the log a batch takes at most
	saveRows  = 10000                  // after so many rows that are none of ours the cursor is written all the same
	pace      = 200 * time.Millisecond // live batches are at least so far apart: each is a segment that searches must ask
	paceRow   = 400 * time.Microsecond // and so much further for each record of the batch before, but no further than
	paceMost  = 800 * time.Millisecond // that: while much is written few large segments take less work than many small ones
	fullPause = time.Second            // how often it looks whether a full disk has room again
	chores    = 500 * time.Millisecond // how often a live index looks after itself
)

func newFollower(e *engine, c *Config, kinds []*record.Kind) *follower {
	return &follower{engine: e, store: c.Store, patience: c.GiveWay, bulk: c.Bulk, kinds: kinds, released: c.Store.Tables.Commits.Releases()}
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

// catchUp follows the log to where it ends now, and returns how many records it took: disk.ErrFull where there is no room for them. What comes
// meanwhile is left to the next time.
func (f *follower) catchUp(ctx context.Context, batch func(took int)) (took int, err error) {
	end := f.store.Tables.Commits.Seq()
	for {
		if err := ctx.Err(); err != nil {
			return took, err
		}
		if err := f.store.Tables.Folder.Room.Check(disk.Imports); err != nil {
			return took, err
		}
		before := f.at.Load()
		n, err := f.step()
		took += n
		at := f.at.Load()
		if err != nil || at == before {
			return took, err
		}
		if batch(n); at >= end {
			return took, nil
		}
	}
}

// step takes one batch of the log, and returns how many records of ours it had.
func (f *follower) step() (took int, err error) {
	at := f.at.Load()
	page, upto, err := f.store.Log.Replay(auth.Operator(), at, batchRows, f.kinds...)
	if err != nil || upto == at && at > 0 {
		return 0, err
	}
	if len(page) == 0 && upto-f.saved < saveRows && f.saved > 0 {
		f.engine.skipped.Store(&skip{f.saved, upto})
		f.at.Store(upto)
		return 0, nil
	}
	b := bleve.NewBatch()
	for i := range page {
		if r := &page[i]; r.Deleted {
			b.Delete(documentID(r.Kind, r.ID))
		} else {
			b.Update(newDocument(r))
		}
	}
	b.SetInternal(cursorKey, cursorOf(f.store, upto).encode())
	if err := f.engine.write(b); err != nil {
		return 0, err
	}
	f.saved = upto
	err = f.count()
	f.at.Store(upto) // after the count: whoever awaits upto may ask for it
	return len(page), err
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
			f.giveWay(ctx)
			took, err := f.catchUp(ctx, func(took int) { f.rest(ctx, took) })
			f.asked.Store(false)
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
			pause(ctx, min(pace+time.Duration(took)*paceRow, paceMost))
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

// doors tells whether a door was used within the last second.
func (f *follower) doors() bool { return f.store.Tables.Engine.DoorWithin(time.Second) }

// hurries tells that the index must not wait: a search had many changes to look at, or something was released.
func (f *follower) hurries() bool {
	return f.asked.Load() || f.store.Tables.Commits.Releases() != f.released
}

// giveWay waits while doors are in use and much is being written, as by an import. To index it at once would take a third of the processor's time.
// Until it is indexed a search looks at it in the store.
func (f *follower) giveWay(ctx context.Context) {
	commits, end := &f.store.Tables.Commits, time.Now().Add(f.patience)
	for ctx.Err() == nil && time.Now().Before(end) && f.doors() && !f.hurries() {
		before := commits.Seq()
		if before-f.at.Load() < f.bulk {
			break
		}
		if pause(ctx, time.Second); commits.Seq()-before < f.bulk {
			break
		}
	}
}

// rest leaves time to doors after a batch of so many records.
func (f *follower) rest(ctx context.Context, took int) {
	if took > 0 && f.doors() && !f.hurries() {
		pause(ctx, pace)
	}
}

// prepare brings an index to the end of the log and compares it with the store. A disk that is nearly full leaves it behind.
func (f *follower) prepare(ctx context.Context) error {
	if err := f.resume(); err != nil {
		return err
	}
	if _, err := f.catchUp(ctx, func(int) {}); err != nil && !errors.Is(err, disk.ErrFull) {
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

// cursorKey is the key of an index's cursor. The cursor lies in the same snapshot as the documents that it counts.
var cursorKey = []byte("cursor")

// cursor names the log that an index follows, and the last sequence that it has.
type cursor struct {
	realm, node, epoch string
	seq                uint64
}

func cursorOf(s *kv.Store, seq uint64) cursor {
	return cursor{s.Tables.Identity.Realm(), s.Tables.Identity.Node(), s.Tables.Epochs.Present(), seq}
}

// encode writes a cursor with a checksum of its own.
func (c cursor) encode() []byte {
	text := fmt.Sprintf("%s %s %s %d", c.realm, c.node, c.epoch, c.seq)
	return fmt.Appendf(nil, "%s %08x", text, crc32.ChecksumIEEE([]byte(text)))
}

// readCursor reads a snapshot's cursor; it returns errBroken if there is none, or if its checksum is wrong.
func readCursor(snap *scorch.IndexSnapshot) (c cursor, err error) {
	text, err := snap.GetInternal(cursorKey)
	if err != nil {
		return cursor{}, err
	}
	said := strings.Split(string(text), " ")
	if len(said) != 5 {
		return cursor{}, fmt.Errorf("%w: it has no cursor", errBroken)
	}
	c = cursor{realm: said[0], node: said[1], epoch: said[2]}
	if c.seq, err = strconv.ParseUint(said[3], 10, 64); err != nil || string(c.encode()) != string(text) {
		return cursor{}, fmt.Errorf("%w: its cursor fails its checksum", errBroken)
	}
	return c, nil
}

// unknown is the number of releases to assume where released records have not been looked for yet.
const unknown = math.MaxUint64

// compare holds the documents against the store's records: errBroken where one is missing or there twice. What has changed since the
// log was read is left out. A document without its record is no damage: the log has no row for a release, and the
// last process may have ended before it deleted the document.
func (f *follower) compare() error {
	released := f.store.Tables.Commits.Releases()
	have, want, err := f.both()
	if err != nil {
		return err
	}
	changed, err := f.changed()
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(lacking(want, have), func(id string) bool { return changed[id] })
	if twice := len(have) - len(slices.Compact(slices.Clone(have))); len(missing)+twice > 0 {
		return fmt.Errorf("%w: it lacks %d of %d records, and holds %d twice", errBroken, len(missing), len(want), twice)
	}
	if f.released = released; len(lacking(have, want)) > 0 {
		f.released = unknown
	}
	return nil
}

// forget deletes the documents of records that the store has released since the last call. It reports whether there were any. While the
// disk is nearly full it deletes nothing.
func (f *follower) forget() (some bool, err error) {
	released := f.store.Tables.Commits.Releases()
	if released == f.released || f.store.Tables.Folder.Room.Check(disk.Imports) != nil {
		return false, nil
	}
	have, want, err := f.both()
	if err != nil {
		return false, err
	}
	gone := lacking(have, want)
	for some := range slices.Chunk(gone, batchRows) {
		b := bleve.NewBatch()
		for _, id := range some {
			b.Delete(id)
		}
		if err := f.engine.write(b); err != nil {
			return false, err
		}
	}
	f.released = released
	return len(gone) > 0, f.count()
}

// both returns the ids of the documents and the ids of the store's records, each sorted. The documents are read first, so a record that
// comes back between the two reads is in both lists.
func (f *follower) both() (have, want []string, err error) {
	if have, err = f.engine.documentIDs(); err != nil {
		return nil, nil, err
	}
	for _, k := range f.kinds {
		ids, err := f.store.Desk.IDs(auth.Operator(), k)
		if err != nil {
			return nil, nil, err
		}
		for _, id := range ids {
			want = append(want, documentID(k, id))
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	return have, want, nil
}

// lacking are the ids of one sorted list that another does not have.
func lacking(ids, other []string) (out []string) {
	for _, id := range ids {
		for len(other) > 0 && other[0] < id {
			other = other[1:]
		}
		if len(other) == 0 || other[0] != id {
			out = append(out, id)
		}
	}
	return out
}

// changed are the documents of records that have changed since the log was read.
func (f *follower) changed() (map[string]bool, error) {
	changed := map[string]bool{}
	for at := f.at.Load(); ; {
		page, upto, err := f.store.Log.Replay(auth.Operator(), at, batchRows, f.kinds...)
		for _, r := range page {
			changed[documentID(r.Kind, r.ID)] = true
		}
		if err != nil || upto == at {
			return changed, err
		}
		at = upto
	}
}
