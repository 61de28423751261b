package certificate

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/cmd/doorward/repeat"
)

// Files are the two files. Without their names serve speaks http. Load comes before all other methods.
type Files struct {
	Cert, Key string // the files' names; "" = http

	now    atomic.Pointer[tls.Certificate]
	seen   [2][]byte // what the files held when they were last read
	broken bool      // seen is no pair
	said   bool      // the log has a line about broken
}

// lookAfter is the time between two readings of the files.
const lookAfter = time.Second

// ErrNoPair is one of the two files without the other.
var ErrNoPair = errors.New("--tls-cert and --tls-key are wanted together, or neither of them")

// Load reads the files, unless they were read before. It returns ErrNoPair where one of the two names is missing.
func (c *Files) Load() error {
	switch {
	case (c.Cert == "") != (c.Key == ""):
		return ErrNoPair
	case !c.On() || c.now.Load() != nil:
		return nil
	}
	var err error
	if c.seen, err = c.read(); err != nil {
		return err
	}
	return c.use(c.seen)
}

func (c *Files) read() (files [2][]byte, err error) {
	for i, f := range []struct{ flag, name string }{{"--tls-cert", c.Cert}, {"--tls-key", c.Key}} {
		if files[i], err = os.ReadFile(f.name); err != nil {
			return files, fmt.Errorf("%s: %w", f.flag, err)
		}
	}
	return files, nil
}

// use shows a pair from now on. It fails for files that are no pair.
func (c *Files) use(files [2][]byte) error {
	pair, err := tls.X509KeyPair(files[0], files[1])
	if err != nil {
		return fmt.Errorf("--tls-cert %s, --tls-key %s: %w", c.Cert, c.Key, err)
	}
	c.now.Store(&pair)
	return nil
}

// On reports whether serve speaks https.
func (c *Files) On() bool { return c.Cert != "" }

// Scheme is how the server's addresses begin: http or https.
func (c *Files) Scheme() string {
	if c.On() {
		return "https"
	}
	return "http"
}

// Ends is when the present certificate expires; zero where serve speaks http.
func (c *Files) Ends() time.Time {
	if p := c.now.Load(); p != nil {
		return p.Leaf.NotAfter
	}
	return time.Time{}
}

// Config gives every new connection the present certificate; nil where serve speaks http.
func (c *Files) Config() *tls.Config {
	if !c.On() {
		return nil
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now.Load(), nil },
	}
}

// Watch reads the files again and again until end is called. end waits for the last reading.
func (c *Files) Watch(log *slog.Logger) (end func()) {
	if !c.On() {
		return func() {}
	}
	c.warn(log)
	return repeat.Every(lookAfter, func() { c.look(log) })
}

// look uses a new pair. Files that are no pair change nothing. The log gets one line about them, when two readings find the same: a pair
// that is being replaced is no pair for a moment.
func (c *Files) look(log *slog.Logger) {
	files, err := c.read()
	same := bytes.Equal(files[0], c.seen[0]) && bytes.Equal(files[1], c.seen[1])
	if same && !c.broken {
		return
	}
	if err == nil {
		err = c.use(files)
	}
	c.seen = files
	switch {
	case err == nil:
		c.broken, c.said = false, false
		log.Info("another certificate is shown from now on", "expires", c.Ends().UTC())
		c.warn(log)
	case !same:
		c.broken, c.said = true, false
	case !c.said:
		c.said = true
		log.Warn("the new certificate cannot be used; the one before is shown still", "cause", err, "expires", c.Ends().UTC())
	}
}

// warn logs that the present certificate has expired.
func (c *Files) warn(log *slog.Logger) {
	if ends := c.Ends(); time.Now().After(ends) {
		log.Warn("the certificate has expired: clients that trust their clock will not connect", "expired", ends.UTC())
	}
}

// Gauge is the metric of the end of a server's certificate. ends answers the zero time where serve speaks http.
func Gauge(ends func() time.Time) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "doorward_certificate_expiry_timestamp_seconds", Help: "When the present certificate expires; NaN = serve speaks http.",
	}, func() float64 {
		if at := ends(); !at.IsZero() {
			return float64(at.Unix())
		}
		return math.NaN()
	})
}
