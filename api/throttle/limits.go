package throttle

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Limits are the throttle of failed logins and the rates of keys.
type Limits struct {
	failures  int // a minute and address; 0 = no throttle
	addresses *meter[netip.Addr]
	pairs     *meter[attempt]
	rates     *meter[int64]
	log       loginLog
}

// attempt is a key tried from an address.
type attempt struct {
	addr netip.Addr
	key  string
}

// NewLimits makes limits of so many failed logins a minute and address; 0 = no limit.
func NewLimits(failures int, now func() time.Time, log *slog.Logger) *Limits {
	return &Limits{failures, newMeter[netip.Addr](now), newMeter[attempt](now), newMeter[int64](now), loginLog{to: log}}
}

// Error tells a caller to wait.
type Error struct{ quota }

// Error says that the caller has to wait.
func (t *Error) Error() string { return "too many requests" }

// Ration counts a request of a key that has a rate, and writes what is left of it into the headers of the answer.
func (l *Limits) Ration(key int64, rate int, h http.Header) error {
	w := l.rates.add(key)
	q := l.rates.of(w, rate)
	if w.n > rate {
		return &Error{q}
	}
	q.Show(h)
	return nil
}

// RetryAfter is how long to wait.
func (t *Error) RetryAfter() time.Duration { return t.wait }

// Close tells the log what it has not been told yet.
func (l *Limits) Close() { l.log.tell() }

// Fail counts and logs a failed login. The error, if any, is an *Error.
func (l *Limits) Fail(addr netip.Addr, key string) error {
	l.log.add(addr)
	return l.Count(addr, key)
}

// Count counts a request without a login as a failed one. It is not logged: no login was tried.
func (l *Limits) Count(addr netip.Addr, key string) error {
	if l.failures <= 0 {
		return nil
	}
	if w := l.addresses.add(addr); w.n > l.failures {
		return &Error{l.addresses.of(w, l.failures)}
	}
	if key == "" {
		return nil
	}
	half := max(1, l.failures/2)
	if w := l.pairs.add(attempt{addr, shorten(key)}); w.n > half {
		return &Error{l.pairs.of(w, half)}
	}
	return nil
}

// shorten copies at most as much of a name as tells real keys apart.
func shorten(key string) string { return strings.Clone(key[:min(len(key), 64)]) }

// Show writes the quota's headers.
func (q quota) Show(h http.Header) {
	h["X-Ratelimit-Limit"] = []string{strconv.Itoa(q.limit)}
	h["X-Ratelimit-Remaining"] = []string{strconv.Itoa(q.remaining)}
	h["X-Ratelimit-Reset"] = []string{strconv.FormatInt(q.reset.Unix(), 10)}
}
