package kv_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/api"
	"doorward/index"
	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// searchSeed is what people and queries are drawn from, and how many queries there are of each sort.
const (
	searchSeed    = 4
	searchQueries = 500
)

// town is a congregation whose people have names to search for, at two churches, with an event of ticket holders.
type town struct {
	*bench
	people []citizen // by id, from 1
	index  *index.Index
}

// citizen is what somebody is searched by.
type citizen struct {
	name, phone string
	home        int64
}

// plain is a text as searches compare it.
func plain(text string) string { return record.Fold(text) }

// benchSearch measures the search for people: what it finds, how fast, and what keeping its index costs.
func benchSearch(t *testing.T, b *bench) {
	w := newTown(t, b)
	w.build(t)
	w.sellTickets(t)
	w.compareSlips(t)
	w.compareExact(t)
	w.compareDoors(t)
	w.compareLive(t)
}

func newTown(t *testing.T, b *bench) *town {
	w := &town{bench: &bench{table: b.table, dir: t.TempDir()}}
	s, err := kv.Open(w.config(w.dir))
	if err != nil {
		t.Fatal(err)
	}
	w.store = s
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.church = kvtest.Create(t, s, record.Church, `{"name":"Igreja Central"}`)
	other := kvtest.Create(t, s, record.Church, `{"name":"Igreja do Norte"}`)
	r := rand.New(rand.NewPCG(searchSeed, 0))
	names := make([]string, benchPeople)
	for i := range names {
		names[i] = fullName(r)
	}
	upsert(t, s, record.Person, benchPeople, func(i int) string {
		local := strings.ReplaceAll(plain(names[i]), " ", ".")
		return fmt.Sprintf(`{"full_name":%q,"church_id":%d,"email":"%s%d@example.org","phone":%q,"membership_number":%d}`,
			names[i], []int64{w.church, other}[i%2], local, i%1000, phoneOf(i), i)
	})
	w.people = make([]citizen, benchPeople+1)
	page, _, err := s.Replay(kv.Operator(), 0, 1<<20, record.Person)
	if err != nil || len(page) != benchPeople {
		t.Fatalf("%d people, %v", len(page), err)
	}
	for _, r := range page {
		w.people[r.ID.Int()] = citizen{textOf(t, r, "full_name"), textOf(t, r, "phone"), r.Home}
	}
	w.event = kvtest.Create(t, s, record.Event, `{"name":"Conferência","start_datetime":"2026-11-22T19:00:00Z","list_rule":"daily"}`)
	w.reader = kvtest.Login(t, s, "denomination", "people:*", "admin:*")
	w.door = kvtest.Login(t, s, fmt.Sprintf("event:%d", w.event), "checkin:*")
	w.key[0], w.key[1] = kvtest.Key(t, s, fmt.Sprintf("event:%d", w.event), "checkin:*")
	return w
}

func phoneOf(i int) string { return fmt.Sprintf("+55 11 9%08d", i*7919%100_000_000) }

// textOf is a stored text.
func textOf(t testing.TB, r kv.Replayed, field string) (text string) {
	t.Helper()
	if err := json.Unmarshal(r.Body.Member(field), &text); err != nil {
		t.Fatal(err)
	}
	return text
}

// sellTickets gives the first people tickets, which the index learns of as they come.
func (w *town) sellTickets(t *testing.T) {
	upsert(t, w.store, record.Ticket, benchTickets, func(i int) string {
		p := w.people[i+1]
		return fmt.Sprintf(`{"event_id":%d,"code":%q,"holder_name":%q,"phone":%q}`, w.event, w.code(i), p.name, p.phone)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.index.Await(ctx, w.store.Seq()); err != nil {
		t.Fatal(err)
	}
}

// build makes the index of the people, and tells how long that takes and how large it is once its segments are one.
func (w *town) build(t *testing.T) {
	start := time.Now()
	w.follow(t)
	t.Cleanup(w.unfollow)
	w.table.add(line{name: fmt.Sprintf("index of %d people built", benchPeople), unit: "s", atMost: 10, bare: true,
		pairs: []pair{{ours: time.Since(start).Seconds()}}})
	until(t, func() bool { return w.files(t, ".zap").count == 1 })
	w.table.add(line{name: "index on disk", unit: " MB", atMost: 30, bare: true, pairs: []pair{{ours: w.files(t, "").bytes / 1e6}}})
}

// follow opens the index and waits until it can be asked.
func (w *town) follow(t testing.TB) {
	t.Helper()
	if w.index != nil {
		return
	}
	x, err := index.Open(index.Config{Store: w.store, Dir: w.dir, Sweep: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	w.index = x
	until(t, func() bool { return x.Status().Usable })
}

func (w *town) unfollow() {
	if w.index != nil {
		_ = w.index.Close() // nothing is in it that the store has not
		w.index = nil
	}
}

// until waits for a background task that says when it is done.
func until(t testing.TB, done func() bool) {
	t.Helper()
	late := time.After(2 * time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("waited for two minutes")
		}
	}
}

// files are how many files of the index end so, and their bytes.
func (w *town) files(t testing.TB, end string) (n struct {
	count int
	bytes float64
}) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(w.dir, "index"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, end) {
			return err
		}
		if info, err := os.Stat(path); err == nil {
			n.count++
			n.bytes += float64(info.Size())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// compareSlips tells of each sort of slip how often the first ten hold the person, or somebody of the very same name, and how
// long an answer takes.
func (w *town) compareSlips(t *testing.T) {
	home := kvtest.Login(t, w.store, fmt.Sprintf("church:%d", w.church), "people:*", "admin:*")
	r := rand.New(rand.NewPCG(searchSeed, 1))
	for _, s := range slips {
		found, strangers := 0, 0
		var took []time.Duration
		for range searchQueries {
			i := 1 + r.IntN(benchPeople)
			q := kv.Query{Surface: record.Admin, Kind: record.Person, Limit: 10, Finder: w.index, Ranked: record.ParseRanked(s.make(r, w.people[i].name))}
			start := time.Now()
			page, err := w.store.List(w.reader, q)
			took = append(took, time.Since(start))
			if err != nil {
				t.Fatal(err)
			}
			if w.holds(page, i) {
				found++
			}
			if page, err = w.store.List(home, q); err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(page.IDs, func(id record.ID) bool { return w.people[id.Int()].home != w.church }) {
				strangers++
			}
		}
		if strangers > 0 {
			t.Errorf("%s: a church's key finds people of another", s.name)
		}
		name := "people search, " + s.name
		w.table.add(line{name: name + ": found among ten", pairs: []pair{{ours: float64(found) / searchQueries}}, atLeast: s.recall, bare: true})
		w.tellTimes(name, took)
	}
}

// tellTimes adds the median and the slowest of a hundred, both with their targets.
func (w *town) tellTimes(name string, took []time.Duration) {
	slices.Sort(took)
	w.table.add(line{name: name + ": p50", unit: "ms", pairs: []pair{{ours: quantile(took, 0.5)}}, atMost: 2, bare: true})
	w.table.add(line{name: name + ": p99", unit: "ms", pairs: []pair{{ours: quantile(took, 0.99)}}, atMost: 15, bare: true})
}

// holds tells whether a page has person i, or somebody of exactly that name.
func (w *town) holds(page kv.Page, i int) bool {
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
			q := kv.Query{Surface: record.V1, Kind: record.Person, Limit: 10, Finder: w.index, Search: record.ParseSearch(text)}
			start := time.Now()
			page, err := w.store.List(w.reader, q)
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

func (w *town) server(t testing.TB, f kv.Finder) string {
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
