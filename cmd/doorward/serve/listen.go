package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"doorward/api"
	"doorward/cmd/doorward/announce"
	"doorward/cmd/doorward/authority"
	"doorward/cmd/doorward/certificate"
	"doorward/cmd/doorward/console"
	"doorward/sync"
)

// faces are the listeners of a server, and the HTTP server of each.
type faces struct {
	log       *slog.Logger
	drain     time.Duration // how long requests that were begun may take in the end
	servers   []*http.Server
	listeners []net.Listener
}

func (f *faces) add(l net.Listener, s *http.Server) {
	s.ErrorLog = slog.NewLogLogger(f.log.Handler(), slog.LevelDebug)
	f.servers, f.listeners = append(f.servers, s), append(f.listeners, l)
}

// answer gives the public addresses their servers. The first address speaks http, https, or both.
func (f *faces) answer(server *api.Server, peers *sync.Server, c *certificates) {
	public := f.listeners
	f.listeners = nil
	site := both(server, peers)
	plain := public[0]
	if c.leaf != nil {
		var secure net.Listener
		plain, secure = newFork(plain)
		f.add(secure, api.HTTPServer(site))
		f.servers[0].TLSConfig = c.leaf.Config()
	}
	first := api.HTTPServer(site)
	first.TLSConfig = c.files.Config()
	f.add(plain, first)
	f.servers[0].RegisterOnShutdown(peers.Close)
	f.servers[0].RegisterOnShutdown(server.EndStreams)
	if len(public) > 1 {
		f.add(public[1], api.HTTPServer(server.Metrics()))
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

func (f *faces) close() {
	for _, l := range f.listeners {
		_ = l.Close() // most are closed already
	}
}

// serveOne answers at a listener, over https where the server has a certificate.
func serveOne(s *http.Server, l net.Listener) error {
	if s.TLSConfig != nil {
		return s.ServeTLS(l, "", "")
	}
	return s.Serve(l)
}

// run serves until ctx ends or one of the listeners fails. Then no listener takes requests any more, and those that were begun may finish; those that take
// too long are cut off.
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
	ended := make(chan error)
	for _, s := range f.servers {
		go func() { ended <- f.end(last, s) }()
	}
	for range f.servers {
		err = errors.Join(err, <-ended)
	}
	return err
}

// end ends a server once the requests that it has begun are finished, or the context ends.
func (f *faces) end(last context.Context, s *http.Server) error {
	err := s.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		f.log.Warn("requests that did not end in time are cut off")
		err = s.Close()
	}
	return err
}

// listen takes an address. Requests wait there until run. A port that the system chooses is written into the address.
func (f *faces) listen(flag string, address *string) error {
	host, port, err := net.SplitHostPort(*address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return console.Usage(fmt.Errorf("%s %s: an address and a port are wanted, as 127.0.0.1:8080", flag, *address))
	}
	l, err := net.Listen("tcp", *address)
	if err != nil {
		return fmt.Errorf("%s %s: %w", flag, *address, refusedAddress(err, host, port))
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		*address = net.JoinHostPort(host, strconv.Itoa(tcp.Port))
	}
	f.listeners = append(f.listeners, l)
	return nil
}

// listenAgain takes the address at which the store before was served. An outgoing connection of this machine may have the port for a moment,
// so a port that is taken is tried again for a while.
func (f *faces) listenAgain(flag string, address *string) error {
	taken := new(takenPort)
	for end := time.Now().Add(againFor); ; time.Sleep(againEvery) {
		err := f.listen(flag, address)
		if !errors.As(err, &taken) || time.Now().After(end) {
			return err
		}
		f.log.Warn("the port is taken for the moment; it is tried again", "port", taken.port)
	}
}

// How long and how often listenAgain tries.
const (
	againFor   = 15 * time.Second
	againEvery = 500 * time.Millisecond
)

// takenPort is the error of a port that another program has.
type takenPort struct{ port string }

func (e *takenPort) Error() string {
	return fmt.Sprintf("another program answers at port %s already; end it, or choose another port", e.port)
}

// refusedAddress says why the server cannot listen at an address, and what to do.
func refusedAddress(err error, host, port string) error {
	unknown := new(net.DNSError)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return &takenPort{port}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("this machine has no address %s; 0.0.0.0 stands for all that it has", host)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("you may not use port %s; choose one above 1023", port)
	case errors.As(err, &unknown):
		return fmt.Errorf("there is no machine of the name %s; 0.0.0.0 stands for all addresses of this one", host)
	}
	return err
}

// certificates are how the server speaks https: by the operator's files and then by https alone, by the folder's own authority and then by
// http too, or not at all.
type certificates struct {
	present
	files *certificate.Files
	by    *authority.Authority // nil = the folder has none, or the files go before it
	leaf  *authority.Leaf      // that it has signed; nil as by
}

// present is the certificate that clients are shown: that of the files, or the leaf.
type present interface {
	Ends() time.Time                     // zero = the server speaks http
	Watch(log *slog.Logger) (end func()) // renews it until end is called
}

// secure finds the certificates, and the name of the machine.
func (s *server) secure() error {
	s.shown = certificates{present: s.Certificate, files: s.Certificate}
	if err := s.Certificate.Load(); errors.Is(err, certificate.ErrNoPair) {
		return console.Usage(err)
	} else if err != nil {
		return err
	}
	name, _ := os.Hostname() // a machine without a name has none for phones either
	if label, _, _ := strings.Cut(strings.ToLower(name), "."); label != "" && label != "localhost" {
		s.machine = label + announce.Zone
	}
	if s.Certificate.On() || !authority.Exists(s.Dir) {
		return nil
	}
	var err error
	if s.shown.by, err = authority.Open(s.Dir); err != nil {
		return err
	}
	s.machine = s.shown.by.Host()
	s.shown.leaf, err = authority.NewLeaf(s.shown.by, s.Clock, nil)
	s.shown.present = s.shown.leaf
	return err
}

// announce tells phones the name of the machine, where the server answers phones. end ends it. A server with a public URL is reached by the
// name in that.
func (s *server) announce() (end func()) {
	host, _, err := net.SplitHostPort(s.API.Address)
	at := net.ParseIP(host)
	if err != nil || at == nil || at.IsLoopback() || s.API.PublicURL != "" || !strings.HasSuffix(s.machine, announce.Zone) {
		return func() {}
	}
	if at.IsUnspecified() {
		at = nil
	}
	return announce.Start(announce.Config{Name: s.machine, Address: at, Logger: s.log})
}
