package venue

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/table"
	"doorward/sync/handshake"
	"doorward/sync/replicate"
	"doorward/sync/transit"
)

// lag says how far a store and its centre are apart, also while the centre is not reached.
type lag struct {
	store    *kv.Store
	upstream table.Upstream
}

// pushed returns up to which sequence a database is pushed. Of one that is only pulled, nothing waits to be pushed, and this is the present
// sequence: what is pulled later may have come back.
func (o lag) pushed(e handshake.Database) (uint64, error) {
	if !e.Push {
		return o.store.Tables.Commits.Seq(), nil
	}
	return o.acknowledged(e.Name)
}

// checkpointOf returns where a replication came to: a push from here, or a pull. It reads this store's own checkpoint.
func (o lag) checkpointOf(name string, push bool) (transit.Sequence, error) {
	own, err := replicate.OpenLocal(o.store, auth.Operator(), name)
	if err != nil {
		return nil, err
	}
	notes, err := own.Checkpoint(context.Background(), o.replication(name, push)) // a local read
	if err != nil || notes.Session == "" {
		return nil, err
	}
	return notes.Last, nil
}

// replication returns the id of a push of a database, or of a pull.
func (o lag) replication(name string, push bool) string {
	source, target := strings.ToLower(o.store.Tables.Identity.Node())+"/"+name, strings.ToLower(o.upstream.Node)+"/"+name
	if !push {
		source, target = target, source
	}
	return replicate.ReplicationID(source, target, &replicate.Job{})
}

// forget makes the next pull of a database begin at its beginning.
func (o lag) forget(ctx context.Context, name string) error {
	own, err := replicate.OpenLocal(o.store, auth.Operator(), name)
	if err != nil {
		return err
	}
	return own.Keep(ctx, o.replication(name, false), replicate.Checkpoint{})
}

// acknowledged returns the sequence up to which the centre has said that it has a database of this store.
func (o lag) acknowledged(name string) (uint64, error) {
	at, err := o.checkpointOf(name, true)
	if err != nil || at == nil {
		return 0, err
	}
	return replicate.SinceOf(o.store, at)
}

// pulledUpTo returns how far each database is pulled.
func (o lag) pulledUpTo() (map[string]string, error) {
	all := map[string]string{}
	for _, name := range o.upstream.Pulls {
		at, err := o.checkpointOf(name, false)
		if err != nil {
			return nil, err
		}
		if all[name] = transit.SequenceText(at); at == nil {
			all[name] = "0"
		}
	}
	return all, nil
}

// pushedDatabases returns the databases that the centre has to have: those that it takes, and events that are over and still here.
func (o lag) pushedDatabases() ([]string, error) {
	names, kept := slices.Clone(o.upstream.Pushes), handshake.Kept(o.upstream.Pulls)
	for _, name := range o.upstream.Over {
		held, err := o.store.Laptop.Held(auth.Operator(), name, kept...)
		if err != nil && !errors.Is(err, table.ErrNotFound) { // this version does not know the name, and has none of it
			return nil, err
		}
		if held > 0 {
			names = append(names, name)
		}
	}
	return names, nil
}

// backlog returns how many changes the centre has not acknowledged, and when the oldest was made.
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
		db, err := o.store.Docs.Database(auth.Operator(), name)
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

// Backlog returns how many changes of a store its centre has not acknowledged, and when the oldest was made. It returns zeros for a store
// that has joined none.
func Backlog(store *kv.Store) (n int, oldest time.Time, err error) {
	u, joined, err := store.Laptop.Upstream()
	if err != nil || !joined {
		return 0, oldest, err
	}
	return lag{store, u}.backlog()
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// changedAt returns when the first change after a place was made; zero if that is not known.
func changedAt(db *docs.Database, upto uint64) time.Time {
	page, _, err := db.Changes(docs.Feed{Since: upto, Limit: 1})
	if err != nil || len(page) == 0 {
		return time.Time{}
	}
	doc, err := db.Read(page[0].ID, docs.Ask{Leaves: true})
	if err != nil {
		return time.Time{}
	}
	if at := doc.Tree.Winner().At; at != 0 {
		return time.UnixMicro(at).UTC()
	}
	return time.Time{}
}
