package api

import (
	"fmt"
	"net/http"

	"doorward/api/reach"
	"doorward/kv"
	"doorward/kv/desk"
)

// alive is the answer of a process that lives.
var alive = []byte(`{"status":"ok"}`)

// healthz answers that the process lives; it touches nothing.
func healthz(x *exchange) error { return x.reply(http.StatusOK, alive) }

// readiness is the answer of a server that takes check-ins.
type readiness struct {
	Status  string   `json:"status"`
	Reasons []string `json:"reasons,omitempty"`
	Events  []int64  `json:"events,omitzero"` // of a laptop that has joined a centre: those that it has the data to serve
}

// maxReady is how many events a laptop names.
const maxReady = 100

// readyz answers whether the store takes check-ins and can be searched, what is refused because the disk is nearly full, what could
// not be erased, and which events are here; once a signal has come, that the server ends. It never asks another server.
func readyz(x *exchange) error {
	if ending := x.server.config.Ending; ending != nil && ending() {
		return errEnding
	}
	if err := x.store().Tables.Writable(); err != nil {
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

// unwell says what a server that takes check-ins cannot do.
func unwell(s *kv.Store) (reasons []string) {
	for _, short := range s.Tables.Shortages() {
		reasons = append(reasons, sentence(short.Error()))
	}
	switch n := s.Tables.Damaged(); {
	case n == 1:
		reasons = append(reasons, "One stored value is damaged and is not served: doorward verify names it.")
	case n > 1:
		reasons = append(reasons, fmt.Sprintf("%d stored values are damaged and are not served: doorward verify names them.", n))
	}
	if s.Tables.IsRevoked() {
		reasons = append(reasons, revokedText)
	}
	if s.Erasures.ErasuresUnfinished() > 0 {
		reasons = append(reasons, "Something that is to be erased could not be: nobody is shown it, and it is tried again.")
	}
	return reasons
}

// metricsPage answers a Prometheus on this machine; anybody else, and whatever came through a proxy, needs a key of
// denomination level.
func metricsPage(x *exchange) error {
	if !reach.Direct(x.request) {
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
