package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var today = time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)

func made(t *testing.T) (*Authority, string) {
	t.Helper()
	dir := t.TempDir()
	a, err := Make(dir, "porta.local", today)
	if err != nil {
		t.Fatal(err)
	}
	return a, dir
}

// verify checks a certificate as a phone does that trusts the authority and no other.
func (a *Authority) verify(leaf *x509.Certificate, name string, at time.Time, between ...*x509.Certificate) error {
	roots, more := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(a.cert)
	for _, c := range between {
		more.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, Intermediates: more, CurrentTime: at})
	return err
}

func TestPhonesTrustTheServerByNameAndAddress(t *testing.T) {
	a, _ := made(t)
	leaf, err := a.Issue(today, []netip.Addr{
		netip.MustParseAddr("192.168.0.7"), netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("fd00::7"), netip.MustParseAddr("2001:db8::1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"porta.local", "localhost", "192.168.0.7", "127.0.0.1", "fd00::7"} {
		for _, at := range []time.Time{today, today.Add(-29 * 24 * time.Hour), today.Add(89 * 24 * time.Hour)} {
			if err := a.verify(leaf.Leaf, name, at); err != nil {
				t.Errorf("%s at %s: %v", name, at, err)
			}
		}
	}
	for _, name := range []string{"8.8.8.8", "2001:db8::1", "192.168.0.8", "other.local"} {
		if a.verify(leaf.Leaf, name, today) == nil {
			t.Errorf("%s is not in the certificate, and is trusted", name)
		}
	}
	if lasts := leaf.Leaf.NotAfter.Sub(leaf.Leaf.NotBefore); lasts > 397*24*time.Hour {
		t.Errorf("the certificate lasts %s, longer than browsers take", lasts)
	}
}

// TestAStolenAuthorityIsWorthNothingElsewhere signs with the authority's own key what it must not: each is refused.
func TestAStolenAuthorityIsWorthNothingElsewhere(t *testing.T) {
	a, _ := made(t)
	for what, forged := range map[string]struct {
		x509.Certificate
		name string
		use  x509.ExtKeyUsage
	}{
		"a public name":            {x509.Certificate{DNSNames: []string{"bank.example"}}, "bank.example", x509.ExtKeyUsageServerAuth},
		"a public name beside":     {x509.Certificate{DNSNames: []string{"porta.local", "bank.example"}}, "porta.local", x509.ExtKeyUsageServerAuth},
		"another venue's name":     {x509.Certificate{DNSNames: []string{"igreja.local"}}, "igreja.local", x509.ExtKeyUsageServerAuth},
		"a name that ends alike":   {x509.Certificate{DNSNames: []string{"notporta.local"}}, "notporta.local", x509.ExtKeyUsageServerAuth},
		"any name of the zone":     {x509.Certificate{DNSNames: []string{"*.local"}}, "a.local", x509.ExtKeyUsageServerAuth},
		"a public address":         {x509.Certificate{IPAddresses: []net.IP{net.IPv4(8, 8, 8, 8)}}, "8.8.8.8", x509.ExtKeyUsageServerAuth},
		"a public address of IPv6": {x509.Certificate{IPAddresses: []net.IP{net.ParseIP("2001:db8::1")}}, "2001:db8::1", x509.ExtKeyUsageServerAuth},
		"a client":                 {x509.Certificate{DNSNames: []string{"porta.local"}}, "porta.local", x509.ExtKeyUsageClientAuth},
		"e-mail":                   {x509.Certificate{EmailAddresses: []string{"ana@bank.example"}}, "", x509.ExtKeyUsageEmailProtection},
		"a program":                {x509.Certificate{URIs: []*url.URL{{Scheme: "https", Host: "bank.example"}}}, "", x509.ExtKeyUsageCodeSigning},
	} {
		leaf, _ := forge(t, a.cert, a.key, &forged.Certificate)
		roots := x509.NewCertPool()
		roots.AddCert(a.cert)
		_, err := leaf.Verify(x509.VerifyOptions{DNSName: forged.name, Roots: roots, CurrentTime: today, KeyUsages: []x509.ExtKeyUsage{forged.use}})
		if err == nil {
			t.Errorf("%s signed by the authority is trusted", what)
		}
	}
	below, key := forge(t, a.cert, a.key, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	leaf, _ := forge(t, below, key, &x509.Certificate{DNSNames: []string{"porta.local"}})
	if a.verify(leaf, "porta.local", today, below) == nil {
		t.Error("an authority below this one is trusted")
	}
}

// forge signs any certificate, good today.
func forge(t *testing.T, parent *x509.Certificate, by *ecdsa.PrivateKey, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.NotBefore, template.NotAfter = today.Add(-time.Hour), today.Add(time.Hour)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny}
	cert, err := sign(template, parent, key, by)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func TestOnlyTheOwnerReadsTheKey(t *testing.T) {
	a, dir := made(t)
	file := filepath.Join(dir, "authority.pem")
	mode := func() fs.FileMode {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	if mode() != 0o600 {
		t.Errorf("the key's mode is %o, want 600", mode())
	}
	again, err := Open(dir)
	if err != nil || again.Fingerprint() != a.Fingerprint() || again.Host() != "porta.local" {
		t.Fatalf("Open = %v, %v", again, err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, errOpen) {
		t.Errorf("a key that others read is opened: %v", err)
	}
	other, err := Make(dir, "porta.local", today)
	if err != nil || mode() != 0o600 || other.Fingerprint() == a.Fingerprint() {
		t.Errorf("another authority: %v, mode %o", err, mode())
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("beside the authority lies: %v, %v", entries, err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder without an authority: %v", err)
	}
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil {
		t.Error("a file that is no authority is opened")
	}
}

func TestANameIsOneOfTheLocalNetwork(t *testing.T) {
	for text, want := range map[string]string{
		"porta": "porta.local", "Porta": "porta.local", "porta.local": "porta.local", "a-1.lan": "a-1.lan", "porta.igreja.home.arpa": "porta.igreja.home.arpa",
		"": "", ".local": "", "local.": "", "porta.example": "", "com.br": "", "por ta": "", "*.local": "", "home.arpa": "", "-a": "", "ação": "", "a..local": "", "porta.local:80": "", "192.168.0.1": "",
	} {
		if got, err := Name(text); got != want || (err == nil) != (want != "") {
			t.Errorf("Name(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestTheCertificateIsRenewedInTime moves the clock and the addresses.
func TestTheCertificateIsRenewedInTime(t *testing.T) {
	a, _ := made(t)
	now, addresses := today, []netip.Addr{netip.MustParseAddr("192.168.0.7")}
	leaf, err := NewLeaf(a, func() time.Time { return now }, func() []netip.Addr { return addresses })
	if err != nil {
		t.Fatal(err)
	}
	shown := func() *x509.Certificate {
		c, err := leaf.Config().GetCertificate(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf
	}
	step := func(what string, renewed bool) {
		t.Helper()
		before := shown().SerialNumber
		if did, err := leaf.Renew(); did != renewed || err != nil || (shown().SerialNumber.Cmp(before) != 0) != renewed {
			t.Errorf("%s: renewed %v, %v, want %v", what, did, err, renewed)
		}
		if err := a.verify(shown(), addresses[0].String(), now); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	step("at once", false)
	now = now.Add(59 * 24 * time.Hour)
	step("after 59 days", false)
	now = now.Add(24 * time.Hour)
	step("after 60 days", true)
	step("at once again", false)
	addresses = []netip.Addr{netip.MustParseAddr("10.0.0.7")}
	step("in another network", true)
	addresses = append(addresses, netip.MustParseAddr("8.8.8.8"))
	step("with a public address too", false)
	now = now.Add(-300 * 24 * time.Hour)
	step("with a clock that was set back", true)
	now = a.Ends().Add(-24 * time.Hour)
	step("a day before the authority's end", true)
	if !leaf.Ends().Equal(a.Ends()) {
		t.Errorf("the certificate ends %s, after its authority %s", leaf.Ends(), a.Ends())
	}
}
