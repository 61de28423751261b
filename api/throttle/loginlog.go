package throttle

import (
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"
)

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
