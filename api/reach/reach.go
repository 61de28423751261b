package reach

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Hosts knows the names that a request may call this server by. Any other is a DNS rebinding page, or a forged name that would
// end up in a link.
type Hosts struct {
	names map[string]bool // lower case, without port

	mu     sync.Mutex
	own    map[netip.Addr]bool
	looked time.Time
}

// addressAge is how long the machine's addresses are believed.
const addressAge = 10 * time.Second

// NewHosts are the hosts of the public URL, if there is one, of the allowed names, of localhost and of this machine's addresses.
func NewHosts(base *url.URL, allowed []string) *Hosts {
	h := &Hosts{names: map[string]bool{"localhost": true}}
	if base != nil {
		h.names[strings.ToLower(base.Hostname())] = true
	}
	for _, name := range allowed {
		h.names[bareHost(name)] = true
	}
	if name, err := os.Hostname(); err == nil && name != "" {
		label, _, _ := strings.Cut(strings.ToLower(name), ".")
		h.names[label+".local"] = true
	}
	delete(h.names, "")
	return h
}

// Check refuses hosts and origins that no request can name: an operator would look for the fault elsewhere.
func Check(allowed, cors []string) error {
	for _, host := range allowed {
		if strings.Contains(host, "/") || !isName(bareHost(host)) { // what stands behind a colon is taken for a port
			return fmt.Errorf("allowed host %q: a name alone is wanted, as porta.example", host)
		}
	}
	for _, origin := range cors {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || !isName(strings.TrimPrefix(bareHost(u.Host), anySub)) || !strings.EqualFold(origin, u.Scheme+"://"+u.Host) {
			return fmt.Errorf("CORS origin %q: scheme and host alone are wanted, as https://page.example", origin)
		}
	}
	return nil
}

// isName tells a host's name or address, as bareHost makes it.
func isName(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host != "" && !strings.ContainsFunc(host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-._", r)
	})
}

// splitHost reads a request's Host: a name in lower case without the dot of a full one, or an address without brackets. ok is false
// where it is malformed, because a link repeats all of it.
func splitHost(host string) (name string, ok bool) {
	name, port, _ := strings.Cut(host, ":")
	if inner, bracketed := strings.CutPrefix(host, "["); bracketed {
		name, port, ok = strings.Cut(inner, "]")
		addr, err := netip.ParseAddr(name)
		if !ok || err != nil || !addr.Is6() || addr.Zone() != "" || port != "" && port[0] != ':' {
			return "", false
		}
		port = strings.TrimPrefix(port, ":")
	}
	if port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", false
		}
	}
	return strings.ToLower(strings.TrimSuffix(name, ".")), true
}

// bareHost is a setting's host without port, brackets and the dot of a full name, in lower case.
func bareHost(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// Allow tells whether a request's Host is one of ours.
func (h *Hosts) Allow(r *http.Request) bool {
	name, ok := splitHost(r.Host)
	if !ok {
		return false
	}
	if h.names[name] {
		return true
	}
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	addr = addr.Unmap()
	return addr.IsLoopback() || addr == localAddr(r) || h.ours(addr)
}

// localAddr is the address that the request came in on.
func localAddr(r *http.Request) netip.Addr {
	tcp, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap().WithZone("")
}

// ours tells whether an address is one of this machine's, as it would be behind a proxy on the same machine.
func (h *Hosts) ours(addr netip.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.Sub(h.looked) > addressAge {
		h.own, h.looked = machineAddrs(), now
	}
	return h.own[addr]
}

// machineAddrs are the addresses of the machine's interfaces; none where they cannot be read.
func machineAddrs() map[netip.Addr]bool {
	own := map[netip.Addr]bool{}
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own[prefix.Addr().Unmap().WithZone("")] = true
		}
	}
	return own
}

// ClientAddr is the address that a request came from: the throttle's name for it. Of IPv6 the network of 64 bits, which is what
// one machine can change at will.
func ClientAddr(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := ap.Addr().Unmap().WithZone("")
	if addr.Is6() {
		p, _ := addr.Prefix(64) // 64 is a length that every IPv6 address has
		addr = p.Addr()
	}
	return addr
}

// forwarding are the headers that a proxy leaves.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"}

// Direct tells a request from this machine itself that no proxy passed on.
func Direct(r *http.Request) bool {
	for _, name := range forwarding {
		if len(r.Header[name]) > 0 {
			return false
		}
	}
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

// Proxies are the networks of trusted proxies. In a request from one of them the X-Forwarded headers name the client. In any other
// request they mean nothing.
type Proxies []netip.Prefix

// ParseProxies reads addresses and networks.
func ParseProxies(texts []string) (all Proxies, err error) {
	for _, text := range texts {
		p, failed := netip.ParsePrefix(text)
		if failed != nil {
			var a netip.Addr
			if a, failed = netip.ParseAddr(text); failed == nil {
				a = a.Unmap().WithZone("")
				p = netip.PrefixFrom(a, a.BitLen())
			}
		}
		if failed != nil {
			return nil, fmt.Errorf("trusted proxy %q: an address or a network is wanted, as 127.0.0.1 or 10.0.0.0/8", text)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

func (ps Proxies) hold(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(ps, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Behind is a request as its client sent it to the first trusted proxy, with the client's address and the Host that it named; and the scheme
// that it used. Any other request is answered as it is.
func (ps Proxies) Behind(r *http.Request) (_ *http.Request, scheme string) {
	scheme = "http"
	if r.TLS != nil {
		scheme = "https"
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if len(ps) == 0 || err != nil || !ps.hold(peer.Addr()) {
		return r, scheme
	}
	seen := *r
	if client := ps.client(peer.Addr(), r.Header["X-Forwarded-For"]); client != peer.Addr() {
		seen.RemoteAddr = net.JoinHostPort(client.String(), "0")
	}
	if host := lastOf(r.Header["X-Forwarded-Host"]); host != "" {
		seen.Host = host
	}
	if proto := strings.ToLower(lastOf(r.Header["X-Forwarded-Proto"])); proto == "http" || proto == "https" {
		scheme = proto
		at := *r.URL
		at.Scheme = proto // by which a sister room knows it
		seen.URL = &at
	}
	return &seen, scheme
}

// client is the last address of the list that is no trusted proxy's: what stands before it may be anybody's invention. Where an entry
// cannot be read, it is the proxy's that wrote it.
func (ps Proxies) client(peer netip.Addr, lists []string) netip.Addr {
	at := peer
	for _, text := range slices.Backward(strings.Split(strings.Join(lists, ","), ",")) {
		a, ok := forwardedAddr(strings.TrimSpace(text))
		if !ok {
			break
		}
		if at = a; !ps.hold(a) {
			break
		}
	}
	return at
}

// forwardedAddr reads an address, which some proxies write with a port.
func forwardedAddr(text string) (a netip.Addr, ok bool) {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr(), true
	}
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return a, err == nil
}

// lastOf is the last value of a header: the one that the nearest proxy wrote.
func lastOf(values []string) string {
	if len(values) == 0 {
		return ""
	}
	last := values[len(values)-1]
	return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
}
