package dial

import (
	"context"
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
	// Public leaves out loopback, private networks and the like. It is for addresses that callers over the network give.
	Public
	// Loopback is this machine itself. Secrets may go there in the clear.
	Loopback
)

// ErrNotDialed is an address that a client may not dial.
var ErrNotDialed = errors.New("the address is not one that may be dialled from here")

// NewClient makes a client for peers that others may name. It follows no redirects, and uses no proxy. The address that is dialled in the
// end decides whether it may be dialled, so no name server can lead elsewhere.
func NewClient(reach Reach) *http.Client { return newClient(reach.dial, nil) }

// NewProxiedClient makes a client for what a person's command or a laptop dials. It is NewClient through the proxy of the environment, if
// there is one.
func NewProxiedClient(reach Reach) *http.Client { return newClient(reach.dial, environment()) }

// NewEagerClient makes a client for a laptop during an event. It is NewProxiedClient, and dials each second until there is a connection.
func NewEagerClient(reach Reach) *http.Client { return newClient(eager(reach.dial), environment()) }

// dialFunc makes a connection, as a dialer does.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dial makes a connection to an address within reach. Its resolver is its own: the shared one could wait for an answer that never comes.
func (r Reach) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second, Resolver: &net.Resolver{}}
	d.Control = func(_, address string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(address); err != nil || !r.contains(at.Addr()) {
			return ErrNotDialed
		}
		return nil
	}
	return d.DialContext(ctx, network, address)
}

// How long a connection may take, and when an eager client dials again.
const (
	dialTime  = 10 * time.Second
	dialAgain = time.Second
)

// eager dials again each second until there is a result, because the system repeats a lost packet only after 1, 3 and 7 seconds. The first
// result counts.
func eager(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, done := context.WithTimeout(ctx, dialTime)
		defer done() // ends the dials that are left
		type result struct {
			conn net.Conn
			err  error
		}
		results := make(chan result)
		next := time.NewTicker(dialAgain)
		defer next.Stop()
		for {
			go func() {
				conn, err := dial(ctx, network, address)
				select {
				case results <- result{conn, err}:
				case <-ctx.Done(): // too late
					if err == nil {
						_ = conn.Close() // nothing was said on it
					}
				}
			}()
			select {
			case r := <-results:
				return r.conn, r.err
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-next.C:
			}
		}
	}
}

// newClient makes a client with a dialer, and with the proxy of each request; nil = there is none. All clients of this program for other
// servers are made here.
func newClient(dial dialFunc, proxy proxyFunc) *http.Client {
	t := &http.Transport{
		DialContext: dial, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, ResponseHeaderTimeout: stallLimit, ExpectContinueTimeout: time.Second,
	}
	c := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     t,
	}
	if proxy != nil {
		t.Proxy, t.OnProxyConnectResponse = proxy, checkProxy
		c.Transport = proxied{t}
	}
	return c
}

// notPublic are networks that are not public, and that netip does not know.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
}

// contains tells whether an address is within reach.
func (r Reach) contains(a netip.Addr) bool {
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
