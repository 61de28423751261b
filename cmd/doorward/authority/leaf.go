package authority

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"doorward/cmd/doorward/repeat"
)

// Leaf is the certificate that a server shows. It is in memory alone, and renewed while the server runs.
type Leaf struct {
	by        *Authority
	clock     func() time.Time
	addresses func() []netip.Addr
	now       atomic.Pointer[issued]
}

// issued is a certificate, when it was made, and the addresses in it.
type issued struct {
	*tls.Certificate
	at        time.Time
	addresses []netip.Addr
}

// NewLeaf issues the first certificate. A nil clock is the machine's own; nil addresses are those of the machine.
func NewLeaf(by *Authority, clock func() time.Time, addresses func() []netip.Addr) (*Leaf, error) {
	if clock == nil {
		clock = time.Now
	}
	if addresses == nil {
		addresses = machineAddresses
	}
	l := &Leaf{by: by, clock: clock, addresses: addresses}
	return l, l.issue(privateOf(addresses()))
}

// machineAddresses are the addresses of the machine's interfaces; none where they cannot be read.
func machineAddresses() (all []netip.Addr) {
	found, _ := net.InterfaceAddrs()
	for _, a := range found {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, p.Addr())
		}
	}
	return all
}

func (l *Leaf) issue(addresses []netip.Addr) error {
	now := l.clock()
	made, err := l.by.Issue(now, addresses)
	if err != nil {
		return err
	}
	l.now.Store(&issued{made, now, addresses})
	return nil
}

// Ends is when the present certificate expires.
func (l *Leaf) Ends() time.Time { return l.now.Load().Leaf.NotAfter }

// Config gives every new connection the present certificate.
func (l *Leaf) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return l.now.Load().Certificate, nil },
	}
}

// Renew issues another certificate if the present one is old, if the machine's addresses have changed, or if its clock was set back. It
// reports whether it did.
func (l *Leaf) Renew() (renewed bool, err error) {
	was, now, addresses := l.now.Load(), l.clock(), privateOf(l.addresses())
	age := now.Sub(was.at)
	if age < renewAfter && age > -time.Hour && slices.Equal(addresses, was.addresses) {
		return false, nil
	}
	err = l.issue(addresses)
	return err == nil, err
}

// lookAfter is the time between two looks at the clock and the addresses.
const lookAfter = 2 * time.Second

// Watch renews the certificate until end is called. end waits for the last look.
func (l *Leaf) Watch(log *slog.Logger) (end func()) {
	return repeat.Every(lookAfter, func() { l.look(log) })
}

// look renews the certificate where that is due. What fails is tried again.
func (l *Leaf) look(log *slog.Logger) {
	switch renewed, err := l.Renew(); {
	case err != nil:
		log.Error("the certificate of the local authority cannot be renewed", "cause", err, "expires", l.Ends().UTC())
	case renewed:
		log.Info("the certificate of the local authority is renewed", "expires", l.Ends().UTC())
	}
}
