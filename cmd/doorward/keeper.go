package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"doorward/kv"
	"doorward/sync/dial"
	"doorward/sync/venue"
)

// keeper keeps a served store in step with its centre, and wipes the folder where the centre orders it.
type keeper struct {
	venue   *venue.Venue
	drain   context.CancelFunc // ends what is served
	ended   chan struct{}
	ordered atomic.Bool // the folder shall be wiped
	wiped   bool        // the centre has what was in it
}

// keep begins. The context that it answers ends with ctx, or when the folder shall be wiped.
func keep(ctx context.Context, c venue.Config) (*keeper, context.Context, error) {
	k := &keeper{ended: make(chan struct{})}
	served, drain := context.WithCancel(ctx)
	k.drain = drain
	c.Wipe = func() {
		k.ordered.Store(true)
		drain()
	}
	var err error
	if k.venue, err = venue.New(c); err != nil {
		drain()
		return nil, nil, err
	}
	if u, joined, err := c.Store.Upstream(); err == nil && joined && u.Insecure && strings.HasPrefix(u.URL, "http://") {
		c.Logger.Warn("the centre is spoken to over http://: everybody on the way can read all", "centre", u.URL)
	}
	go func() {
		defer close(k.ended)
		k.venue.Run(served)
	}()
	return k, served, nil
}

// end ends it, and takes leave of the centre where the folder shall be wiped: nobody writes to the store any more.
func (k *keeper) end(log *slog.Logger) {
	k.drain()
	<-k.ended
	if !k.ordered.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	if err := k.venue.Farewell(ctx); err != nil {
		log.Error("the folder is not wiped as the centre has ordered: it was not reached in the end", "cause", err)
		return
	}
	k.wiped = true
}

// wipe removes what this program keeps in a folder.
func wipe(dir string, log *slog.Logger) error {
	err := removeOwn(dir, nil)
	if err == nil {
		log.Warn("this folder was wiped, as its centre has ordered: all check-ins are there")
	}
	return err
}

// removeOwn removes what this program keeps in a folder but for some names, the store's file in the end: where that is cut off, a store
// is left, and no folder whose store is missing.
func removeOwn(dir string, but []string) error {
	entries, err := os.ReadDir(dir)
	store := filepath.Base(kv.Path(dir))
	for _, e := range entries {
		if name := e.Name(); name != store && kept(name) && !slices.Contains(but, name) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	if slices.Contains(but, store) {
		return err
	}
	return errors.Join(err, syncFolder(dir), os.RemoveAll(kv.Path(dir)))
}

// kept tells a name that this program gives to what it keeps. Files of others stay.
func kept(name string) bool {
	return kv.IsOwnName(name) || slices.Contains([]string{"index", "index.broken", socketName}, name)
}

// abandoned is how old is within the folder what nobody works at any more, where no lock tells.
const abandoned = 24 * time.Hour

// tidy removes what was cut short and has left in a folder: whole copies of the store.
func tidy(dir string, log *slog.Logger) {
	entries, _ := os.ReadDir(dir) // who uses it is told what is the matter
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !isLeft(path, e) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			log.Warn("what was left of a backup or a restore cannot be removed", slog.Any("cause", err))
		}
	}
}

// isLeft tells what was made for a while, and is of no use to anybody any more.
func isLeft(path string, e fs.DirEntry) bool {
	if !strings.HasPrefix(e.Name(), kv.OwnPrefix) {
		return false
	}
	if e.IsDir() {
		return kv.Abandoned(path)
	}
	info, err := e.Info()
	return err == nil && time.Since(info.ModTime()) > abandoned
}

const joinPath = "/control/venue/join"

// joinedCentre is a centre that was joined, without what only this store may know.
type joinedCentre struct {
	ID     int64     `json:"id"`
	Name   string    `json:"name"`
	URL    string    `json:"url"`
	Realm  string    `json:"realm"`
	Centre string    `json:"centre"`
	Ends   time.Time `json:"expires_at"`
}

// joins answers the command to join a centre, and leaves everything else to the store's control handler. Then it wakes whoever
// keeps the store in step.
func joins(store *kv.Store, wake func(), control http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", control)
	mux.HandleFunc("POST "+joinPath, func(w http.ResponseWriter, r *http.Request) {
		var j joining
		if json.NewDecoder(r.Body).Decode(&j) != nil {
			j = joining{} // whose URL is refused
		}
		u, err := venue.Join(r.Context(), venue.JoinConfig{Store: store, URL: j.URL, Code: j.Code, Insecure: j.Insecure})
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			w.WriteHeader(statusOfJoin(err))
			_ = json.NewEncoder(w).Encode(failure{problem{Message: err.Error()}}) // who is gone does not ask
			return
		}
		wake()
		_ = json.NewEncoder(w).Encode(joinedCentre{u.ID, u.Name, u.URL, store.Realm(), u.Node, u.Ends}) // as above
	})
	return mux
}

// statusOfJoin tells wrong usage from what went wrong.
func statusOfJoin(err error) int {
	for _, usage := range []error{dial.ErrURL, venue.ErrCentre, venue.ErrPlain, venue.ErrNoCode} {
		if errors.Is(err, usage) {
			return http.StatusBadRequest
		}
	}
	return http.StatusConflict
}
