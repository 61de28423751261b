package api

import (
	"encoding/base64"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"doorward/kv"
)

// limits are the throttle of failed logins and the rates of keys.
type limits struct {
	failures  int // a minute and address; 0 = no throttle
	addresses *meter[netip.Addr]
	pairs     *meter[attempt]
	rates     *meter[int64]
}

// attempt is a key tried from an address.
type attempt struct {
	addr netip.Addr
	key  string
}

func newLimits(failures int, now func() time.Time) *limits {
	return &limits{failures, newMeter[netip.Addr](now), newMeter[attempt](now), newMeter[int64](now)}
}

// throttled is the error of a caller who must wait.
type throttled struct{ quota }

func (t *throttled) Error() string { return "too many requests" }

// RetryAfter is how long to wait.
func (t *throttled) RetryAfter() time.Duration { return t.wait }

// fail counts a failed login and answers what to tell of it.
func (l *limits) fail(addr netip.Addr, key string) error {
	if l.failures <= 0 {
		return kv.ErrBadLogin
	}
	if w := l.addresses.add(addr); w.n > l.failures {
		return &throttled{l.addresses.of(w, l.failures)}
	}
	if key == "" {
		return kv.ErrBadLogin
	}
	half := max(1, l.failures/2)
	if w := l.pairs.add(attempt{addr, shorten(key)}); w.n > half {
		return &throttled{l.pairs.of(w, half)}
	}
	return kv.ErrBadLogin
}

// shorten copies at most as much of a name as tells real keys apart.
func shorten(key string) string { return strings.Clone(key[:min(len(key), 64)]) }

// authenticate finds out who asks, once. A right key and secret always pass and are never counted.
func (x *exchange) authenticate(r *http.Request) (err error) {
	if x.known {
		return nil
	}
	key, secret, ok := credentials(r.Header["Authorization"])
	if !ok && len(r.Header["Authorization"]) == 0 {
		if key, secret, ok, err = x.server.fromCookie(r); err != nil {
			return err
		}
	}
	if !ok {
		if len(r.Header["Authorization"]) > 0 { // who shows nothing has not tried
			x.server.logins.fail(clientAddr(r))
		}
		return x.server.limits.fail(clientAddr(r), key)
	}
	x.caller, err = x.server.Login(r, key, secret)
	x.known = err == nil
	return err
}

// ration counts a request of a key that has a rate.
func (x *exchange) ration() error { return x.server.ration(x.Header(), x.caller) }

func (s *Server) ration(h http.Header, p kv.Principal) error {
	rate := p.Rate()
	if rate <= 0 {
		return nil
	}
	m := s.limits.rates
	w := m.add(p.Key())
	q := m.of(w, rate)
	if w.n > rate {
		return &throttled{q}
	}
	q.show(h)
	return nil
}

// show writes the quota's headers.
func (q quota) show(h http.Header) {
	h["X-Ratelimit-Limit"] = []string{strconv.Itoa(q.limit)}
	h["X-Ratelimit-Remaining"] = []string{strconv.Itoa(q.remaining)}
	h["X-Ratelimit-Reset"] = []string{strconv.FormatInt(q.reset.Unix(), 10)}
}

// seconds is a wait as Retry-After says it: whole seconds, at least one.
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
