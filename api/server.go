package api

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/cors"
	"github.com/prometheus/client_golang/prometheus"

	"doorward/api/barcode"
	"doorward/api/phone"
	"doorward/api/reach"
	"doorward/api/throttle"
	"doorward/api/web"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/crash"
	"doorward/kv/desk"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Config has the options of a server. Only Store is needed.
type Config struct {
	Store           *kv.Store
	PublicURL       string               // where clients reach the server, "https://centre.example/doorward"; "" = the request's Host
	Address         string               // where it listens, for links that are made without a request; "" = not known
	Local           Local                // how phones in the same network reach the server
	CertificateEnds func() time.Time     // when the certificate expires by which clients reach the server over https; nil = http
	TrustedProxies  []string             // addresses and networks of proxies; their X-Forwarded-For, -Host and -Proto are believed
	AllowedHosts    []string             // further names that a request's Host may hold, without port
	CORSOrigins     []string             // origins of pages that may call; empty = none
	AuthFailures    int                  // failed logins a minute and address, half of it for one key there; 0 = no throttle
	Version         string               // of this program, shown in metrics and the OpenAPI document
	Logger          *slog.Logger         // nil = silent
	Finder          desk.Finder          // answers searches together with the store; nil = the store looks at every record
	Indexer         Indexer              // keeps what Finder looks into; nil = nothing to keep
	Backlog         Backlog              // what a laptop has and its centre has not; nil = not known
	Ending          func() bool          // the server ends soon, and /readyz says so; nil = it does not
	Outbound        Outbound             // how other servers are reached; nil = none is
	Registry        *prometheus.Registry // what /metrics shows, metrics of api, the process and Go included; nil = one of its own
}

// Local is how phones in the same network reach the server without internet.
type Local struct {
	Name      string // that is announced there, "porta.local"; "" = none
	Authority []byte // the certificate of the authority that the phones are to trust, DER; then http is answered too. nil = none

	// Reached are the addresses at which phones open a page, the likeliest first; alone means that only this machine reaches the server.
	// nil = the address of the request.
	Reached func(path string) (urls []string, alone bool)
}

// Outbound is a client for other servers; where loopback is set it dials this machine alone.
type Outbound func(loopback bool) *http.Client

// Backlog tells how many changes a store has that its centre has not said that it has, and when the oldest of them was made.
type Backlog func() (n int, oldest time.Time, err error)

// Server answers the public API over one store.
type Server struct {
	config   Config
	base     *url.URL // the parsed PublicURL, without a slash at its end; nil = none
	router   *router
	hosts    *reach.Hosts
	proxies  reach.Proxies
	limits   *throttle.Limits
	metrics  *metrics
	traces   *traces
	photos   *barcode.Reader
	tickets  phone.Tickets
	company  *company
	pages    *web.Pages
	origins  *reach.Origins
	document func() ([]byte, error) // renders the OpenAPI document, once
}

