package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// certificate is the pair of files by which serve speaks https. Another pair in their place is taken up while connections go on.
type certificate struct {
	cert, key string // the files; "" = http
	now       atomic.Pointer[pair]
	seen      [2][]byte // what the files held when they were last looked at
	broken    bool      // they were no pair then
	said      bool      // and the log was told
}

// pair is a certificate with its key as the files held them.
type pair struct {
	tls.Certificate
	files [2][]byte
}

// lookAfter is how often the files are looked at.
const lookAfter = time.Second

// errNoPair is one of the two files without the other.
var errNoPair = errors.New("--tls-cert and --tls-key are wanted together, or neither of them")

// load reads the files, unless that was done.
func (c *certificate) load() error {
	switch {
	case (c.cert == "") != (c.key == ""):
		return usageError{errNoPair}
	case !c.on() || c.now.Load() != nil:
		return nil
	}
	files, err := c.read()
	if err != nil {
		return err
	}
	p, err := c.parse(files)
	if err != nil {
		return err
	}
	c.now.Store(p)
	c.seen = files
	return nil
}

func (c *certificate) read() (files [2][]byte, err error) {
	for i, f := range []struct{ flag, name string }{{"--tls-cert", c.cert}, {"--tls-key", c.key}} {
		if files[i], err = os.ReadFile(f.name); err != nil {
			return files, fmt.Errorf("%s: %w", f.flag, err)
		}
	}
	return files, nil
}

func (c *certificate) parse(files [2][]byte) (*pair, error) {
	made, err := tls.X509KeyPair(files[0], files[1])
	if err != nil {
		return nil, fmt.Errorf("--tls-cert %s, --tls-key %s: %w", c.cert, c.key, err)
	}
	return &pair{made, files}, nil
}

// on tells whether serve speaks https.
func (c *certificate) on() bool { return c.cert != "" }

// scheme is how the server's addresses begin.
func (c *certificate) scheme() string {
	if c.on() {
		return "https"
	}
	return "http"
}

// ends is when the certificate expires that clients are shown now; zero where serve speaks http.
func (c *certificate) ends() time.Time {
	if p := c.now.Load(); p != nil {
		return p.Leaf.NotAfter
	}
	return time.Time{}
}

// config has every new connection shown the present certificate; nil where serve speaks http.
func (c *certificate) config() *tls.Config {
	if !c.on() {
		return nil
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &c.now.Load().Certificate, nil },
	}
}

// watching looks at the files again and again until end is called, which waits for that.
func (c *certificate) watching(log *slog.Logger) (end func()) {
	if !c.on() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.watch(ctx, log)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (c *certificate) watch(ctx context.Context, log *slog.Logger) {
	c.warn(log)
	tick := time.NewTicker(lookAfter)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.look(log)
		case <-ctx.Done():
			return
		}
	}
}

// look takes up another pair. Files that are none keep the one before. The log is told of it once, when they are the same at two looks: a
// pair that is being replaced is no pair for a moment.
func (c *certificate) look(log *slog.Logger) {
	files, err := c.read()
	same := bytes.Equal(files[0], c.seen[0]) && bytes.Equal(files[1], c.seen[1])
	if same && !c.broken {
		return
	}
	var p *pair
	if err == nil {
		p, err = c.parse(files)
	}
	c.seen = files
	switch {
	case err == nil:
		c.now.Store(p)
		c.broken, c.said = false, false
		log.Info("another certificate is shown from now on", "expires", c.ends().UTC())
		c.warn(log)
	case !same:
		c.broken, c.said = true, false
	case !c.said:
		c.said = true
		log.Warn("the new certificate cannot be used; the one before is shown still", "cause", err, "expires", c.ends().UTC())
	}
}

// warn tells of a certificate that no client takes.
func (c *certificate) warn(log *slog.Logger) {
	if ends := c.ends(); time.Now().After(ends) {
		log.Warn("the certificate has expired: clients that trust their clock will not connect", "expired", ends.UTC())
	}
}

// gauge tells Prometheus when the certificate expires.
func (c *certificate) gauge() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "doorward_certificate_expiry_timestamp_seconds", Help: "When the certificate expires that clients are shown; NaN = serve speaks http.",
	}, func() float64 {
		if ends := c.ends(); !ends.IsZero() {
			return float64(ends.Unix())
		}
		return math.NaN()
	})
}
