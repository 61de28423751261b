package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"doorward/api"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/folder"
	"doorward/index"
	"doorward/kv"
	"doorward/kv/disk"
	"doorward/sync"
	"doorward/sync/dial"
	"doorward/sync/venue"
)

// Opening says which store a command is about, and what the command needs of it.
type Opening struct {
	*folder.Folder
	Console *console.Console
	Version string
	Need    Need
}

// Need is what a command needs of a store.
type Need struct {
	Creates bool // the store is made where there is none
	Indexed bool // its search index is opened too
	Aside   bool // it may be a copy that is only looked at
	Reads   bool // nothing is written, so the disk may be read-only
	Certain bool // of a store whose log is missing or damaged, what is certain is read, and nothing written
	Keeps   bool // its file stays as it is, to the byte: Windows makes a file longer as soon as it is opened to be written
}

// Tries is how often a process looks for a store that another process has just opened or closed. Each try waits a while for the lock.
const Tries = 3

// With runs do with a line to the store's control handler, and closes the line. A store that was made for work that failed is removed.
func With(ctx context.Context, o Opening, do func(*Line) error) error {
	l, err := Open(ctx, o)
	if err != nil {
		return err
	}
	l.warn = o.Console.Err
	if err := do(l); err != nil {
		_ = l.GiveUp() // the first error is the one to report
		return err
	}
	return l.Close()
}

// Spare gives a dry run a new store elsewhere, where the folder has none. tidy removes it.
func (o *Opening) Spare() (tidy func(), err error) {
	if o.HasStore() {
		return func() {}, nil
	}
	if err := o.CheckStore(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "doorward")
	if err != nil {
		return nil, err
	}
	o.Folder = o.At(dir)
	return func() { _ = os.RemoveAll(dir) }, nil // the store of a trial holds nothing of its own
}

// Open reaches the store through serve's socket, or opens it.
func Open(ctx context.Context, o Opening) (*Line, error) {
	if err := o.CheckStore(); err != nil {
		return nil, err
	}
	if !o.Need.Creates && !o.HasStore() {
		return nil, fmt.Errorf("the folder %s holds no congregation", o.Dir)
	}
	for range Tries {
		silent := new(Silent)
		if c, err := Dial(ctx, o.Dir, nil); err == nil {
			return ViaSocket(o), c.Close()
		} else if errors.As(err, &silent) {
			return nil, err
		}
		if !o.Need.Reads && !o.Need.Certain {
			if err := folder.CheckWritable(o.Dir); err != nil {
				return nil, err
			}
		}
		if l, err := InProcess(o); !errors.Is(err, disk.ErrInUse) {
			return l, err
		}
		if folder.Unreached(o.Dir) {
			break // it will not be reached later
		}
		if ctx.Err() != nil {
			return nil, console.ErrStopped
		}
	}
	return nil, folder.Busy(o.Dir)
}

// ViaSocket is a line to the server of a folder. Each request has a connection, so that the server acknowledges each.
func ViaSocket(o Opening) *Line {
	say := func(text string) { o.Console.Warn("%s", text) }
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return Dial(ctx, o.Dir, say) }}
	return &Line{Client: &http.Client{Transport: t}, Served: true, Progress: o.Console.Progress(), close: func() error {
		t.CloseIdleConnections()
		return nil
	}}
}

// InProcess opens the store, and its handler in this process.
func InProcess(o Opening) (*Line, error) {
	var made *created
	if !o.HasStore() {
		made = beforeCreating(o.Dir)
	}
	log := o.Console.Logger(slog.LevelError)
	conf := o.StoreConfig()
	conf.Logger, conf.Certain = log, o.Need.Certain
	conf.Aside, conf.ReadOnly = o.Need.Aside, o.Need.Keeps || o.Need.Certain || o.Need.Reads && disk.ReadOnly(o.Dir)
	store, err := kv.Open(conf)
	if err != nil {
		if made != nil {
			folder.RemoveEmpty(made.missing)
		}
		return nil, err
	}
	if err := sayLost(o, store); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	h := &Handler{Store: store, Version: o.Version, Logger: log}
	end, err := h.open(o)
	if err != nil {
		end()
		return nil, errors.Join(err, store.Close())
	}
	client, shut := Within(h.HTTP())
	return &Line{Client: client, Progress: o.Console.Progress(), store: store, created: made, close: func() error {
		h.Peers.Close()
		err := shut()
		if made != nil {
			made.undo(store)
		}
		end()
		return errors.Join(err, store.Close())
	}}, nil
}

// sayLost says what may be missing of a store of which only what is certain is read.
func sayLost(o Opening, store *kv.Store) error {
	lost := store.Tables.Engine.Lost()
	if lost == "" {
		return nil
	}
	last, err := store.Tables.LastChange()
	if err == nil {
		o.Console.Warn("%s: %s; the latest change that is certain is of %s", o.Dir, lost, last.In(o.Zone).Format(time.DateTime))
	}
	return err
}

