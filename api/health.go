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

// metricsPage answers a client on this machine. A client on another machine, or behind a proxy, needs a key of denomination level.
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
