package venue

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"doorward/kv"
	"doorward/sync/handshake"
	"doorward/sync/line"
	"doorward/sync/replicate"
)

// lag is what a store that has joined a centre knows of how far the two are apart, also while the centre is not reached.
type lag struct {
	store    *kv.Store
	upstream kv.Upstream
}

// checkpointOf is where a replication of a database came to, as this store has written it down: from here, or from the centre.
func (o lag) checkpointOf(name string, push bool) (line.Sequence, error) {
	own, err := replicate.OpenLocal(o.store, kv.Operator(), name)
	if err != nil {
		return nil, err
	}
	notes, err := own.Checkpoint(context.Background(), o.replication(name, push)) // it waits for nothing
	if err != nil || notes.Session == "" {
		return nil, err
	}
	return notes.Last, nil
}

// replication names the copying of a database to the centre, or from there.
func (o lag) replication(name string, push bool) string {
	source, target := strings.ToLower(o.store.Node())+"/"+name, strings.ToLower(o.upstream.Node)+"/"+name
	if !push {
		source, target = target, source
	}
	return replicate.ReplicationID(source, target, &replicate.Job{})
}

// forget has a database that is no more here pulled from its beginning if it ever comes back.
func (o lag) forget(ctx context.Context, name string) error {
	own, err := replicate.OpenLocal(o.store, kv.Operator(), name)
	if err != nil {
		return err
	}
	return own.Keep(ctx, o.replication(name, false), replicate.Checkpoint{})
}

// acknowledged is the sequence up to which the centre has said that it has a database of this store.
func (o lag) acknowledged(name string) (uint64, error) {
	at, err := o.checkpointOf(name, true)
	if err != nil || at == nil {
		return 0, err
	}
	return replicate.SinceOf(o.store, at)
}

// pulledUpTo are up to where this store has what the centre has.
func (o lag) pulledUpTo() (map[string]string, error) {
	all := map[string]string{}
	for _, name := range o.upstream.Pulls {
		at, err := o.checkpointOf(name, false)
		if err != nil {
			return nil, err
		}
		if all[name] = line.SequenceText(at); at == nil {
			all[name] = "0"
		}
	}
	return all, nil
}

// pushedDatabases are the databases that the centre has all of, or ought to: those that it takes, and what is still here of events that are over.
func (o lag) pushedDatabases() ([]string, error) {
	names, kept := slices.Clone(o.upstream.Pushes), handshake.Kept(o.upstream.Pulls)
	for _, name := range o.upstream.Over {
		held, err := o.store.Held(kv.Operator(), name, kept...)
		if err != nil && !errors.Is(err, kv.ErrNotFound) { // of a name that this version does not know nothing is here
			return nil, err
		}
		if held > 0 {
			names = append(names, name)
		}
	}
	return names, nil
}

// backlog is how many changes the centre has not said that it has, and when the oldest of them was made.
func (o lag) backlog() (n int, oldest time.Time, err error) {
	names, err := o.pushedDatabases()
	if err != nil {
		return 0, oldest, err
	}
	for _, name := range names {
		upto, err := o.acknowledged(name)
		if err != nil {
			return 0, oldest, err
		}
		db, err := o.store.Database(kv.Operator(), name)
		if err != nil {
			return 0, oldest, err
		}
		pending, err := db.Pending(upto)
		if err != nil {
			return 0, oldest, err
		}
		if n += pending; pending > 0 {
			oldest = earlier(oldest, changedAt(db, upto))
		}
	}
	return n, oldest, nil
}

// Backlog is how many changes the centre that a store has joined has not said that it has, and when the oldest of them was made; none where
// the store has joined none.
func Backlog(store *kv.Store) (n int, oldest time.Time, err error) {
	u, joined, err := store.Upstream()
	if err != nil || !joined {
		return 0, oldest, err
	}
	return lag{store, u}.backlog()
}

// Unsent is how many changes of a store its centre has not said that it has; 0 where it has joined none.
func Unsent(s *kv.Store) (int, error) {
	n, _, err := Backlog(s)
	return n, err
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// changedAt is when the first change after a place was made; zero where nobody has noted it.
func changedAt(db *kv.Database, upto uint64) time.Time {
	page, _, err := db.Changes(kv.Feed{Since: upto, Limit: 1})
	if err != nil || len(page) == 0 {
		return time.Time{}
	}
	doc, err := db.Read(page[0].ID, kv.Ask{Leaves: true})
	if err != nil {
		return time.Time{}
	}
	if at := doc.Tree.Winner().At; at != 0 {
		return time.UnixMicro(at).UTC()
	}
	return time.Time{}
}
