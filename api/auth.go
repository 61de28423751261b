package api

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"doorward/api/reach"
	"doorward/kv/auth"
	"doorward/kv/crash"
	"doorward/kv/record"
	"doorward/kv/table"

	"github.com/go-chi/cors"
)

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
	x.known = err == nil
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

// gate checks the size of the headers and the Host, which need no route, and passes the request on.
func (s *Server) gate(next http.Handler) http.Handler {
	prefix := s.Prefix()
	return s.answer(func(x *exchange, r *http.Request) error {
		if headerSize(r) > maxHeaders {
			return errHeaders
		}
		r, x.scheme = s.proxies.Behind(r)
		x.request = r
		if !s.hosts.Allow(r) && !hostless(prefix, r.URL.Path) {
			return errHost
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
		o := corsOptions(s.config.CORSOrigins)
		o.AllowedMethods = append(o.AllowedMethods, http.MethodHead, http.MethodPut)
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
