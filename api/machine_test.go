package api_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doorward/api"
	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/record"

	"pgregory.net/rapid"
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

// model is what a sequence believes: plain maps.
type model struct {
	regional int64
	churches [3]int64 // the first two are of the regional
	items    map[string]map[int64]*believed
	keys     []*machineKey
	entries  []*posting         // of all events, in the order in which they came
	touched  map[int64]bool     // events that have facts
	nonces   map[nonce]*posting // what a check-in's Idempotency-Key has last admitted
	kept     map[string]keptAnswer
	made     int // keys, to give them names
}

// believed is a record: its fields as JSON, and the tags that it has had.
type believed struct {
	kind   string
	id     int64
	fields map[string]string
	tag    string
	stale  []string
}

func (b *believed) number(field string) int64 {
	n, _ := strconv.ParseInt(b.fields[field], 10, 64) // null is 0
	return n
}

// posting is a check-in.
type posting struct {
	id      string
	event   int64
	ticket  int64
	code    string
	list    string
	undone  bool
	verdict string // of a guest whom a phone let in and who would have been refused
	waits   bool   // for staff: it does not count
}

type nonce struct {
	key, event int64
	value      string
}

// keptAnswer is what an Idempotency-Key is answered with again.
type keptAnswer struct {
	sent, body string
	at         time.Time
}

const answersKept = 72 * time.Hour

type machineKey struct {
	id          int64
	key, secret string
	reach       reach
	made        time.Time
	permissions []string
	revoked     bool
	handingIn   time.Time // when it has begun to hand in scans, revoked; zero: it has not
}

// settle makes what the sequence begins with: three churches, an event and a supplier, and keys of every level.
func (m *machine) settle() {
	store, t := m.home.store, m.home.TB
	m.model = model{items: map[string]map[int64]*believed{}, touched: map[int64]bool{}, nonces: map[nonce]*posting{}, kept: map[string]keptAnswer{}}
	for _, kind := range machineKinds {
		m.items[kind.name] = map[int64]*believed{}
	}
	m.regional = kvtest.Create(t, store, record.Regional, `{"name":"North"}`)
	for i := range m.churches {
		body := fmt.Sprintf(`{"name":"Centre","regional_id":%d}`, m.regional)
		if i == 2 {
			body = `{"name":"Far"}`
		}
		m.churches[i] = kvtest.Create(t, store, record.Church, body)
	}
	m.addOwn(reach{name: "denomination"}, "*:*")
	m.addOwn(reach{"regional", []int64{m.regional}}, "*:*")
	m.addOwn(reach{"church", []int64{m.churches[0]}}, "*:*")
	m.addOwn(reach{"church", []int64{m.churches[1], m.churches[2]}})
	m.addOwn(reach{"church", []int64{m.churches[0]}}, "people:GET", "group:*")
	whole := m.keys[0]
	m.make(whole, "supplier", map[string]string{"name": `"Paper"`})
	event := m.make(whole, "event", map[string]string{"name": `"Feast"`, "active": "true", "enabled": "true", "list_rule": `"once"`,
		"start_datetime": `"2026-05-01T12:00:00Z"`, "church_id": fmt.Sprint(m.churches[0])})
	m.addOwn(reach{"event", []int64{event}}, "*:*")
	m.addOwn(reach{"event", []int64{event}}, "checkin:*")
	for i := range 2 {
		m.make(whole, "ticket", map[string]string{"event_id": fmt.Sprint(event), "code": strconv.Quote(m.code(i)), "state": `"valid"`, "holder_name": `"Ana Souza"`, "type": "null"})
	}
}

func (m *machine) make(k *machineKey, kind string, fields map[string]string) int64 {
	a := m.ask(k, "POST", "/admin/v1/"+kind+"/", object(fields))
	m.want(a, 201)
	return m.learn(a, kind, fields).id
}

func (m *machine) addOwn(r reach, permissions ...string) {
	key, secret := kvtest.Key(m.home.TB, m.home.store, r.String(), permissions...)
	p, err := m.home.store.Keys.Login(key, secret)
	if err != nil {
		m.Fatal(err)
	}
	m.keys = append(m.keys, &machineKey{id: p.Key(), key: key, secret: secret, reach: r, made: m.now(), permissions: permissions})
}

// anyKey draws a key; those that may do all more often.
func (m *machine) anyKey() *machineKey {
	if m.chance(2, "whole key") {
		return m.keys[0]
	}
	return one(m, "key", m.keys...)
}

// learn notes a new record out of the answer that made it.
func (m *machine) learn(a answer, kind string, fields map[string]string) *believed {
	id, _ := strconv.ParseInt(a.text(m.home, "id"), 10, 64)
	if id == 0 || m.items[kind][id] != nil {
		m.Fatalf("a new %s has the id %d", kind, id)
	}
	b := &believed{kind: kind, id: id, fields: fields, tag: a.header.Get("Etag")}
	m.items[kind][id] = b
	return b
}

// object is fields as a JSON object.
func object(fields map[string]string) string {
	var members []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		members = append(members, fmt.Sprintf("%q:%s", name, fields[name]))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// owns, sees and changes say who sees and changes what (contract.md §7).
func (m *machine) owns(r reach, church int64) bool {
	switch r.name {
	case "denomination":
		return true
	case "regional":
		return church == m.churches[0] || church == m.churches[1]
	}
	return r.name == "church" && slices.Contains(r.ids, church)
}

func (m *machine) sees(r reach, b *believed) bool {
	if b == nil {
		return false
	}
	switch b.kind {
	case "supplier":
		return r.name != "event"
	case "event":
		if r.name == "event" {
			return slices.Contains(r.ids, b.id)
		}
	case "ticket":
		return m.sees(r, m.items["event"][b.number("event_id")])
	case "membership":
		return m.sees(r, m.items["person"][b.number("person")]) && m.sees(r, m.items["group"][b.number("group_id")])
	}
	return m.owns(r, b.number("church_id"))
}

// changes is about a record that is seen.
func (m *machine) changes(r reach, b *believed) bool {
	return r.name != "event" || b.kind == "ticket"
}

// referred tells whether others name a record.
func (m *machine) referred(b *believed) bool {
	names := func(kind, field string) bool {
		for _, other := range m.items[kind] {
			if other.number(field) == b.id {
				return true
			}
		}
		return false
	}
	switch b.kind {
	case "person":
		return names("membership", "person")
	case "group":
		return names("membership", "group_id")
	case "supplier":
		return names("financial_entry", "supplier_id")
	case "event":
		return m.touched[b.id] || names("ticket", "event_id")
	case "ticket":
		return slices.ContainsFunc(m.entries, func(e *posting) bool { return e.ticket == b.id && !e.waits })
	}
	return false
}

// within tells whether a key may make or end one of a level.
func (m *machine) within(r, part reach) bool {
	order := []string{"denomination", "regional", "church", "event"}
	switch {
	case r.whole():
		return true
	case r.name == part.name:
		return !slices.ContainsFunc(part.ids, func(id int64) bool { return !slices.Contains(r.ids, id) })
	case slices.Index(order, part.name) < slices.Index(order, r.name):
		return false
	}
	return !slices.ContainsFunc(part.ids, func(id int64) bool {
		if part.name == "event" {
			event := m.items["event"][id]
			return event == nil || !m.owns(r, event.number("church_id"))
		}
		return !m.owns(r, id)
	})
}
