package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"doorward/api"
	"doorward/cmd/doorward/archive"
	"doorward/cmd/doorward/certificate"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/folder"
	"doorward/cmd/doorward/invite"
	"doorward/cmd/doorward/repeat"
	"doorward/index"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/sync"
	"doorward/sync/venue"

	"github.com/prometheus/client_golang/prometheus"
)

// Config is what serve is told.
type Config struct {
	*folder.Folder
	Console     *console.Console
	Version     string
	Listen      string // the address to answer at
	Metrics     string // a second address, for /metrics alone; "" = none
	API         api.Config
	Certificate *certificate.Files
	DropAfter   time.Duration        // how long after its end laptops drop an event; 0 = never
	Delay       time.Duration        // how long after a signal requests are still answered
	Drain       time.Duration        // how long requests may take after that; 0 = DefaultDrain
	Clock       func() time.Time     // of the machine; nil = its own
	Ready       func(address string) // is called once, when the server answers; nil = not called
}

// DefaultDrain is how long a server that ends waits for the requests that it has begun.
const DefaultDrain = 30 * time.Second

// server is a running server, over one store after another.
type server struct {
	Config
	log      *slog.Logger
	shutdown shutdown
	restores restores
	shown    certificates
	machine  string // the name by which phones in the same network find this machine; "" = none
	greeted  bool   // a person knows the addresses
	wiped    bool   // the centre has ordered to wipe the folder, and has all that was in it
}

// Run opens the store and answers until ctx ends, then closes everything in the order in which nothing is lost. It wipes the folder if the
// centre has ordered that.
func Run(ctx context.Context, c Config) error {
	signal.Ignore(syscall.SIGPIPE) // the reader of the log may end before the server does
	s := &server{Config: c, log: c.Console.Logger(slog.LevelInfo)}
	if err := s.run(ctx); err != nil || !s.wiped {
		return err
	}
	kept, err := archive.Wipe(context.WithoutCancel(ctx), s.Folder)
	if err != nil {
		return err
	}
	s.log.Warn("this folder was wiped, as its centre has ordered: all check-ins of its store are there")
	if len(kept) > 0 {
		s.log.Warn("stores that a restore has replaced are kept: each may hold changes that the centre lacks", "files", kept)
	}
	return nil
}

// run serves the store, and each restored store that replaces it.
func (s *server) run(ctx context.Context) error {
	defer s.restores.answer(errAway)
	for {
		served, end := context.WithCancel(context.WithoutCancel(ctx)) // a signal ends it through shutdown
		s.restores.begin(end)
		forget := context.AfterFunc(ctx, func() { s.shutDown(ctx, served, end) })
		err := s.serve(served)
		end()
		forget()
		if errors.Is(err, errEnded) {
			return nil
		}
		if err != nil || !s.restores.replace(s.Dir, s.log) {
			return err
		}
		if ctx.Err() != nil { // a signal during the drain ends the server after the store was replaced: both were asked for
			s.restores.answer(nil)
			return nil
		}
		s.greeted = true
	}
}

