package reach

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

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
