package sync

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/sync/dial"
)

// Gate is what the HTTP face around this room does for it: it slows guesses of secrets, and limits the rate of keys.
type Gate interface {
	// Login checks a key and its secret.
	Login(r *http.Request, key, secret string) (auth.Principal, error)
	// Admit counts a request of a key. It returns an error if the key makes too many.
	Admit(w http.ResponseWriter, p auth.Principal) error
}

// Config says what a server answers for. Only Store is needed.
type Config struct {
	Store      *kv.Store
	Gate       Gate                  // nil = no throttle, no rates
	Prefix     string                // of the paths before /sync: "" or "/doorward"
	Version    string                // of this program
	Logger     *slog.Logger          // nil = silent
	Registerer prometheus.Registerer // nil = not registered
	Clock      func() time.Time      // nil = time.Now
	OverAfter  time.Duration         // how long after its end laptops drop an event; 0 = never
	Insecure   bool                  // replications ordered here may dial any address, also http
}

// Server answers the replication protocol over one store.
type Server struct {
	config  Config
	mux     *chi.Mux
	metrics *metrics
	secret  [32]byte // signs the cookies of sessions, which end with the process
	closing closing
	tasks   *tasks
	client  *http.Client // of replications that are ordered here
	packers *compressors
	idle    time.Duration // how long a read or a write of a request may take
}

// closing tells, once, that a server ends.
type closing struct {
	once  sync.Once
	ended chan struct{}
}

func (c *closing) close() { c.once.Do(func() { close(c.ended) }) }

// New makes a server. It fails if the registry has other metrics of the same names.
func New(c Config) (*Server, error) {
	if c.Store == nil {
		return nil, errors.New("sync: no store")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Gate == nil {
		c.Gate = openGate{c.Store}
	}
	m, err := newMetrics(c.Registerer)
	if err != nil {
		return nil, fmt.Errorf("sync: metrics: %w", err)
	}
	reach := dial.Public
	if c.Insecure {
		reach = dial.Anywhere
	}
	s := &Server{config: c, client: dial.NewClient(reach), metrics: m, closing: closing{ended: make(chan struct{})}, tasks: newTasks(), packers: newCompressors(), idle: idleLimit}
	_, _ = rand.Read(s.secret[:]) // never fails
	s.mux = newMux(s, c.Prefix+"/sync")
	return s, nil
}

// Close ends open feeds, each with its last line, and replications that were ordered here. It returns once they have ended.
func (s *Server) Close() {
	s.closing.close()
	s.tasks.close()
	s.client.CloseIdleConnections()
}

// ServeHTTP answers one request. It routes by the escaped path: a slash in a document's id comes as %2F.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.URL.RawPath = r.URL.EscapedPath()
	s.mux.ServeHTTP(w, r)
}

// operatorKey marks a request of the operator.
type operatorKey struct{}

// Control answers the same requests for the owner of the folder, without a key.
func (s *Server) Control() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), operatorKey{}, true))
		raw := s.config.Prefix + r.URL.EscapedPath()
		r.URL.Path, r.URL.RawPath = s.config.Prefix+r.URL.Path, raw
		s.ServeHTTP(w, r)
	})
}

// openGate is the Gate of a server without a face.
type openGate struct{ store *kv.Store }

// Login asks the store.
func (g openGate) Login(_ *http.Request, key, secret string) (auth.Principal, error) {
	return g.store.Keys.Login(key, secret)
}

// Admit admits all.
func (openGate) Admit(http.ResponseWriter, auth.Principal) error { return nil }
