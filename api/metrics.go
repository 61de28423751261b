package api

import (
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics has the figures of requests for Prometheus. Labels come from closed sets: the paths of the table of routes, its methods, the
// statuses.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	page     http.Handler
	statuses [600]string // the label of each status
}

func newMetrics(reg *prometheus.Registry, version string) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "http_requests_total", Help: "Requests answered.",
		}, []string{"route", "method", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_request_duration_seconds", Help: "Time from a request's headers to the end of its answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route", "method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "http_requests_in_flight", Help: "Requests being answered.",
		}),
		page: promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}),
	}
	for status := range m.statuses {
		m.statuses[status] = strconv.Itoa(status)
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "doorward_build_info", Help: "Always 1; the labels say what is running.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	info.Set(1)
	return m, register(reg, m.requests, m.duration, m.inFlight, info)
}

// register adds the metrics of this room, and those of the process unless another room did.
func register(reg *prometheus.Registry, own ...prometheus.Collector) error {
	for _, c := range own {
		if err := reg.Register(c); err != nil {
			return err
		}
	}
	process := collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})
	for _, c := range []prometheus.Collector{collectors.NewGoCollector(), process} {
		var already prometheus.AlreadyRegisteredError
		if err := reg.Register(c); err != nil && !errors.As(err, &already) {
			return err
		}
	}
	return nil
}

// observe counts one answered exchange.
func (m *metrics) observe(x *exchange) {
	path, method := "unmatched", methodLabel(x.request.Method)
	if x.route != nil {
		path = x.route.path
	} else if x.pattern != "" {
		path = x.pattern
	}
	status := x.status
	if status <= 0 || status >= len(m.statuses) {
		status = http.StatusOK // net/http answers 200 for a handler that says nothing
	}
	m.requests.WithLabelValues(path, method, m.statuses[status]).Inc()
	m.duration.WithLabelValues(path, method).Observe(time.Since(x.started).Seconds())
}

// methodLabel returns a method as a label: one of a closed set.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}