// serve serves one store until ctx ends.
func (s *server) serve(ctx context.Context) (err error) {
	if err := s.CheckStore(); err != nil {
		return err
	}
	if os.Getenv("GOMEMLIMIT") == "" { // the runtime follows it by itself
		defer limitMemory()()
	}
	registry := prometheus.NewRegistry()
	f := &faces{log: s.log, drain: cmp.Or(s.Drain, DefaultDrain)}
	defer f.close() // after an error
	if err := s.prepare(ctx, f); err != nil {
		return err
	}
	store, err := s.openStore(ctx, registry)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	folder.Tidy(s.Dir, s.log)
	folder.TidyImports(s.Dir, s.log)
	s.apply(f.listeners[0].Addr().String(), store, registry)
	defer control.JoinIndex(&s.API, index.Config{Store: store, Dir: s.Dir, Logger: s.log, Registerer: registry})()
	site, err := api.New(s.API)
	if err != nil {
		return console.Usage(err)
	}
	defer site.Close()
	socket, err := control.Listen(s.Dir)
	if errors.Is(err, folder.ErrNoSocket) {
		s.log.Warn("the disk of the folder has no sockets: no command reaches this server; stop it first, or use HTTP", slog.String("folder", s.Dir))
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, control.Close(s.Dir, socket)) }()
	peers, err := sync.New(sync.Config{Store: store, Gate: site, Prefix: site.Prefix(), Version: s.Version, Logger: s.log, Registerer: registry, OverAfter: s.DropAfter})
	if err != nil {
		return err
	}
	defer peers.Close() // its tasks end before the store is closed
	loop, ctx, err := startVenue(ctx, venue.Config{Store: store, Version: s.Version, Logger: s.log, Registerer: registry})
	if err != nil {
		return err
	}
	defer func() { s.wiped = loop.end(s.log) }()
	f.answer(site, peers, &s.shown)
	h := &control.Handler{Store: store, Peers: peers, Commands: site.Control(), Wake: loop.venue.Wake, Version: s.Version, Logger: s.log}
	if socket != nil {
		f.add(socket, &http.Server{Handler: s.restores.before(store, h.HTTP())})
	}
	defer compactInTime(ctx, store, s.log)()
	defer s.shown.Watch(s.log)()
	defer s.announce()()
	return s.answerUntil(ctx, f, func() { s.greet(store, site.Prefix()) })
}

// answerUntil says that the server is there, and answers until ctx ends.
func (s *server) answerUntil(ctx context.Context, f *faces, greet func()) error {
	s.log.Info("serving", "address", s.API.Address, "version", s.Version)
	greet()
	defer s.log.Info("stopped")
	s.shutdown.answers.Store(true)
	s.restores.answer(nil)
	return f.run(ctx)
}

// apply tells the API its store, where it is reached, and when it ends.
func (s *server) apply(address string, store *kv.Store, registry *prometheus.Registry) {
	a := &s.API
	a.Store, a.Version, a.Logger, a.Registry, a.Backlog = store, s.Version, s.log, registry, control.Backlog(store)
	a.Finder, a.Indexer = nil, nil // those of the store before are closed
	a.Address, a.Ending, a.Outbound = address, s.shutdown.signalled.Load, control.Outbound
	registry.MustRegister(certificate.Gauge(s.shown.Ends))
	site := invite.Site{PublicURL: a.PublicURL, Scheme: s.Certificate.Scheme(), Address: address, Host: s.machine}
	a.Local, a.CertificateEnds = api.Local{Name: s.machine, Reached: func(path string) ([]string, bool) { return site.URLs(path), site.Local() }}, nil
	if !s.shown.Ends().IsZero() {
		a.CertificateEnds = s.shown.Ends
	}
	if s.shown.by != nil {
		a.Local.Authority = s.shown.by.DER()
	}
}

// prepare finds what would keep the server from serving, before there is a store: its settings, its addresses, another server.
func (s *server) prepare(ctx context.Context, f *faces) error {
	if err := s.checkNumbers(); err != nil {
		return err
	}
	if err := folder.CheckWritable(s.Dir); err != nil {
		return err
	}
	if err := s.secure(); err != nil {
		return err
	}
	if control.Answers(ctx, s.Dir) {
		return errServed(s.Dir)
	}
	if err := s.API.Check(); err != nil { // a wrong setting must not leave a store behind
		return console.Usage(err)
	}
	listen := f.listen
	if s.greeted { // another store was served there before
		listen = f.listenAgain
	}
	if err := listen("--listen", &s.Listen); err != nil || s.Metrics == "" {
		return err
	}
	return listen("--metrics-listen", &s.Metrics)
}

// checkNumbers refuses numbers below zero. Zero switches a limit off.
func (s *server) checkNumbers() error {
	switch {
	case s.API.AuthFailures < 0:
		return console.Usage(fmt.Errorf("--auth-failures %d: a number from 0 on is wanted; 0 = no limit", s.API.AuthFailures))
	case s.Delay < 0:
		return console.Usage(fmt.Errorf("--shutdown-delay %s: a time from 0 on is wanted", s.Delay))
	case s.DropAfter < 0:
		return console.Usage(fmt.Errorf("--drop-after %s: a time from 0 on is wanted; 0 = never", s.DropAfter))
	}
	return nil
}

