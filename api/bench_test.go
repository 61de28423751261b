package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"doorward/api"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
)

// The benchmarks of this room run the server and a bare peer side by side and report the ratio of their throughputs: times
// alone say more about the machine. The peer is a chi router whose handler writes the same bytes, or, for check-ins, asks the
// same store after reading the key by net/http's own means.

// throughput asks for requests from n connections at once until all have been answered, and tells how many a second were.
func throughput(b *testing.B, n, requests int, request func(i int) *http.Request, want int) float64 {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var group sync.WaitGroup
	start := time.Now()
	for range n {
		group.Go(func() {
			for {
				i := int(next.Add(1))
				if i > requests {
					return
				}
				resp, err := client.Do(request(i))
				if err != nil {
					b.Error(err)
					return
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != want {
					b.Errorf("status = %d, want %d, %v", resp.StatusCode, want, err)
				}
				resp.Body.Close()
			}
		})
	}
	group.Wait()
	return float64(requests) / time.Since(start).Seconds()
}

// compare reports how a server does beside its peer, the median of some rounds.
func compare(b *testing.B, connections int, want int, ours, peer func(i int) *http.Request) {
	b.Helper()
	const rounds, requests = 5, 4000
	var ratios []float64
	serial := 0
	round := func(f func(int) *http.Request) float64 {
		base := serial
		serial += requests
		return throughput(b, connections, requests, func(i int) *http.Request { return f(base + i) }, want)
	}
	for b.Loop() {
		for range rounds {
			theirs := round(peer)
			ratios = append(ratios, round(ours)/theirs)
		}
	}
	b.ReportMetric(median(ratios), "of-peer")
	b.ReportMetric(0, "ns/op")
}

func median(list []float64) float64 {
	for i := range list {
		for j := i; j > 0 && list[j] < list[j-1]; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	return list[len(list)/2]
}

// startPeer starts a peer.
func startPeer(b *testing.B, method, path string, h http.HandlerFunc) string {
	r := chi.NewRouter()
	r.Method(method, path, h)
	srv := httptest.NewServer(r)
	b.Cleanup(srv.Close)
	return srv.URL
}

func benchReads(b *testing.B, path, pattern string) {
	s := newSite(b, func(c *api.Config) { c.AuthFailures = 20 })
	for i := range 200 {
		s.create(record.Person, fmt.Sprintf(`{"full_name":"Ana Souza %d","email":"ana%d@mail.example","birthday":"1990-01-01"}`, i, i))
	}
	body := []byte(s.do("GET", path, "").body)
	peer := startPeer(b, "GET", pattern, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if _, err := w.Write(body); err != nil {
			b.Error(err)
		}
	})
	get := func(base string) func(int) *http.Request {
		return func(int) *http.Request {
			r, _ := http.NewRequest("GET", base+path, nil)
			r.SetBasicAuth(s.auth[0], s.auth[1])
			return r
		}
	}
	compare(b, 16, 200, get(s.url), get(peer))
}

func BenchmarkRetrieve(b *testing.B) { benchReads(b, "/v1/people/7/", "/v1/people/{id}/") }
func BenchmarkList50(b *testing.B)   { benchReads(b, "/v1/people/?limit=50", "/v1/people/") }

func BenchmarkCheckin(b *testing.B) {
	for _, connections := range []int{1, 64} {
		b.Run(fmt.Sprintf("connections=%d", connections), func(b *testing.B) { benchCheckin(b, connections) })
	}
}

func benchCheckin(b *testing.B, connections int) {
	w := settle(newSiteOver(b, kvtest.Open(b), func(c *api.Config) { c.AuthFailures = 20 }))
	const tickets = 60_000
	stock(b, w, tickets)
	peer := startPeer(b, "POST", "/v1/event/{id}/checkin/", func(rw http.ResponseWriter, r *http.Request) {
		key, secret, _ := r.BasicAuth()
		p, err := w.store.Keys.Login(key, secret)
		if err != nil {
			b.Error(err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			b.Error(err)
		}
		code := strings.TrimSuffix(strings.TrimPrefix(string(body), `{"code":"`), `"}`)
		d, err := w.store.Door.CheckIn(p, door.Attempt{Event: w.event, Code: code})
		if err != nil || d.Outcome != outcome.Admitted {
			b.Error(d.Outcome, err)
		}
		rw.WriteHeader(http.StatusNoContent)
	})
	post := func(base string) func(int) *http.Request {
		return func(i int) *http.Request {
			if i > tickets {
				b.Fatal("out of tickets")
			}
			r, _ := http.NewRequest("POST", base+checkinPath(w.event), strings.NewReader(fmt.Sprintf(`{"code":"T%d"}`, i)))
			r.SetBasicAuth(w.auth[0], w.auth[1])
			r.Header.Set("Content-Type", "application/json")
			return r
		}
	}
	compare(b, connections, 204, post(w.url), post(peer))
}

// stock gives an event tickets T1, T2, …
func stock(b *testing.B, w *world, n int) {
	for i := 0; i < n; i += table.MaxRows {
		rows := make([]entry.Row, table.MaxRows)
		for j := range rows {
			rows[j] = entry.Row{Kind: record.Ticket, Patch: kvtest.Parse(b, record.Ticket, fmt.Sprintf(`{"event_id":%d,"code":"T%d"}`, w.event, i+j+1), true)}
		}
		if _, err := w.store.Desk.Upsert(auth.Operator(), rows, false); err != nil {
			b.Fatal(err)
		}
	}
}
