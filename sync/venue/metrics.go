package venue

import (
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/table"
	"doorward/sync/replicate"
)

// metrics has the figures of peers for Prometheus. A store that has joined a centre calls it "centre". A centre calls each laptop by its id, and
// leaves out revoked laptops: an alert on one could never end.
type metrics struct {
	store     *kv.Store
	documents *prometheus.CounterVec
	bytes     *prometheus.CounterVec

	mu      sync.Mutex // guards what follows
	contact time.Time
	success time.Time
	behind  int
	waiting map[copyJob]bool // jobs that wait for room on the centre's disk
}

// The directions, as labels.
const (
	pulled = "pull"
	pushed = "push"
)

var (
	contactDesc = peerDesc("last_contact_timestamp_seconds", "When the peer was last met.")
	successDesc = peerDesc("last_success_timestamp_seconds", "When something was last copied, or found to be copied.")
	lagDesc     = peerDesc("lag_changes", "Changes that one side has and the other is not known to have; of many it may be too many.", "direction")
	oldestDesc  = peerDesc("oldest_unacknowledged_timestamp_seconds", "When the oldest change was made that the centre has not acknowledged.")
	fullDesc    = peerDesc("disk_full", "1 while something waits because the disk of the peer is nearly full.")
	offsetDesc  = peerDesc("clock_offset_seconds", "How far the centre's clock is ahead of the laptop's, as last measured.")
	dropDesc    = prometheus.NewDesc("doorward_drop_timestamp_seconds", "From when on a laptop may drop an event that is over.", []string{"event"}, nil)
	ownKeyDesc  = prometheus.NewDesc("doorward_credential_expiry_timestamp_seconds", "When a laptop's own key at its centre expires.", nil, nil)
)

func peerDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("doorward_peer_"+name, help, append([]string{"peer"}, labels...), nil)
}

func newMetrics(c Config) (*metrics, error) {
	m := &metrics{store: c.Store, waiting: map[copyJob]bool{},
		documents: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "doorward_peer_documents_total", Help: "Revisions that were copied to and from the centre, and those that were refused.",
		}, []string{"peer", "direction", "outcome"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "doorward_peer_bytes_total", Help: "Bytes of bodies that were sent to and received from the centre.",
		}, []string{"peer", "direction"}),
	}
	if c.Registerer == nil {
		return m, nil
	}
	return m, c.Registerer.Register(m)
}

// Describe lists what is collected.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{contactDesc, successDesc, lagDesc, oldestDesc, fullDesc, offsetDesc, dropDesc, ownKeyDesc} {
		ch <- d
	}
	m.documents.Describe(ch)
	m.bytes.Describe(ch)
}

// Collect reads the peers. It leaves out what it cannot read.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	m.documents.Collect(ch)
	m.bytes.Collect(ch)
	if u, joined, err := m.store.Laptop.Upstream(); err == nil && joined {
		m.collectCentre(ch, u)
	}
	all, err := m.store.Venues.Venues(auth.Operator())
	if err != nil {
		return
	}
	for _, e := range all {
		if c := e.Contact; !c.At.IsZero() && e.Revoked.IsZero() {
			g := gauges{ch, strconv.FormatInt(e.ID, 10)}
			g.time(contactDesc, c.At)
			g.time(oldestDesc, c.Oldest)
			g.set(lagDesc, float64(c.Backlog), pushed)
			if c.Offset != nil {
				g.set(offsetDesc, float64(*c.Offset)/1000)
			}
		}
	}
}

func (m *metrics) collectCentre(ch chan<- prometheus.Metric, u table.Upstream) {
	g := gauges{ch, "centre"}
	m.mu.Lock()
	contact, success, behind, waiting := m.contact, m.success, m.behind, len(m.waiting)
	m.mu.Unlock()
	g.time(contactDesc, contact)
	g.time(successDesc, success)
	g.set(lagDesc, float64(behind), pulled)
	g.set(fullDesc, float64(min(waiting, 1)))
	if n, oldest, err := (lag{m.store, u}).backlog(); err == nil {
		g.set(lagDesc, float64(n), pushed)
		g.time(oldestDesc, oldest)
	}
	if c := m.store.Tables.Clock.Reading(); !c.Measured.IsZero() {
		g.set(offsetDesc, c.Offset.Seconds())
	}
	if !u.Ends.IsZero() {
		ch <- prometheus.MustNewConstMetric(ownKeyDesc, prometheus.GaugeValue, float64(u.Ends.Unix()))
	}
	for event, at := range u.Drops {
		ch <- prometheus.MustNewConstMetric(dropDesc, prometheus.GaugeValue, float64(at.Unix()), strconv.FormatInt(event, 10))
	}
}

// gauges are those of one peer.
type gauges struct {
	ch   chan<- prometheus.Metric
	peer string
}

func (g gauges) set(d *prometheus.Desc, v float64, labels ...string) {
	g.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{g.peer}, labels...)...)
}

// time sets a gauge to a time, if there is one.
func (g gauges) time(d *prometheus.Desc, at time.Time) {
	if !at.IsZero() {
		g.set(d, float64(at.UnixMilli())/1000)
	}
}

// noteContact saves a handshake.
func (m *metrics) noteContact(at time.Time, behind int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.contact, m.behind = at, behind
	if behind == 0 {
		m.success = at
	}
}

// lags tells whether the centre had more for this store at the last handshake.
func (m *metrics) lags() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.behind > 0
}

// setWaiting saves whether a job waits for room on the centre's disk, and returns how many waited before and wait now.
func (m *metrics) setWaiting(c copyJob, does bool) (before, after int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before = len(m.waiting)
	if delete(m.waiting, c); does {
		m.waiting[c] = true
	}
	return before, len(m.waiting)
}

// endVisit forgets which jobs wait for room: the next visit tells.
func (m *metrics) endVisit() {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.waiting, func(c copyJob, _ bool) bool { return c != copyJob{} })
}

// progress returns a hook that counts the documents of a replication.
func (m *metrics) progress(direction string) func(replicate.Outcome) {
	applied, refused := m.documents.WithLabelValues("centre", direction, "applied"), m.documents.WithLabelValues("centre", direction, "refused")
	var before replicate.HistoryEntry
	return func(out replicate.Outcome) {
		run := out.History[0]
		applied.Add(float64(run.Written - before.Written))
		refused.Add(float64(run.Failures - before.Failures))
		before = run
		m.mu.Lock()
		defer m.mu.Unlock()
		m.success = m.store.Tables.Clock.Now()
	}
}

// count counts the bytes of a client's requests and answers.
func (m *metrics) count(c *http.Client) *http.Client {
	c.Transport = &countedTransport{c.Transport, m.bytes.WithLabelValues("centre", pushed), m.bytes.WithLabelValues("centre", pulled)}
	return c
}

type countedTransport struct {
	http.RoundTripper
	sent, received prometheus.Counter
}

// RoundTrip sends one request.
func (t *countedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r = r.Clone(r.Context())
		r.Body = &countedBody{ReadCloser: r.Body, to: t.sent}
	}
	resp, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = &countedBody{ReadCloser: resp.Body, to: t.received}
	}
	return resp, err
}

// CloseIdleConnections is what http.Client calls.
func (t *countedTransport) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type countedBody struct {
	io.ReadCloser
	to prometheus.Counter
}

// Read reads and counts.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.to.Add(float64(n))
	return n, err
}
