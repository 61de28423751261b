package serve

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"doorward/cmd/doorward/console"
	"doorward/kv"
	"doorward/kv/fault"
)

// greet prints where the server is and, without a key, how to make one. After a restore it prints nothing.
func (s *server) greet(store *kv.Store) {
	if s.greeted {
		return
	}
	out := s.Console.Out
	here, phones := Addresses(s.API.Address)
	site := s.Certificate.Scheme() + "://"
	fmt.Fprintf(out, "Doorward answers at %s%s/ (API documentation: %s%s/docs)\n", site, here, site, here)
	for i, phone := range phones {
		said := "Phones in the same network: "
		if i > 0 {
			said = "                         or: "
		}
		fmt.Fprintf(out, "%s%s%s/\n", said, site, phone)
	}
	s.greetKeys(store)
	if s.Ready != nil {
		s.Ready(s.API.Address)
	}
}

// greetKeys prints how the first key is made. On a laptop it prints which keys work there.
func (s *server) greetKeys(store *kv.Store) {
	out := s.Console.Out
	keys, err := store.Keys(kv.Operator())
	u, joined, failed := store.Upstream()
	if err != nil || failed != nil {
		return // the requests that need them report the error
	}
	switch names := working(keys, store.Now()); {
	case !joined && len(keys) == 0:
		fmt.Fprintf(out, "There is no key yet. The first one is made with:\n  %s keys add --data %s --name admin --level denomination --allow '*:*'\n",
			console.Shell(s.Console.Name), console.Shell(s.Dir))
	case joined && u.Revoked:
		fmt.Fprintf(out, "This laptop (%s) is REVOKED at %s: it sells and edits nothing more. Its check-ins are still taken there, for review.\n", u.Name, u.URL)
	case joined && len(names) == 0:
		fmt.Fprintf(out, "This laptop is %s at %s. The keys of its doors come from there; none has come yet.\n", u.Name, u.URL)
	case joined:
		fmt.Fprintf(out, "This laptop is %s at %s. Keys that work here: %s\n", u.Name, u.URL, fault.Listed(names))
	}
}

// working are the keys that can log in now, each with its level.
func working(keys []kv.Key, now time.Time) (names []string) {
	for i := range keys {
		if k := &keys[i]; k.Works(now) {
			names = append(names, fmt.Sprintf("%s (%s)", k.Name, k.Level.String()))
		}
	}
	return names
}

// Addresses are the addresses that a browser on this machine uses, and those that phones use where the server answers at all
// addresses of the machine.
func Addresses(address string) (here string, phones []string) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().IsUnspecified() {
		return address, nil
	}
	port := strconv.Itoa(int(at.Port()))
	all, _ := net.InterfaceAddrs() // none where they cannot be read
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		if addr := prefix.Addr(); err == nil && addr.Is4() && !addr.IsLoopback() && !addr.IsLinkLocalUnicast() {
			phones = append(phones, net.JoinHostPort(addr.String(), port))
		}
	}
	slices.Sort(phones)
	return net.JoinHostPort("localhost", port), phones
}
