package serve

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"doorward/cmd/doorward/announce"
	"doorward/cmd/doorward/authority"
	"doorward/cmd/doorward/certificate"
	"doorward/cmd/doorward/console"
)

// certificates are how the server speaks https: by the operator's files and then by https alone, by the folder's own authority and then by
// http too, or not at all.
type certificates struct {
	files *certificate.Files
	by    *authority.Authority // nil = the folder has none, or the files go before it
	leaf  *authority.Leaf      // that it has signed; nil as by
}

// on reports whether the server speaks https.
func (c *certificates) on() bool { return c.files.On() || c.leaf != nil }

// ends is when the present certificate expires; zero where the server speaks http.
func (c *certificates) ends() time.Time {
	if c.leaf != nil {
		return c.leaf.Ends()
	}
	return c.files.Ends()
}

// watch renews the certificate until end is called.
func (c *certificates) watch(log *slog.Logger) (end func()) {
	if c.leaf != nil {
		return c.leaf.Watch(log)
	}
	return c.files.Watch(log)
}

// secure finds the certificates, and the name of the machine.
func (s *server) secure() error {
	s.shown = certificates{files: s.Certificate}
	if err := s.Certificate.Load(); errors.Is(err, certificate.ErrNoPair) {
		return console.Usage(err)
	} else if err != nil {
		return err
	}
	name, _ := os.Hostname() // a machine without a name has none for phones either
	if label, _, _ := strings.Cut(strings.ToLower(name), "."); label != "" && label != "localhost" {
		s.machine = label + announce.Zone
	}
	if s.Certificate.On() || !authority.Exists(s.Dir) {
		return nil
	}
	var err error
	if s.shown.by, err = authority.Open(s.Dir); err != nil {
		return err
	}
	s.machine = s.shown.by.Host()
	s.shown.leaf, err = authority.NewLeaf(s.shown.by, s.Clock, nil)
	return err
}

// announce tells phones the name of the machine, where the server answers phones. end ends it. A server with a public URL is reached by the
// name in that.
func (s *server) announce() (end func()) {
	host, _, err := net.SplitHostPort(s.API.Address)
	at := net.ParseIP(host)
	if err != nil || at == nil || at.IsLoopback() || s.API.PublicURL != "" || !strings.HasSuffix(s.machine, announce.Zone) {
		return func() {}
	}
	if at.IsUnspecified() {
		at = nil
	}
	return announce.Start(announce.Config{Name: s.machine, Address: at, Logger: s.log})
}
