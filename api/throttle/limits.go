package throttle

import (
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// loginLog tells the log of logins that failed: once a minute and address, with their count. It names no key, which a person may have
// mistaken for the secret.
type loginLog struct {
	to *slog.Logger

	mu     sync.Mutex
	counts map[netip.Addr]int
	others int         // of further addresses
	timer  *time.Timer // nil = nothing is to be told
}

// loggedAddresses is how many addresses a minute are told one by one.
const loggedAddresses = 100

// add counts a failed login. The first one of a minute begins it.
func (l *loginLog) add(addr netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = map[netip.Addr]int{}
	}
	if _, known := l.counts[addr]; known || len(l.counts) < loggedAddresses {
		l.counts[addr]++
	} else {
		l.others++
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(meterSpan, l.tell)
	}
}

// tell ends the minute.
func (l *loginLog) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	for _, addr := range slices.SortedFunc(maps.Keys(l.counts), netip.Addr.Compare) {
		l.to.Warn("logins failed", "address", addr, "count", l.counts[addr])
	}
	if l.others > 0 {
		l.to.Warn("logins failed", "address", "others", "count", l.others)
	}
	l.counts, l.others, l.timer = nil, 0, nil
}

// meter counts what happens under a name in the minute from its first count on. It remembers a bounded number of names; when
// they are all in use, further ones share one count.
type meter[K comparable] struct {
	now func() time.Time

	mu      sync.Mutex
	windows map[K]window
	swept   time.Time
}

// window is one name's minute.
type window struct {
	ends time.Time
	n    int
}

// The bounds of a meter.
const (
	meterSpan  = time.Minute
	meterNames = 10_000
)

func newMeter[K comparable](now func() time.Time) *meter[K] {
	return &meter[K]{now: now, windows: map[K]window{}}
}

// add counts one more under a name and answers its window so far.
func (m *meter[K]) add(name K) window {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	w, ok := m.windows[name]
	if !ok && len(m.windows) >= meterNames {
		name = m.room(name, now)
		w = m.windows[name]
	}
	if !now.Before(w.ends) {
		w = window{ends: now.Add(meterSpan)}
	}
	w.n++
	m.windows[name] = w
	return w
}

// room forgets the windows that are over, at most once a second. It returns the name to count under: the zero name if the meter is full.
func (m *meter[K]) room(name K, now time.Time) K {
	if now.Sub(m.swept) >= time.Second {
		m.swept = now
		for k, w := range m.windows {
			if !now.Before(w.ends) {
				delete(m.windows, k)
			}
		}
	}
	if len(m.windows) >= meterNames {
		var shared K
		return shared
	}
	return name
}

// quota is what is left of a limit.
type quota struct {
	limit, remaining int
	reset            time.Time
	wait             time.Duration
}

// of is the quota that a window leaves of a limit.
func (m *meter[K]) of(w window, limit int) quota {
	return quota{limit, max(0, limit-w.n), w.ends, w.ends.Sub(m.now())}
}
