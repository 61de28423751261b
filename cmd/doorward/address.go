package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"

	"doorward/kv"
	"doorward/kv/fault"
)

// greet says where the server is and, where there is no key yet, how to make one; then it tells who waits for it. After a restore that is known.
func (m *Main) greet(s *serving, store *kv.Store, address string) {
	if s.again {
		return
	}
	here, phones := reachedAt(address)
	site := s.certificate.scheme() + "://"
	fmt.Fprintf(m.Stdout, "Doorward answers at %s%s/ (API documentation: %s%s/docs)\n", site, here, site, here)
	for i, phone := range phones {
		said := "Phones in the same network: "
		if i > 0 {
			said = "                         or: "
		}
		fmt.Fprintf(m.Stdout, "%s%s%s/\n", said, site, phone)
	}
	m.greetKeys(s, store)
	if m.Ready != nil {
		m.Ready(address)
	}
}

// greetKeys says how the first key is made. A laptop needs none of its own: it says which keys work there.
func (m *Main) greetKeys(s *serving, store *kv.Store) {
	keys, err := store.Keys(kv.Operator())
	u, joined, failed := store.Upstream()
	if err != nil || failed != nil {
		return // whoever needs them is told
	}
	switch names := working(keys, store.Now()); {
	case !joined && len(keys) == 0:
		fmt.Fprintf(m.Stdout, "There is no key yet. The first one is made with:\n  %s keys add --data %s --name admin --level denomination --allow '*:*'\n",
			shell([]string{m.Name}), shell([]string{s.data}))
	case joined && u.Revoked:
		fmt.Fprintf(m.Stdout, "This laptop (%s) is REVOKED at %s: it sells and edits nothing more. Its check-ins are still taken there, for review.\n", u.Name, u.URL)
	case joined && len(names) == 0:
		fmt.Fprintf(m.Stdout, "This laptop is %s at %s. The keys of its doors come from there; none has come yet.\n", u.Name, u.URL)
	case joined:
		fmt.Fprintf(m.Stdout, "This laptop is %s at %s. Keys that work here: %s\n", u.Name, u.URL, fault.Listed(names))
	}
}

// working are the keys by which somebody can log in now, each with its level.
func working(keys []kv.Key, now time.Time) (names []string) {
	for i := range keys {
		if k := &keys[i]; k.Works(now) {
			names = append(names, fmt.Sprintf("%s (%s)", k.Name, k.Level.String()))
		}
	}
	return names
}

// reachedAt are the addresses that a browser on this machine uses, and those that phones use where the server answers at all
// addresses of the machine.
func reachedAt(address string) (here string, phones []string) {
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

// listen takes an address, which nobody is answered at yet. A port that the system has chosen is in it from then on.
func (f *faces) listen(flag string, address *string) error {
	host, port, err := net.SplitHostPort(*address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return usageError{fmt.Errorf("%s %s: an address and a port are wanted, as 127.0.0.1:8080", flag, *address)}
	}
	l, err := net.Listen("tcp", *address)
	if err != nil {
		return fmt.Errorf("%s %s: %w", flag, *address, refusedAddress(err, host, port))
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		*address = net.JoinHostPort(host, strconv.Itoa(tcp.Port))
	}
	f.listeners = append(f.listeners, l)
	return nil
}

// refusedAddress says why nobody can be answered at an address, and what to do.
func refusedAddress(err error, host, port string) error {
	unknown := new(net.DNSError)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("another program answers at port %s already; end it, or choose another port", port)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("this machine has no address %s; 0.0.0.0 stands for all that it has", host)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("you may not use port %s; choose one above 1023", port)
	case errors.As(err, &unknown):
		return fmt.Errorf("there is no machine of the name %s; 0.0.0.0 stands for all addresses of this one", host)
	}
	return err
}
