package main

import (
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// secured is a server that speaks https.
type secured struct {
	testing.TB
	dir, address string
	ca           *testAuthority
	out          *output
	client       *http.Client
}

// serveSecured runs a server with a pair of its own until the test ends.
func serveSecured(t *testing.T, flags ...string) *secured {
	t.Helper()
	s := &secured{TB: t, dir: t.TempDir(), out: &output{}}
	var err error
	if s.ca, err = newAuthority(); err != nil {
		t.Fatal(err)
	}
	s.issue(time.Now().Add(time.Hour))
	s.address = serveIn(t, filepath.Join(s.dir, "data"), s.out,
		append(flags, "--tls-cert", filepath.Join(s.dir, "cert.pem"), "--tls-key", filepath.Join(s.dir, "key.pem"))...)
	s.client = s.newClient()
	return s
}

func (s *secured) issue(ends time.Time) {
	s.Helper()
	if err := s.ca.issue(s.dir, ends); err != nil {
		s.Fatal(err)
	}
}

func (s *secured) newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.ca.roots()}, ForceAttemptHTTP2: true}}
}

// get answers a path over the client's connection, and the serial number of the certificate that this one has shown.
func (s *secured) get(client *http.Client, path string) (body string, serial int64, proto string) {
	s.Helper()
	resp, err := client.Get("https://" + s.address + path)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.Fatalf("GET %s = %d, %v", path, resp.StatusCode, err)
	}
	return string(b), resp.TLS.PeerCertificates[0].SerialNumber.Int64(), resp.Proto
}

// until waits until something holds.
func (s *secured) until(what string, holds func() bool) {
	s.Helper()
	for ends := time.Now().Add(scriptPatience); time.Now().Before(ends); time.Sleep(20 * time.Millisecond) { // between two looks
		if holds() {
			return
		}
	}
	s.Fatalf("%s never came\n%s", what, s.out)
}

// shown is the serial number that a new connection is shown.
func (s *secured) shown() int64 {
	client := s.newClient()
	defer client.CloseIdleConnections()
	_, serial, _ := s.get(client, "/healthz")
	return serial
}

// TestANewCertificateIsTakenUpWhileConnectionsGoOn: new files count for new connections, and those that are open go on. Files that are no pair
// change nothing, and are told of once.
func TestANewCertificateIsTakenUpWhileConnectionsGoOn(t *testing.T) {
	t.Parallel()
	s := serveSecured(t)
	_, first, proto := s.get(s.client, "/healthz")
	if proto != "HTTP/2.0" {
		t.Errorf("answered by %s, want HTTP/2.0", proto)
	}
	if !strings.Contains(s.out.String(), "Doorward answers at https://"+s.address+"/ (API documentation: https://"+s.address+"/docs)") {
		t.Errorf("serve says %s", s.out)
	}
	ends := time.Now().Add(3 * time.Hour)
	s.issue(ends)
	s.until("the new certificate", func() bool { return s.shown() == first+1 })
	if _, serial, _ := s.get(s.client, "/healthz"); serial != first {
		t.Errorf("the open connection now is that of certificate %d: it was dropped", serial)
	}
	page, _, _ := s.get(s.client, "/metrics")
	expiry := regexp.MustCompile(`(?m)^doorward_certificate_expiry_timestamp_seconds (.*)$`).FindStringSubmatch(page)
	if expiry == nil || expiry[1] != strconv.FormatFloat(float64(ends.Unix()), 'e', -1, 64) {
		t.Errorf("the metric of its end is %q, want %d", expiry, ends.Unix())
	}
	if err := os.WriteFile(filepath.Join(s.dir, "key.pem"), []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := func() int { return strings.Count(s.out.String(), "the new certificate cannot be used") }
	s.until("the warning", func() bool { return broken() > 0 })
	if got := s.shown(); got != first+1 {
		t.Errorf("with a broken key certificate %d is shown, want %d", got, first+1)
	}
	s.issue(ends)
	s.until("the certificate after", func() bool { return s.shown() == first+2 })
	if got := broken(); got != 1 {
		t.Errorf("the broken pair was told of %d times, want once", got)
	}
	if strings.Contains(s.out.String(), "PRIVATE KEY") {
		t.Error("the log holds a key")
	}
}
