package api

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"

	"doorward/kv"
)

// maxHeaders is the size of request line and headers that is still answered.
const maxHeaders = 16 << 10

// answer runs one exchange from its first byte to its metrics. A panic is a bug in this program: it is logged with its
// stack, answered as an internal error, and ends nothing but this request.
func (s *Server) answer(do func(*exchange, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.metrics.inFlight.Inc()
		x := s.traces.begin(s, w, r)
		defer func() {
			if v := recover(); v != nil {
				recovered(x, v)
			}
			s.metrics.observe(x)
			s.metrics.inFlight.Dec()
			s.traces.end(x)
		}()
		r.URL.RawPath = "" // %31 is 1: routes are matched on what the path means
		if err := do(x, r); err != nil {
			x.fail(err)
		}
	})
}

// recovered answers for a handler that panicked.
func recovered(x *exchange, v any) {
	if v == http.ErrAbortHandler {
		panic(v)
	}
	x.fail(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
}

// gate judges what can be judged before a route is known, then hands the request on.
func (s *Server) gate(next http.Handler) http.Handler {
	prefix := s.prefix()
	return s.answer(func(x *exchange, r *http.Request) error {
		if headerSize(r) > maxHeaders {
			return errHeaders
		}
		if !s.hosts.allow(r) && !hostless(prefix, r.URL.Path) {
			return errHost
		}
		next.ServeHTTP(x, r)
		return nil
	})
}

// headerSize is about what request line and headers took on the wire.
func headerSize(r *http.Request) int {
	n := len(r.Method) + len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}

// callerKey is the context's key of a Principal.
type callerKey struct{}

// Wrap is for a sister room's handler: the same checks of Host, sizes, key and secret, throttle and rate, and the same request
// ids and metrics. The handler finds who asks by Caller, and judges permissions itself.
func (s *Server) Wrap(next http.Handler) http.Handler {
	checked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		err := x.authenticate(r)
		if err == nil {
			err = x.ration()
		}
		if err != nil {
			x.fail(err)
			return
		}
		next.ServeHTTP(x, r.WithContext(context.WithValue(r.Context(), callerKey{}, x.caller)))
	})
	return s.gate(checked)
}

// Caller is who asks, in a handler behind Wrap.
func Caller(ctx context.Context) (kv.Principal, bool) {
	p, ok := ctx.Value(callerKey{}).(kv.Principal)
	return p, ok
}
