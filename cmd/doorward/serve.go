package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"doorward/api"
	"doorward/index"
	"doorward/kv"
	"doorward/sync"
	"doorward/sync/venue"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
)

// frugal is the memory from which on the collector works harder instead of letting garbage lie: large requests leave a lot of it.
// What is in use may be more.
const frugal = 128 << 20

// serving is what serve is told.
type serving struct {
	*settings
	listen, metrics string
	api             api.Config
	overAfter       time.Duration // how long after its end laptops drop an event
	ending          ending
	certificate     certificate
	heir            *heir
	again           bool // after a restore: its addresses have been told
	wiped           bool // the centre has ordered the folder wiped, and has all that was in it
}

func (m *Main) serveCommand(set *settings) *cobra.Command {
	s := &serving{settings: set}
	cmd := &cobra.Command{
		Use: "serve", Short: "Answer requests until a signal ends it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := m.serveOn(cmd.Context(), s); err != nil || !s.wiped {
				return err
			}
			return wipe(s.data, m.logger(slog.LevelInfo))
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.listen, "listen", "127.0.0.1:8080", "the address to answer at")
	f.StringVar(&s.metrics, "metrics-listen", "", "a second address, for /metrics alone")
	f.StringVar(&s.certificate.cert, "tls-cert", "", "a PEM file with the certificate, and those that it is signed by: the server is reached by https")
	f.StringVar(&s.certificate.key, "tls-key", "", "a PEM file with the certificate's key")
	f.StringSliceVar(&s.api.TrustedProxies, "trusted-proxy", nil, "the address or network of a proxy whose X-Forwarded-For, -Host and -Proto are believed")
	f.StringVar(&s.api.PublicURL, "public-url", "", "where clients reach the server, if not at the address they name")
	f.StringSliceVar(&s.api.AllowedHosts, "allowed-host", nil, "a further name that clients may use for the server")
	f.StringSliceVar(&s.api.CORSOrigins, "cors-origin", nil, "an origin whose pages may call the server")
	f.IntVar(&s.api.AuthFailures, "auth-failures", 20, "failed logins a minute and address before it has to wait; 0 = no limit")
	f.DurationVar(&s.ending.delay, "shutdown-delay", 0, "how long after a signal requests are answered still while /readyz fails, so that a proxy takes the server out of service")
	f.DurationVar(&s.overAfter, "drop-after", 72*time.Hour, "how long after its end laptops drop an event of which the server has everything; 0 = never")
	return cmd
}

