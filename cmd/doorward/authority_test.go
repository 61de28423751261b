package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// testAuthority signs certificates that only those trust who are told to.
type testAuthority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	last int64 // serial number
}

func newAuthority() (*testAuthority, error) {
	a := &testAuthority{}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "Invented Authority"}, NotAfter: time.Now().Add(time.Hour), NotBefore: time.Now().Add(-time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var err error
	a.cert, a.key, err = a.sign(template)
	return a, err
}

// sign signs a certificate, or the authority's own.
func (a *testAuthority) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	a.last++
	template.SerialNumber = big.NewInt(a.last)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

// issue writes a pair for this machine, cert.pem and key.pem, and the authority's own certificate, ca.pem. The latest serial number tells the pair
// from others.
func (a *testAuthority) issue(dir string, ends time.Time) error {
	cert, key, err := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost", "porta.example"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: ends.Add(-24 * time.Hour), NotAfter: ends,
	})
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for name, block := range map[string]*pem.Block{
		"ca.pem": {Type: "CERTIFICATE", Bytes: a.cert.Raw}, "cert.pem": {Type: "CERTIFICATE", Bytes: cert.Raw}, "key.pem": {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// roots are what clients trust who are told to.
func (a *testAuthority) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}
