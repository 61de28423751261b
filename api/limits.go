package api

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
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

// ration counts a request of a key that has a rate, and writes what is left of it into the headers of the answer.
func (l *limits) ration(key int64, rate int, h http.Header) error {
	w := l.rates.add(key)
	q := l.rates.of(w, rate)
	if w.n > rate {
		return &throttled{q}
	}
	q.show(h)
	return nil
}

// RetryAfter is how long to wait.
func (t *throttled) RetryAfter() time.Duration { return t.wait }

// fail counts a failed login. The error, if any, is a *throttled.
func (l *limits) fail(addr netip.Addr, key string) error {
	if l.failures <= 0 {
		return nil
	}
	if w := l.addresses.add(addr); w.n > l.failures {
		return &throttled{l.addresses.of(w, l.failures)}
	}
	if key == "" {
		return nil
	}
	half := max(1, l.failures/2)
	if w := l.pairs.add(attempt{addr, shorten(key)}); w.n > half {
		return &throttled{l.pairs.of(w, half)}
	}
	return nil
}

// shorten copies at most as much of a name as tells real keys apart.
func shorten(key string) string { return strings.Clone(key[:min(len(key), 64)]) }

// show writes the quota's headers.
func (q quota) show(h http.Header) {
	h["X-Ratelimit-Limit"] = []string{strconv.Itoa(q.limit)}
	h["X-Ratelimit-Remaining"] = []string{strconv.Itoa(q.remaining)}
	h["X-Ratelimit-Reset"] = []string{strconv.FormatInt(q.reset.Unix(), 10)}
}
