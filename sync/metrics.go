package sync

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metrics describe replication to Prometheus. The face around this room counts requests.
type metrics struct {
	feeds    prometheus.Gauge
	sent     prometheus.Counter
	received prometheus.Counter
	refused  *prometheus.CounterVec
}

// words are the labels of refused documents. Any other word is "other".
var words = map[string]bool{"forbidden": true, "conflict": true, "bad_request": true, "doc_validation": true, "document_too_large": true,
	"missing_stub": true, "content_md5_mismatch": true}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	documents := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "doorward_sync_documents_total", Help: "Revisions of documents that peers were sent, and that were taken from them.",
	}, []string{"direction"})
	m := &metrics{
		feeds: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "doorward_sync_feeds", Help: "Feeds of changes that are open and wait.",
		}),
		sent: documents.WithLabelValues("sent"), received: documents.WithLabelValues("received"),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "doorward_sync_refused_total", Help: "Revisions of documents that were not taken.",
		}, []string{"reason"}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.feeds, documents, m.refused} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// refuse counts a refused document.
func (m *metrics) refuse(err error) {
	word := problemOf(err).Error
	if !words[word] {
		word = "other"
	}
	m.refused.WithLabelValues(word).Inc()
}
