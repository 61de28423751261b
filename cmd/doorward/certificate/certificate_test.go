package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestABrokenCertificateIsToldOnce: however often it is looked at.
func TestABrokenCertificateIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	dir := t.TempDir()
	c := &Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	log := slog.New(slog.NewTextHandler(&out, nil))
	look := func(want int) {
		t.Helper()
		c.look(log)
		if got := strings.Count(out.String(), "level=WARN"); got != want {
			t.Errorf("%d warnings, want %d\n%s", got, want, out.String())
		}
	}
	issue(t, c, time.Now().Add(time.Hour))
	if err := c.Load(); err != nil {
		t.Fatal(err)
	}
	look(0)
	if err := os.Remove(c.Key); err != nil {
		t.Fatal(err)
	}
	look(0) // it may be just being replaced
	for range 3 {
		look(1)
	}
	issue(t, c, time.Now().Add(-time.Minute))
	look(2) // it is a pair again, and has expired
	for range 3 {
		look(2)
	}
}

// issue writes a pair that ends at a time.
func issue(t *testing.T, c *Files, ends time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: ends}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{c.Cert: {Type: "CERTIFICATE", Bytes: cert}, c.Key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
