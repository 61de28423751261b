package kv_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/api"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/record"
	"doorward/kv/search"
)

// searchSeed is what people and queries are drawn from, and how many queries there are of each sort.
const (
	searchSeed    = 4
	searchQueries = 500
)

// benchSearch measures the search for people: what it finds, how fast, and what keeping its index costs.
func benchSearch(t *testing.T, b *bench) {
	w := newTown(t, b, benchPeople)
	w.build(t)
	w.sellTickets(t)
	w.compareSlips(t, searchQueries)
	w.compareExact(t)
	w.compareDoors(t)
	w.compareLive(t)
}

// TestSearchForgivesSlips holds a smaller congregation to what make bench wants of a large one.
func TestSearchForgivesSlips(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	b := &bench{table: &sheet{}}
	w := newTown(t, b, 3000)
	w.follow(t)
	t.Cleanup(w.unfollow)
	for _, l := range w.compareSlips(t, 60) {
		if l.missed() {
			t.Errorf("%s: %s, want %s", l.name, figure(l.pairs[0].ours), l.target())
		}
	}
}

// compareSlips tells of each sort of slip how often the first ten hold the person, or somebody of the very same name, which
// it answers, and how long an answer takes.
func (w *town) compareSlips(t *testing.T, queries int) (recalls []line) {
	home := kvtest.Login(t, w.store, fmt.Sprintf("church:%d", w.church), "people:*", "admin:*")
	r := rand.New(rand.NewPCG(searchSeed, 1))
	for _, s := range slips {
		found := 0
		var took []time.Duration
		var asked []string
		for range queries {
			i := 1 + r.IntN(len(w.people)-1)
			text := s.make(r, w.people[i].name)
			q := desk.Query{Surface: record.Admin, Kind: record.Person, Limit: 10, Finder: w.index, Ranked: search.ParseRanked(text)}
			start := time.Now()
			page, err := w.store.Desk.List(w.reader, q)
			took = append(took, time.Since(start))
			if err != nil {
				t.Fatal(err)
			}
			if w.holds(page, i) {
				found++
			}
			w.checkScope(t, home, q)
			asked = append(asked, text)
		}
		t.Logf("%s: %s", s.name, strings.Join(asked, "; "))
		name := "people search, " + s.name
		l := line{name: name + ": found among ten", pairs: []pair{{ours: float64(found) / float64(queries)}}, atLeast: s.recall, bare: true}
		recalls = append(recalls, l)
		w.table.add(l)
		w.tellTimes(name, took)
	}
	return recalls
}

// checkScope asks the same with the key of one church.
func (w *town) checkScope(t *testing.T, home auth.Principal, q desk.Query) {
	t.Helper()
	page, err := w.store.Desk.List(home, q)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(page.IDs, func(id record.ID) bool { return w.people[id.Int()].home != w.church }) {
		t.Errorf("a church's key finds people of another")
	}
}

// tellTimes adds the median and the slowest of a hundred, both with their targets.
func (w *town) tellTimes(name string, took []time.Duration) {
	slices.Sort(took)
	w.table.add(line{name: name + ": p50", unit: "ms", pairs: []pair{{ours: quantile(took, 0.5)}}, atMost: 2, bare: true})
	w.table.add(line{name: name + ": p99", unit: "ms", pairs: []pair{{ours: quantile(took, 0.99)}}, atMost: 15, bare: true})
}

// holds tells whether a page has person i, or somebody of exactly that name.
func (w *town) holds(page desk.Page, i int) bool {
	return slices.ContainsFunc(page.IDs, func(id record.ID) bool { return w.people[id.Int()].name == w.people[i].name })
}

// compareExact tells how long the exact search of /v1 takes: two words of a name, and the digits of a phone.
func (w *town) compareExact(t *testing.T) {
	r := rand.New(rand.NewPCG(searchSeed, 2))
	for _, c := range []struct {
		name string
		text func(citizen) string
	}{
		{"first and last word", func(c citizen) string {
			words := strings.Fields(c.name)
			return words[0] + " " + words[len(words)-1]
		}},
		{"six digits of a phone", func(c citizen) string { return c.phone[len(c.phone)-6:] }},
	} {
		var took []time.Duration
		for range searchQueries {
			text := c.text(w.people[1+r.IntN(benchPeople)])
			q := desk.Query{Surface: record.V1, Kind: record.Person, Limit: 10, Finder: w.index, Search: search.Parse(text)}
			start := time.Now()
			page, err := w.store.Desk.List(w.reader, q)
			took = append(took, time.Since(start))
			if err != nil || page.Count == 0 {
				t.Fatalf("search %q: %d found, %v", text, page.Count, err)
			}
		}
		w.tellTimes("people search on /v1, "+c.name, took)
	}
}

// compareDoors compares the door's search over HTTP with one that has no index.
func (w *town) compareDoors(t *testing.T) {
	indexed, scanning := w.server(t, w.index), w.server(t, nil)
	r := rand.New(rand.NewPCG(searchSeed, 3))
	var requests []string
	for range searchQueries {
		q := url.QueryEscape(wrongLetter(r, w.people[1+r.IntN(benchTickets)].name))
		requests = append(requests, fmt.Sprintf("GET /door/v1/event/%d/search/?q=%s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", w.event, q, basic(w.key)))
	}
	ours, base := wires(t, indexed, 8), wires(t, scanning, 8)
	pairs := sideBySide(func() float64 { return askAll(t, ours, requests) }, func() float64 { return askAll(t, base, requests) })
	w.table.add(line{name: fmt.Sprintf("HTTP door search of %d tickets, 8 connections, against scanning", benchTickets), unit: "/s", pairs: pairs, atLeast: 20})
}

func (w *town) server(t testing.TB, f desk.Finder) string {
	t.Helper()
	server, err := api.New(api.Config{Store: w.store, Finder: f})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, server.Handler())
}

// askAll sends drawn requests on all connections and answers replies a second.
func askAll(t testing.TB, all []*wire, requests []string) float64 {
	return rateOf(t, len(all), func(i int) func() (bool, error) {
		return func() (bool, error) {
			return true, expect(all[i], []byte(requests[rand.IntN(len(requests))]), 200)
		}
	})
}