func errServed(dir string) error {
	return fmt.Errorf("another doorward serves the folder %s already", dir)
}

// errEnded says that a signal came while the server waited for a command.
var errEnded = errors.New("a signal has ended the server before it had the store")

// openStore opens the store. It waits for a command that is at work on the folder, and not for another server. A server that has served before
// waits until the command is done: the command took the folder while one store gave way to another.
func (s *server) openStore(ctx context.Context, registry *prometheus.Registry) (store *kv.Store, err error) {
	c := s.StoreConfig()
	c.Logger, c.Registerer, c.Clock = s.log, registry, s.Clock
	for tries := 1; ; tries++ {
		if store, err = kv.Open(c); !errors.Is(err, disk.ErrInUse) {
			return store, err
		}
		switch {
		case control.Answers(ctx, s.Dir):
			return nil, errServed(s.Dir)
		case ctx.Err() != nil:
			return nil, errEnded
		case tries >= control.Tries && !s.greeted:
			return nil, folder.Busy(s.Dir)
		case tries == 1 && s.greeted:
			s.log.Warn("another doorward is at work on the folder; the server waits until it is done")
		}
	}
}

// shutdown is how a signal ends a server. At once /readyz fails, and after a delay the port is closed. In between a proxy sees that, and
// sends its requests elsewhere.
type shutdown struct {
	signalled atomic.Bool // a signal has come
	answers   atomic.Bool // the server answers; before, there is nothing to delay
}

// shutDown ends the server after the delay, or when it has ended by itself.
func (s *server) shutDown(signalled, served context.Context, end func()) {
	defer end()
	s.shutdown.signalled.Store(true)
	s.log.Info("a signal ends the server", "cause", context.Cause(signalled), "shutdown_delay", s.Delay.String())
	if s.Delay <= 0 || !s.shutdown.answers.Load() {
		return
	}
	t := time.NewTimer(s.Delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-served.Done():
	}
}

// venueLoop exchanges changes between a served store and its centre, and takes the order to wipe the folder.
type venueLoop struct {
	venue   *venue.Venue
	drain   context.CancelFunc // ends the server
	ended   chan struct{}
	ordered atomic.Bool // the centre has ordered to wipe the folder
}

// startVenue starts the loop. The context that it returns ends with ctx, or when the folder is to be wiped.
func startVenue(ctx context.Context, c venue.Config) (*venueLoop, context.Context, error) {
	l := &venueLoop{ended: make(chan struct{})}
	served, drain := context.WithCancel(ctx)
	l.drain = drain
	c.Wipe = func() {
		l.ordered.Store(true)
		drain()
	}
	var err error
	if l.venue, err = venue.New(c); err != nil {
		drain()
		return nil, nil, err
	}
	if u, joined, err := c.Store.Laptop.Upstream(); err == nil && joined && u.Insecure && strings.HasPrefix(u.URL, "http://") {
		c.Logger.Warn("the centre is spoken to over http://: everybody on the way can read all", "centre", u.URL)
	}
	go func() {
		defer close(l.ended)
		l.venue.Run(served)
	}()
	return l, served, nil
}

// end ends the loop. It reports whether the folder is to be wiped and the centre has all that was in it. No request writes to the store
// any more.
func (l *venueLoop) end(log *slog.Logger) (wiped bool) {
	l.drain()
	<-l.ended
	if !l.ordered.Load() {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), DefaultDrain)
	defer cancel()
	if err := l.venue.Farewell(ctx); err != nil {
		log.Error("the folder is not wiped as the centre has ordered: it was not reached in the end", "cause", err)
		return false
	}
	return true
}

// compactPause is the time between two looks whether the store is to be compacted.
const compactPause = 10 * time.Minute

// compactInTime compacts a served store within a day of an erasure; end ends looking.
func compactInTime(ctx context.Context, store *kv.Store, log *slog.Logger) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	last := repeat.FromNow(compactPause, func() {
		wants, err := store.Erasures.WantsCompacting()
		if err == nil && wants {
			_, err = store.Files.Compact(ctx, auth.Operator())
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("the store could not be compacted; it is tried again", slog.Any("cause", err))
		}
	})
	return func() {
		cancel()
		last()
	}
}