// serve opens the store, answers until ctx ends, and closes everything in the order in which nothing is lost.
func (m *Main) serve(ctx context.Context, s *serving) (err error) {
	if err := m.checkStore(s.settings); err != nil {
		return err
	}
	if os.Getenv("GOMEMLIMIT") == "" { // which the runtime has followed already
		debug.SetMemoryLimit(frugal)
	}
	log := m.logger(slog.LevelInfo)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	f := &faces{log: log, drain: cmp.Or(m.Drain, drain)}
	defer f.close() // where nothing came of serving
	if err := m.prepare(ctx, s, f); err != nil {
		return err
	}
	store, err := m.openStore(ctx, s, kv.Config{Dir: s.data, Zone: s.zone, Logger: log, Registerer: registry, Built: buildTime(), Clock: m.Clock, Machine: m.machine(), Disk: s.disk()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	tidy(s.data, log)
	s.api.Store, s.api.Version, s.api.Logger, s.api.Registry = store, versionText(), log, registry
	s.apply(f.listeners[0].Addr().String())
	s.api.Backlog = backlogOf(store)
	end := joinIndex(&s.api, index.Config{Store: store, Dir: s.data, Logger: log, Registerer: registry})
	defer func() { err = errors.Join(err, end()) }()
	server, err := api.New(s.api)
	if err != nil {
		return usageError{err}
	}
	defer server.Close()
	socket, err := listenSocket(s.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSocket(s.data, socket)) }()
	peers, err := sync.New(sync.Config{Store: store, Gate: server, Prefix: server.Prefix(), Version: versionText(), Logger: log, Registerer: registry, OverAfter: s.overAfter})
	if err != nil {
		return err
	}
	defer peers.Close() // what it was ordered to do ends before the store is closed
	keeper, ctx, err := keep(ctx, venue.Config{Store: store, Version: versionText(), Logger: log, Registerer: registry})
	if err != nil {
		return err
	}
	defer func() {
		keeper.end(log)
		s.wiped = keeper.wiped
	}()
	f.answer(server, peers)
	f.servers[0].TLSConfig = s.certificate.config()
	f.add(socket, &http.Server{Handler: controlling(peers, joins(store, keeper.venue.Wake, s.heir.beside(store, server.Control())))})
	defer compactInTime(ctx, store, log)()
	defer s.certificate.watching(log)()
	log.Info("serving", "address", s.api.Address, "version", s.api.Version)
	m.greet(s, store, s.api.Address)
	defer log.Info("stopped")
	s.ending.answers.Store(true)
	return f.run(ctx)
}

// apply tells the API where it is reached and how, and when it ends.
func (s *serving) apply(address string) {
	s.api.Address, s.api.Ending, s.api.Outbound = address, s.ending.told.Load, outbound
	s.api.Registry.MustRegister(s.certificate.gauge())
	if s.certificate.on() {
		s.api.CertificateEnds = s.certificate.ends
	}
}

// prepare finds what would keep serve from serving, before there is a store: its settings, its addresses, another server.
func (m *Main) prepare(ctx context.Context, s *serving, f *faces) error {
	if err := s.sound(); err != nil {
		return err
	}
	if kv.ReadOnly(s.data) {
		return errReadOnly(s.data)
	}
	if err := s.certificate.load(); err != nil {
		return err
	}
	if conn, err := dialSocket(ctx, s.data); err == nil {
		_ = conn.Close() // it only showed that somebody answers
		return errServed(s.data)
	}
	if !hasStore(s.data) {
		o, tidy, err := trial(opening{settings: s.settings, makes: true})
		if err != nil {
			return err
		}
		defer tidy()
		if err := s.check(o.data); err != nil {
			return err
		}
	}
	if err := f.listen("--listen", &s.listen); err != nil || s.metrics == "" {
		return err
	}
	return f.listen("--metrics-listen", &s.metrics)
}

// check tries the settings on a store in another folder.
func (s *serving) check(dir string) error {
	store, err := kv.Open(kv.Config{Dir: dir, Zone: s.zone, Built: buildTime()})
	if err != nil {
		return err
	}
	c := s.api
	c.Store = store
	if _, err = api.New(c); err != nil {
		err = usageError{err}
	}
	return errors.Join(err, store.Close())
}

func errServed(dir string) error {
	return fmt.Errorf("another doorward serves the folder %s already", dir)
}

// openStore opens the store. A command that is at work on the folder is waited for; another server is not.
func (m *Main) openStore(ctx context.Context, s *serving, c kv.Config) (store *kv.Store, err error) {
	for range patience {
		if store, err = kv.Open(c); !errors.Is(err, kv.ErrInUse) || ctx.Err() != nil {
			return store, err
		}
		if conn, e := dialSocket(ctx, s.data); e == nil {
			_ = conn.Close() // it only showed that somebody answers
			return nil, errServed(s.data)
		}
	}
	return nil, fmt.Errorf("another doorward is at work on the folder %s; try again when it is done", s.data)
}

// faces are the listeners of a server and what answers on each.
type faces struct {
	log       *slog.Logger
	drain     time.Duration // how long what has begun may take in the end
	servers   []*http.Server
	listeners []net.Listener
}

func (f *faces) add(l net.Listener, s *http.Server) {
	s.ErrorLog = slog.NewLogLogger(f.log.Handler(), slog.LevelDebug)
	f.servers, f.listeners = append(f.servers, s), append(f.listeners, l)
}

// answer gives the public addresses their servers.
func (f *faces) answer(server *api.Server, peers *sync.Server) {
	public := f.listeners
	f.listeners = nil
	for i, h := range []http.Handler{both(server, peers), server.Metrics()}[:len(public)] {
		f.add(public[i], api.HTTPServer(h))
	}
	f.servers[0].RegisterOnShutdown(peers.Close)
	if len(public) > 1 {
		f.log.Info("metrics", "address", public[1].Addr().String())
	}
}

// both answers replication below /sync and everything else as the API.
func both(server *api.Server, peers *sync.Server) http.Handler {
	site, replication, mount := server.Handler(), server.Wrap(peers), server.Prefix()+"/sync"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == mount || strings.HasPrefix(r.URL.Path, mount+"/") {
			replication.ServeHTTP(w, r)
			return
		}
		site.ServeHTTP(w, r)
	})
}

// controlling answers whoever owns the folder: replication below /sync, and the commands of the command line.
func controlling(peers *sync.Server, commands http.Handler) http.Handler {
	replication := peers.Control()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/sync/") {
			replication.ServeHTTP(w, r)
			return
		}
		commands.ServeHTTP(w, r)
	})
}

func (f *faces) close() {
	for _, l := range f.listeners {
		_ = l.Close() // most are closed
	}
}

// serveOne answers at a listener, over https where the server has a certificate.
func serveOne(s *http.Server, l net.Listener) error {
	if s.TLSConfig != nil {
		return s.ServeTLS(l, "", "")
	}
	return s.Serve(l)
}

// run serves until ctx ends or one of the listeners fails, then lets what has begun finish; who takes too long is cut off.
func (f *faces) run(ctx context.Context) error {
	failed := make(chan error, len(f.servers))
	for i, s := range f.servers {
		go func() {
			if err := serveOne(s, f.listeners[i]); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	last, cancel := context.WithTimeout(context.Background(), f.drain)
	defer cancel()
	for _, s := range f.servers {
		e := s.Shutdown(last)
		if errors.Is(e, context.DeadlineExceeded) {
			f.log.Warn("requests that did not end in time are cut off")
			e = s.Close()
		}
		err = errors.Join(err, e)
	}
	return err
}
