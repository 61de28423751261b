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

// readyz answers whether the store takes check-ins and can be searched, what is refused because the disk is nearly full, and what
// could not be erased. It never asks another server.
func readyz(x *exchange) error {
	if err := x.store().Writable(); err != nil {
		return err
	}
	if by := x.server.config.Indexer; by != nil && !by.Usable() && !x.store().Scannable() {
		return kv.ErrIndexing
	}
	reasons := unwell(x.store())
	if len(reasons) == 0 {
		return x.reply(http.StatusOK, ready)
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

// unwell says what a server that takes check-ins cannot do.
func unwell(s *kv.Store) (reasons []string) {
	for _, short := range s.Shortages() {
		reasons = append(reasons, sentence(short.Error()))
	}
	if s.ErasuresUnfinished() > 0 {
		reasons = append(reasons, "Something that is to be erased could not be: nobody is shown it, and it is tried again.")
	}
	return reasons
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
