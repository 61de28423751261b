package api

import (
	"fmt"
	"net/http"
	"runtime"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"doorward/api/reach"
	"doorward/kv"
	"doorward/kv/desk"
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
	process := collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.inFlight, info, collectors.NewGoCollector(), process} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// alive is the answer of a process that lives.
var alive = []byte(`{"status":"ok"}`)

// healthz answers that the process lives; it touches nothing.
func healthz(x *exchange) error { return x.reply(http.StatusOK, alive) }

// readiness is the answer of a server that takes check-ins.
type readiness struct {
	Status  string   `json:"status"`
	Reasons []string `json:"reasons,omitempty"`
	Events  []int64  `json:"events,omitzero"` // of a laptop with a centre: the events that it can serve at doors
}

// maxReady is how many events a laptop names.
const maxReady = 100

// readyz answers whether the store takes check-ins and can be searched. It names what a nearly full disk refuses, unfinished erasures and
// the events that are here. After a signal it answers that the server ends. It never asks another server.
func readyz(x *exchange) error {
	if ending := x.server.config.Ending; ending != nil && ending() {
		return errEnding
	}
	if err := x.store().Tables.Engine.Writable(); err != nil {
		return err
	}
	if by := x.server.config.Indexer; by != nil && !by.Usable() && !x.store().Desk.Scannable() {
		return desk.ErrIndexing
	}
	events, err := x.store().Laptop.ReadyEvents(maxReady)
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, readiness{"ready", unwell(x.store()), events})
}

// unwell lists what is wrong with a server that still takes check-ins.
func unwell(s *kv.Store) (reasons []string) {
	for _, short := range s.Tables.Folder.Room.Shortages() {
		reasons = append(reasons, sentence(short.Error()))
	}
	switch n := s.Tables.Damage.Found(); {
	case n == 1:
		reasons = append(reasons, "One stored value is damaged and is not served: doorward verify names it.")
	case n > 1:
		reasons = append(reasons, fmt.Sprintf("%d stored values are damaged and are not served: doorward verify names them.", n))
	}
	if s.Tables.Identity.IsRevoked() {
		reasons = append(reasons, revokedText)
	}
	if s.Erasures.Unfinished() > 0 {
		reasons = append(reasons, "Something that is to be erased could not be: nobody is shown it, and it is tried again.")
	}
	return reasons
}

// metricsPath is the path of the metrics.
const metricsPath = "/metrics"

// metricsPage answers a client on this machine that names the server by one of its hosts. Any other,
// as one on another machine or behind a proxy, needs a key of denomination level.
func metricsPage(x *exchange) error {
	if !reach.Direct(x.request) || !x.server.hosts.Allow(x.request) {
		if err := x.authenticate(x.request); err != nil {
			return err
		}
		if err := x.caller.CheckWhole(); err != nil {
			return err
		}
	}
	x.server.metrics.page.ServeHTTP(x, x.request)
	return nil
}
