package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"doorward/cmd/doorward/folder"
	"doorward/cmd/doorward/repeat"
	"doorward/kv/backup"
	"doorward/kv/disk"
)

// Authority signs the certificates of one server.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// How long certificates are good. The clock of a phone may be slow or fast.
const (
	authorityBefore = 365 * 24 * time.Hour
	authorityAfter  = 10 * 365 * 24 * time.Hour
	leafBefore      = 30 * 24 * time.Hour
	leafAfter       = 90 * 24 * time.Hour
	renewAfter      = 60 * 24 * time.Hour
)

// private are the ranges of addresses that the authority may sign for: private, link-local and loopback.
var private = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("::1/128"),
}

// localZones end the names that no public authority signs for.
var localZones = []string{".local", ".lan", ".internal", ".home.arpa"}

// Name is the venue's name as the network knows it: porta becomes porta.local. It fails for what is no name, and for a public name.
func Name(text string) (string, error) {
	name := strings.ToLower(text)
	if !strings.Contains(name, ".") {
		name += ".local"
	}
	local := slices.ContainsFunc(localZones, func(zone string) bool { return strings.HasSuffix(name, zone) })
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) {
			return "", fmt.Errorf("%q is no name in a network: letters, digits and hyphens are wanted, as porta", text)
		}
	}
	if !local || slices.Contains(localZones, "."+name) {
		return "", fmt.Errorf("%q is a public name: a name such as porta.local is wanted; for a public name serve takes --tls-cert", text)
	}
	return name, nil
}

// isLabel reports whether a text may stand between the dots of a name.
func isLabel(label string) bool {
	foreign := strings.ContainsFunc(label, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' })
	return label != "" && len(label) <= 63 && !foreign && !strings.HasPrefix(label, "-") && !strings.HasSuffix(label, "-")
}

// Exists reports whether a folder has an authority.
func Exists(dir string) bool { return folder.Exists(path(dir)) }

func path(dir string) string { return filepath.Join(dir, folder.Authority) }

// Make makes the authority of a folder and replaces one that is there. name is what Name returns.
func Make(dir, name string, now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "Doorward " + name, Organization: []string{"Doorward, for the doors of one venue"}},
		NotBefore: now.Add(-authorityBefore), NotAfter: now.Add(authorityAfter),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: []string{name, "localhost"},
	}
	for _, p := range private {
		template.PermittedIPRanges = append(template.PermittedIPRanges,
			&net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())})
	}
	a := &Authority{key: key}
	if a.cert, err = sign(template, template, key, key); err != nil {
		return nil, err
	}
	return a, a.write(path(dir))
}

// sign signs a certificate for a key.
func sign(template, parent *x509.Certificate, of, by *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, of.Public(), by)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// write puts the authority's file in its place. Only its owner reads it.
func (a *Authority) write(name string) error {
	key, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		return err
	}
	return backup.Replace(name, func(w io.Writer) error {
		return errors.Join(pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), pem.Encode(w, &pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	})
}

// errOpen is a file that others may read: its key may have been copied.
var errOpen = errors.New("other users may read the key of this authority: make another one with tls init --replace")

// Open reads the authority of a folder. The error is fs.ErrNotExist if the folder has none.
func Open(dir string) (*Authority, error) {
	name := path(dir)
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if disk.OthersRead(info) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errOpen}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA || len(pair.Leaf.PermittedDNSDomains) == 0 {
		return nil, fmt.Errorf("%s: this is no authority that tls init has made", name)
	}
	return &Authority{pair.Leaf, key}, nil
}

// Host is the name by which phones reach the server.
func (a *Authority) Host() string { return a.cert.PermittedDNSDomains[0] }

// Ends is when the authority expires.
func (a *Authority) Ends() time.Time { return a.cert.NotAfter }

// DER is the authority's certificate, without its key, as phones install it.
func (a *Authority) DER() []byte { return a.cert.Raw }

// Fingerprint is the SHA-256 of the certificate as phones show it: 32 pairs of digits.
func (a *Authority) Fingerprint() string {
	sum := sha256.Sum256(a.cert.Raw)
	return fmt.Sprintf("% X", sum[:])
}

// Issue signs a certificate for the venue's names and those of the addresses that are private.
func (a *Authority) Issue(now time.Time, addresses []netip.Addr) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ends := now.Add(leafAfter)
	if ends.After(a.cert.NotAfter) {
		ends = a.cert.NotAfter
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: a.Host()}, NotBefore: now.Add(-leafBefore), NotAfter: ends, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: a.cert.PermittedDNSDomains,
	}
	for _, addr := range privateOf(addresses) {
		template.IPAddresses = append(template.IPAddresses, addr.AsSlice())
	}
	leaf, err := sign(template, a.cert, key, a.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw, a.cert.Raw}, PrivateKey: key, Leaf: leaf}, nil
}

// Covers reports whether the authority may sign for an address.
func Covers(a netip.Addr) bool {
	return slices.ContainsFunc(private, func(p netip.Prefix) bool { return p.Contains(a) })
}

// privateOf are the addresses that the authority may sign for, each once and in order. One public address would make the whole certificate
// void.
func privateOf(addresses []netip.Addr) (all []netip.Addr) {
	for _, a := range addresses {
		a = a.Unmap().WithZone("")
		if Covers(a) {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

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