// New makes a server. It fails if the public URL cannot be read, if a host or an origin is not one that a request can name, or if the
// registry has other metrics of the same names.
func New(c Config) (*Server, error) {
	if c.Store == nil {
		return nil, errors.New("api: no store")
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Registry = cmp.Or(c.Registry, prometheus.NewRegistry())
	base, trusted, err := c.addresses()
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(c.Registry, c.Version)
	if err != nil {
		return nil, fmt.Errorf("api: metrics: %w", err)
	}
	s := &Server{
		config: c, base: base, metrics: m, hosts: reach.NewHosts(base, append(slices.Clone(c.AllowedHosts), c.Local.Name)), proxies: trusted,
		limits: throttle.NewLimits(c.AuthFailures, time.Now, c.Logger), traces: newTraces(), photos: barcode.NewReader(photosAtOnce), company: newCompany(), origins: reach.NewOrigins(base, c.CORSOrigins),
	}
	if s.pages, err = web.New(); err != nil {
		return nil, fmt.Errorf("api: pages: %w", err)
	}
	table := slices.Concat(siteRoutes(s.Prefix()), integratorRoutes(), scanRoutes(), sessionRoutes(), eventRoutes(), adminRoutes())
	s.router = newRouter(s.Prefix(), table)
	s.document = sync.OnceValues(func() ([]byte, error) { return document(table, c.PublicURL, c.Version) })
	return s, nil
}

// Check returns an error if the public URL cannot be read, or if a host, an origin or a proxy is not one that a request can name.
func (c *Config) Check() error {
	_, _, err := c.addresses()
	return err
}

// addresses reads the settings that name addresses.
func (c *Config) addresses() (base *url.URL, trusted reach.Proxies, err error) {
	if base, err = parsePublicURL(c.PublicURL); err != nil {
		return nil, nil, err
	}
	if err := reach.Check(c.AllowedHosts, c.CORSOrigins); err != nil {
		return nil, nil, err
	}
	trusted, err = reach.ParseProxies(c.TrustedProxies)
	return base, trusted, err
}

// parsePublicURL reads an absolute http(s) URL without query; its path loses the slash at its end.
func parsePublicURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("public URL %q: an absolute http or https address is wanted, as https://porta.example", text)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

// Close ends open streams, and logs the failed logins that are not logged yet. The server may still answer requests.
func (s *Server) Close() {
	s.EndStreams()
	s.limits.Close()
}

// EndStreams ends the streams of pages, so that a server that ends need not wait for them.
func (s *Server) EndStreams() { s.company.end() }

// Prefix is the path that everything is mounted below: "" or "/doorward".
func (s *Server) Prefix() string {
	if s.base == nil {
		return ""
	}
	return s.base.Path
}

// Handler answers everything public.
func (s *Server) Handler() http.Handler {
	h := http.Handler(s.router)
	if len(s.config.CORSOrigins) > 0 {
		h = cors.Handler(s.corsOptions())(h)
	}
	return s.gate(h)
}

// corsOptions lets pages of the listed origins make every call of the contract, with their key and without cookies.
func (s *Server) corsOptions() cors.Options {
	return cors.Options{
		AllowOriginFunc: func(_ *http.Request, origin string) bool { return s.origins.Listed(origin) },
		AllowedMethods:  []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{"Authorization", "Content-Type", "If-Match", "If-None-Match", "Idempotency-Key",
			"X-Idempotency-Key", "X-Request-Id", "X-Door", "X-API-Version", "Last-Event-ID", "Content-Encoding", "X-Couch-Full-Commit"},
		ExposedHeaders: []string{"ETag", "Location", "Retry-After", "X-Request-Id", "X-Checkin-Id", "X-Checkin-At",
			"Idempotency-Replayed", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Search", RevokedHeader},
		MaxAge:             600,
		OptionsPassthrough: true,
	}
}

// Metrics answers /metrics and nothing else, without a key, for a listener of its own.
func (s *Server) Metrics() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.page)
	return mux
}

// HTTPServer is an http.Server with the limits of every listener: 5 s for a request's headers, 15 s for all of a request, 30 s
// for its answer, 60 s between requests, 64 KiB of headers, and nothing after a body in chunks. A route that takes longer moves its own
// deadlines.
func HTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           unmistaken(h),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    64 << 10,

		DisableGeneralOptionsHandler: true, // OPTIONS * is for the router too
	}
}

// unmistaken ends a connection after a request with a body in chunks. The request may have told a length too, which net/http ignores
// without a trace: a proxy that goes by that length would have put bytes of one client where the next request is read.
func unmistaken(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// hostless reports whether a path answers to any Host: monitors reach it by any name.
func hostless(prefix, path string) bool {
	path, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return false
	}
	switch strings.TrimSuffix(path, "/") {
	case "/healthz", "/readyz":
		return true
	}
	return false
}

// bringsKey reports whether a request for the metrics brings a key. It may then have any Host: a page
// that rebinds its name to this server knows no key.
func bringsKey(prefix string, r *http.Request) bool {
	return strings.TrimSuffix(r.URL.Path, "/") == prefix+metricsPath && len(r.Header["Authorization"]) > 0
}

// authenticate finds the caller, once. A right key and secret always pass, and are never counted.
func (x *exchange) authenticate(r *http.Request) (err error) {
	if x.known {
		return nil
	}
	key, secret, ok := credentials(r.Header["Authorization"])
	if !ok && len(r.Header["Authorization"]) == 0 {
		if key, secret, ok, err = (session{x}).credentials(r); err != nil {
			return err
		}
	}
	switch {
	case !ok && len(r.Header["Authorization"]) == 0: // counted, but not logged: no login was tried
		return cmp.Or(x.server.limits.Count(reach.ClientAddr(r), key), table.ErrBadLogin)
	case !ok:
		return x.server.failedLogin(r, key)
	}
	x.caller, err = x.server.Login(r, key, secret)
	x.known, x.page = err == nil, len(r.Header["Authorization"]) == 0
	return err
}

// lastWords lets the phone of a revoked door key hand in its kept scans. It returns false for any other caller.
func (x *exchange) lastWords(err error) bool {
	if !errors.Is(err, table.ErrRevoked) {
		return false
	}
	event, _ := record.Event.ParseID(x.request.PathValue("id")) // every route of a door names its event
	key, _, ok := credentials(x.request.Header["Authorization"])
	if !ok {
		key, _, _, _ = session{x}.credentials(x.request) // authenticate has found the pair right
	}
	x.caller, err = x.store().Keys.RevokedDoor(key, event.Int())
	x.known = err == nil
	return x.known
}

