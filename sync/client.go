package sync

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// Reach says which addresses a client may dial.
type Reach int

// How far clients reach.
const (
	Anywhere Reach = iota
	// Public leaves out loopback, private networks and the like: where somebody else than the machine's owner says whom to dial.
	Public
	// Loopback is this machine itself, where secrets may go in the clear.
	Loopback
)

// errNotDialed is an address that a client is not to dial.
var errNotDialed = errors.New("the address is not one that may be dialled from here")

// NewClient is a client for talking to peers. It follows no redirects. What it may dial is judged by the address that is dialled in
// the end, so that no name server can talk it into another.
func NewClient(reach Reach) *http.Client {
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	d.Control = func(_, address string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(address); err != nil || !reach.holds(at.Addr()) {
			return errNotDialed
		}
		return nil
	}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: d.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, ResponseHeaderTimeout: stall, ExpectContinueTimeout: time.Second,
		},
	}
}

// notPublic are the networks of nobody in particular that netip does not know.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
}

// holds tells whether an address is within reach.
func (r Reach) holds(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	switch r {
	case Anywhere:
		return true
	case Loopback:
		return a.IsLoopback()
	}
	for _, p := range notPublic {
		if p.Contains(a) {
			return false
		}
	}
	return a.IsGlobalUnicast() && !a.IsPrivate()
}
