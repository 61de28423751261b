package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"doorward/api"
	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/record"
)

const (
	machineSteps  = 30
	machineStores = 20
	machineChecks = 100 // on each, which is rapid's own number
	machineTurns  = 25  // sequences that one store is good for: every one adds keys, which all are read when one is made
)

// TestDrawnRequestsAnswerAsAPlainModel plays drawn sequences of requests, by keys of every level, over people, groups, memberships,
// entries, events, tickets, check-ins, keys and a reference kind, with the store closed and opened in between. What is answered, and
// what is there afterwards, is what a few maps say; and nothing is ever answered 5xx.
func TestDrawnRequestsAnswerAsAPlainModel(t *testing.T) {
	var sequences, requests atomic.Int64
	stores := proof.Count(1, machineStores)
	until := time.Now().Add(proof.Torture(t))
	for round := 0; round == 0 || time.Now().Before(until) && !t.Failed(); round++ {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			for n := range stores {
				t.Run(fmt.Sprint("store ", n), func(t *testing.T) {
					t.Parallel()
					h := newMachineHome(t)
					rapid.Check(t, func(t *rapid.T) {
						sequences.Add(1)
						h.turn()
						m := &machine{T: t, home: h}
						m.settle()
						for range machineSteps {
							m.step()
						}
					})
					requests.Add(h.requests)
				})
			}
		})
	}
	t.Logf("torture: sequences=%d requests=%d", sequences.Load(), requests.Load())
	if n := sequences.Load(); n < int64(stores*machineChecks) && !t.Failed() {
		t.Errorf("%d sequences, want %d", n, stores*machineChecks)
	}
}

// machineHome is a store that many sequences are played on: each makes churches of its own.
type machineHome struct {
	testing.TB
	root     string
	turns    int
	clock    *kvtest.Clock
	config   kv.Config
	store    *kv.Store
	handler  http.Handler
	account  int64
	requests int64
}

func newMachineHome(t testing.TB) *machineHome {
	h := &machineHome{TB: t, clock: kvtest.NewClock(time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC))}
	h.config, h.root = kv.Config{Clock: h.clock.Now, Zone: time.UTC}, proof.Memory(t)
	t.Cleanup(h.close)
	return h
}

// turn begins a sequence, now and then on a new store.
func (h *machineHome) turn() {
	if h.turns%machineTurns == 0 {
		h.close()
		h.config.Dir = filepath.Join(h.root, strconv.Itoa(h.turns))
		h.open()
		h.account = kvtest.Create(h, h.store, record.FinancialAccount, `{"name":"Bank"}`)
	}
	h.turns++
}

// close closes the store and lets go of it.
func (h *machineHome) close() {
	if h.store == nil {
		return
	}
	if err := errors.Join(h.store.Close(), os.RemoveAll(h.config.Dir)); err != nil {
		h.Error(err)
	}
	h.store = nil
}

// open opens the store, and makes a server over it.
func (h *machineHome) open() {
	store, err := kv.Open(h.config)
	if err != nil {
		h.Fatal(err)
	}
	server, err := api.New(api.Config{Store: store})
	if err != nil {
		h.Fatal(err)
	}
	h.store, h.handler = store, server.Handler()
}

// machine is one sequence: what it has made, and what it believes of that.
type machine struct {
	*rapid.T
	home *machineHome
	model
}

// step draws one thing to do, and does it a second later.
func (m *machine) step() {
	m.home.clock.Move(time.Second)
	steps := []struct {
		weight int
		do     func()
	}{
		{40, m.create}, {28, m.update}, {12, m.remove}, {16, m.read}, {16, m.list}, {8, m.search},
		{44, m.scanOne}, {10, m.scanSome}, {16, m.undoOne}, {8, m.status}, {8, m.doubles},
		{6, m.addKey}, {6, m.revoke}, {4, m.guess}, {2, m.nextDay}, {1, m.restart},
	}
	total := 0
	for _, s := range steps {
		total += s.weight
	}
	n := rapid.IntRange(0, total-1).Draw(m.T, "step")
	for _, s := range steps {
		if n -= s.weight; n < 0 {
			s.do()
			return
		}
	}
}

// ask sends a request with pairs of header names and values.
func (m *machine) ask(k *machineKey, method, path, body string, headers ...string) answer {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost"
	r.SetBasicAuth(k.key, k.secret)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	m.home.handler.ServeHTTP(w, r)
	m.home.requests++
	m.Logf("%s %s %s %s %v = %d %.300s", k.reach, method, path, body, headers, w.Code, w.Body)
	if w.Code >= 500 {
		m.Fatalf("%s %s = %d %s", method, path, w.Code, w.Body)
	}
	return answer{w.Code, w.Header(), w.Body.String()}
}

// want wants a status; it tells whether that is a success.
func (m *machine) want(a answer, status int) bool {
	if a.status != status {
		m.Fatalf("status = %d, want %d: %s", a.status, status, a.body)
	}
	return status < 300
}

// one draws one of a list.
func one[T any](m *machine, what string, list ...T) T { return rapid.SampledFrom(list).Draw(m.T, what) }

// chance is true about once in n times.
func (m *machine) chance(n int, what string) bool { return rapid.IntRange(1, n).Draw(m.T, what) == n }

func (m *machine) now() time.Time { return m.home.clock.Now() }

// nextDay lets a day pass: lists of daily events begin anew, answers that were kept long enough are forgotten.
func (m *machine) nextDay() { m.home.clock.Move(24 * time.Hour) }

// restart closes the store and opens it again.
func (m *machine) restart() {
	if err := m.home.store.Close(); err != nil {
		m.Fatal(err)
	}
	m.home.open()
}

// guess asks with a wrong secret.
func (m *machine) guess() {
	k := *m.anyKey()
	k.secret += "x"
	m.want(m.ask(&k, "GET", "/v1/people/", ""), 401)
}
