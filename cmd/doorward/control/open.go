package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
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

// Rehearse runs do on a new store elsewhere, where the folder has none: a wrong command must not leave a store behind.
func Rehearse(ctx context.Context, o Opening, do func(*Line) error) error {
	if o.HasStore() {
		return nil
	}
	o.Need = Need{Creates: true}
	tidy, err := o.Spare()
	if err != nil {
		return err
	}
	defer tidy()
	return With(ctx, o, do)
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
		if Answers(ctx, o.Dir) {
			return ViaSocket(o), nil
		}
		if !o.Need.Reads {
			if err := folder.CheckWritable(o.Dir); err != nil {
				return nil, err
			}
		}
		if l, err := InProcess(o); !errors.Is(err, disk.ErrInUse) {
			return l, err
		}
		if ctx.Err() != nil {
			return nil, console.ErrStopped
		}
	}
	return nil, folder.Busy(o.Dir)
}

// ViaSocket is a line to the server of a folder.
func ViaSocket(o Opening) *Line {
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return Dial(ctx, o.Dir) }}
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
	conf.Logger, conf.Aside, conf.ReadOnly = log, o.Need.Aside, o.Need.Reads && disk.ReadOnly(o.Dir)
	store, err := kv.Open(conf)
	if err != nil {
		if made != nil {
			folder.RemoveEmpty(made.missing)
		}
		return nil, err
	}
	h := &Handler{Store: store, Version: o.Version, Logger: log}
	end, err := h.open(o)
	if err != nil {
		end()
		return nil, errors.Join(err, store.Close())
	}
	p := newPipes()
	server := &http.Server{Handler: h.HTTP(), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(p) // it ends with Shutdown
	}()
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) }}
	return &Line{Client: &http.Client{Transport: t}, Progress: o.Console.Progress(), store: store, created: made, close: func() error {
		t.CloseIdleConnections()
		h.Peers.Close()
		err := server.Shutdown(context.Background()) // requests that were begun are finished
		<-served
		if made != nil {
			made.undo(store)
		}
		end()
		return errors.Join(err, store.Close())
	}}, nil
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
		return dial.NewClient(dial.Loopback)
	}
	return dial.NewClient(dial.Anywhere)
}