// open opens what answers over a store that this process has open. end closes its search index.
func (h *Handler) open(o Opening) (end func(), err error) {
	end = func() {}
	conf := api.Config{Store: h.Store, Version: h.Version, Logger: h.Logger, Outbound: Outbound, Backlog: Backlog(h.Store)}
	if o.Need.Indexed {
		end = JoinIndex(&conf, index.Config{Store: h.Store, Dir: o.Dir, Logger: h.Logger})
	}
	server, err := api.New(conf)
	if err != nil {
		return end, err
	}
	h.Commands = server.Control()
	h.Peers, err = sync.New(sync.Config{Store: h.Store, Version: h.Version, Logger: h.Logger})
	return end, err
}

// Backlog counts the changes of a store that its centre lacks.
func Backlog(store *kv.Store) api.Backlog {
	return func() (int, time.Time, error) { return venue.Backlog(store) }
}

// Outbound is a client for other servers: on this machine alone, or anywhere.
func Outbound(loopback bool) *http.Client {
	if loopback {
		return dial.NewProxiedClient(dial.Loopback)
	}
	return dial.NewProxiedClient(dial.Anywhere)
}

// Handler answers the owner of the folder.
//
//	/sync/…                     replication
//	POST /control/venue/join    {"url","code","insecure"} → Centre
//	/…                          the control handler of api
type Handler struct {
	Store    *kv.Store
	Peers    *sync.Server
	Commands http.Handler // the control handler of api
	Wake     func()       // is called when the store has joined a centre; nil = no loop runs
	Version  string
	Logger   *slog.Logger
}

// HTTP is the handler as one http.Handler.
func (h *Handler) HTTP() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", h.Commands)
	mux.HandleFunc("POST "+JoinPath, h.join)
	replication := h.Peers.Control()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/sync/") {
			replication.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// JoinPath is where a command asks to join a centre.
const JoinPath = "/control/venue/join"

// Joining is the request to join a centre.
type Joining struct {
	URL      string `json:"url"`
	Code     string `json:"code"`
	Insecure bool   `json:"insecure"`
}

// Centre is a centre that was joined, without the secrets of this store.
type Centre struct {
	ID     int64     `json:"id"`
	Name   string    `json:"name"`
	URL    string    `json:"url"`
	Realm  string    `json:"realm"`
	Centre string    `json:"centre"`
	Ends   time.Time `json:"expires_at"`
}

// join joins a centre, then wakes the loop that exchanges changes with it.
func (h *Handler) join(w http.ResponseWriter, r *http.Request) {
	var j Joining
	if json.NewDecoder(r.Body).Decode(&j) != nil {
		j = Joining{} // an empty URL is refused
	}
	u, err := venue.Join(r.Context(), venue.JoinConfig{Store: h.Store, URL: j.URL, Code: j.Code, Insecure: j.Insecure})
	if err != nil {
		Refuse(w, joinStatus(err), err)
		return
	}
	if h.Wake != nil {
		h.Wake()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Centre{u.ID, u.Name, u.URL, h.Store.Tables.Identity.Realm(), u.Node, u.Ends}) // the command may be gone
}

// Refuse answers a request with an error.
func Refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(Failure{Problem{Message: err.Error()}}) // the command may be gone
}

// joinStatus tells wrong usage from other failures.
func joinStatus(err error) int {
	for _, usage := range []error{dial.ErrURL, venue.ErrCentre, venue.ErrPlain, venue.ErrNoCode} {
		if errors.Is(err, usage) {
			return http.StatusBadRequest
		}
	}
	return http.StatusConflict
}

// created is a store that this command made, in a folder that had none.
type created struct {
	dir     string
	missing []string // the folders that were made with it
	before  []string // the names that were in the folder
	failed  bool     // the work of the command failed
}

// beforeCreating notes how a folder looks before a store is made in it.
func beforeCreating(dir string) *created {
	entries, _ := os.ReadDir(dir) // no store is made in a folder that cannot be read
	c := &created{dir: dir, missing: folder.Missing(dir)}
	for _, e := range entries {
		c.before = append(c.before, e.Name())
	}
	return c
}

// undo removes the store after a failure, unless it holds something. The store is still open, so no other process can write to it.
func (c *created) undo(store *kv.Store) {
	if !c.failed {
		return
	}
	if nothing, err := store.Laptop.HoldsNothing(); err != nil || !nothing {
		return
	}
	_ = folder.Clear(c.dir, c.before...) // files that cannot be removed stay, and hold nothing
	folder.RemoveEmpty(c.missing)
}

// JoinIndex opens a search index and has it answer a server's searches. end closes it. Without an index searches look at every record.
func JoinIndex(c *api.Config, of index.Config) (end func()) {
	x, err := index.Open(of)
	if err != nil {
		of.Logger.Error("there is no search index; searches look at every record", "error", err)
		return func() {}
	}
	c.Finder, c.Indexer = x, x
	return x.Close
}
