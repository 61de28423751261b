package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"doorward/kv"
)

// heir is the restored store that shall take a served one's place. The control socket is told of it, the server drains and closes,
// the file is replaced, and the server goes on at the same addresses.
type heir struct {
	mu     sync.Mutex
	drain  context.CancelFunc // ends what is served now
	folder string             // of the heir, within the store's; "" = none waits
	last   succession
}

// succession tells what became of the last heir. A server that was started since knows of none.
type succession struct {
	Folder  string `json:"folder"` // the heir's
	Pending bool   `json:"pending"`
	Kept    string `json:"kept"`  // the file that was replaced
	Error   string `json:"error"` // "" = none
}

const restorePath = "/control/restore"

// serveOn serves a store, and each that takes its place.
func (m *Main) serveOn(ctx context.Context, s *serving) error {
	signal.Ignore(syscall.SIGPIPE) // doors outlive whoever read the log
	s.heir = &heir{}
	for {
		served, end := context.WithCancel(context.WithoutCancel(ctx)) // a signal ends it by way of ending
		s.heir.drains(end)
		forget := context.AfterFunc(ctx, func() { s.ending.run(ctx, served, end, m.logger(slog.LevelInfo)) })
		err := m.serve(served, s)
		end()
		forget()
		// A signal that comes while the server drains ends it after the store was replaced: both were asked for.
		if err != nil || !s.heir.succeed(s.data, m.logger(slog.LevelInfo)) || ctx.Err() != nil {
			return err
		}
		s.again = true
	}
}

func (h *heir) drains(end context.CancelFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drain = end
}

// succeed puts the heir in its place, and tells whether there was one. Where it cannot be, the store before goes on.
func (h *heir) succeed(dir string, log *slog.Logger) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.folder == "" {
		return false
	}
	kept, err := kv.Replace(dir, kv.Path(filepath.Join(dir, h.folder)), time.Now(), log)
	h.folder, h.last = "", succession{Folder: h.folder, Kept: kept}
	if err != nil {
		h.last.Error = err.Error()
		log.Error("the restored store could not take its place; the one before goes on", slog.Any("cause", err))
	} else {
		log.Info("a restored store takes its place", slog.String("kept", filepath.Base(kept)))
	}
	return true
}

// beside answers what concerns the heir of a store, and leaves everything else to the store's control handler.
func (h *heir) beside(store *kv.Store, control http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", control)
	mux.HandleFunc("GET "+restorePath, func(w http.ResponseWriter, _ *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		_ = json.NewEncoder(w).Encode(h.last) // who is gone does not ask
	})
	mux.HandleFunc("POST "+restorePath, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		refused := givesWay(store, restored{Realm: q.Get("realm"), Node: q.Get("node")})
		switch folder := q.Get("folder"); {
		case refused != nil:
		case !kv.IsWorkFolder(folder, "restore") || !h.await(folder):
			refused = errors.New("another restore is under way")
		default:
			return
		}
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(failure{problem{Message: refused.Error()}}) // who is gone is not told
	})
	return mux
}

// await has the server end for an heir, and tells whether no other one waits.
func (h *heir) await(folder string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.folder != "" {
		return false
	}
	h.folder, h.last = folder, succession{Folder: folder, Pending: true}
	h.drain()
	return true
}