// failedLogin counts and logs a failed login. It returns ErrBadLogin, or an error that tells the client to wait.
func (s *Server) failedLogin(r *http.Request, key string) error {
	return cmp.Or(s.limits.Fail(reach.ClientAddr(r), key), table.ErrBadLogin)
}

// seconds formats a wait for Retry-After: whole seconds, at least one.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}

// credentials reads the one Authorization header: Basic, in any case, then base64 of key, colon, secret, padded or not.
func credentials(values []string) (key, secret string, ok bool) {
	if len(values) != 1 {
		return "", "", false
	}
	scheme, coded, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	coded = strings.TrimRight(strings.TrimSpace(coded), "=")
	var space [192]byte
	plain, err := base64.RawStdEncoding.AppendDecode(space[:0], []byte(coded))
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(plain), ":")
}

// maxHeaders is the size of request line and headers that is still answered.
const maxHeaders = 16 << 10

// answer runs one exchange from its first byte to its metrics. A panic is a bug in this program: it is logged with its
// stack, answered as an internal error, and ends nothing but this request.
func (s *Server) answer(do func(*exchange, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.metrics.inFlight.Inc()
		x := s.traces.begin(s, w, r)
		defer func() {
			v := recover()
			if v != nil && v != http.ErrAbortHandler {
				recovered(x, v)
			}
			s.metrics.observe(x)
			s.metrics.inFlight.Dec()
			s.traces.end(x)
			if v == http.ErrAbortHandler {
				panic(v) // net/http cuts the connection
			}
		}()
		if err := do(x, r); err != nil {
			x.fail(err)
		}
		crash.At(crash.AfterReply)
	})
}

// recovered answers for a handler that panicked.
func recovered(x *exchange, v any) {
	x.owner = false // a stack is for the log: an operator cannot mend this
	x.fail(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
}

// gate checks the size of the headers, the Host, and the page that the request comes from, which need
// no route, and passes the request on.
func (s *Server) gate(next http.Handler) http.Handler {
	prefix := s.Prefix()
	return s.answer(func(x *exchange, r *http.Request) error {
		if headerSize(r) > maxHeaders {
			return errHeaders
		}
		r, x.scheme = s.proxies.Behind(r)
		x.request = r
		if !s.hosts.Allow(r) && !hostless(prefix, r.URL.Path) && !bringsKey(prefix, r) {
			return errHost
		}
		if !s.origins.Allow(r) {
			return errForeign
		}
		next.ServeHTTP(x, r)
		return nil
	})
}

// headerSize returns about how many bytes the request line and the headers had on the wire.
func headerSize(r *http.Request) int {
	n := len(r.Method) + len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}

// Wrap is for a sister room's handler: the same checks of Host and sizes, the same request ids and metrics, and CORS for all methods.
// The handler asks Login and Admit about the caller, and names its route by Route.
func (s *Server) Wrap(next http.Handler) http.Handler {
	if len(s.config.CORSOrigins) > 0 {
		o := s.corsOptions()
		o.AllowedMethods = append(o.AllowedMethods, http.MethodPut)
		o.AllowedHeaders = append(o.AllowedHeaders, "Accept")
		o.AllowCredentials = true // PouchDB asks for it; the cookie of a session is refused to other origins all the same
		next = cors.Handler(o)(next)
	}
	return s.gate(next)
}

// Login returns the principal of a key and secret. It slows down guesses: then the error has a method RetryAfter.
func (s *Server) Login(r *http.Request, key, secret string) (auth.Principal, error) {
	p, err := s.config.Store.Keys.Login(key, secret)
	if !errors.Is(err, table.ErrBadLogin) || errors.Is(err, table.ErrRevoked) {
		return p, err // the secret of a revoked key is right: this is no guess
	}
	if slow := s.failedLogin(r, key); !errors.Is(slow, table.ErrBadLogin) {
		return auth.Principal{}, slow
	}
	return auth.Principal{}, err
}

// Admit counts a request of a key that has a rate.
func (s *Server) Admit(w http.ResponseWriter, p auth.Principal) error {
	if rate := p.Rate(); rate > 0 {
		return s.limits.Ration(p.Key(), rate, w.Header())
	}
	return nil
}

// observe counts one answered exchange.
func (m *metrics) observe(x *exchange) {
	path, method := "unmatched", methodLabel(x.request.Method)
	if x.route != nil {
		path = x.route.path
	} else if x.pattern != "" {
		path = x.pattern
	}
	status := x.status
	if status <= 0 || status >= len(m.statuses) {
		status = http.StatusOK // net/http answers 200 for a handler that says nothing
	}
	m.requests.WithLabelValues(path, method, m.statuses[status]).Inc()
	m.duration.WithLabelValues(path, method).Observe(time.Since(x.started).Seconds())
}

// methodLabel returns a method as a label: one of a closed set.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}
