package api

import (
	"net/http"

	"doorward/kv"

	"github.com/go-json-experiment/json"
)

// The answers of a server that is well.
var (
	alive = []byte(`{"status":"ok"}`)
	ready = []byte(`{"status":"ready"}`)
)

// healthz answers that the process lives; it touches nothing.
func healthz(x *exchange) error { return x.reply(http.StatusOK, alive) }

// readyz answers whether the store takes check-ins and can be searched, and what is refused because the disk is nearly full. It
// never asks another server.
func readyz(x *exchange) error {
	if err := x.store().Writable(); err != nil {
		return err
	}
	if by := x.server.config.Indexer; by != nil && !by.Usable() && !x.store().Scannable() {
		return kv.ErrIndexing
	}
	short := x.store().Shortages()
	if len(short) == 0 {
		return x.reply(http.StatusOK, ready)
	}
	reasons := make([]string, len(short))
	for i, s := range short {
		reasons[i] = sentence(s.Error())
	}
	body, err := json.Marshal(struct {
		Status  string   `json:"status"`
		Reasons []string `json:"reasons"`
	}{"ready", reasons})
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, body)
}

// metricsPage answers a Prometheus on this machine; anybody else, and whatever came through a proxy, needs a key of
// denomination level.
func metricsPage(x *exchange) error {
	if !direct(x.request) {
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
