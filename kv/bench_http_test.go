package kv_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"

	"doorward/api"
	"doorward/kv"
	"doorward/kv/door"
	"doorward/kv/table"
)

// face is our HTTP face over the store, and what is asked of it.
type face struct {
	*bench
	addr string
}

// benchHTTP compares the HTTP face with bare handlers.
func benchHTTP(t *testing.T, b *bench) {
	server, err := api.New(api.Config{Store: b.store})
	if err != nil {
		t.Fatal(err)
	}
	s := &face{b, serve(t, server.Handler())}
	stop := peak()
	s.compareReads(t)
	debug.FreeOSMemory()
	b.table.add(line{name: "anonymous memory, most during HTTP reads", unit: " MB", pairs: []pair{{ours: stop() * 1.048576}}, atMost: 150, bare: true})
	most := s.compareCheckIns(t, "")
	most = max(most, s.compareCheckIns(t, ", with Idempotency-Key"))
	b.table.tell("anonymous memory, most during HTTP check-ins, both sides", " MiB", most)
}

func basic(key [2]string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(key[0]+":"+key[1])) + "\r\n"
}

// checkInRequest is a check-in of a ticket that varies, with a key of its own where one is wanted.
func (s *face) checkInRequest(keyed bool) string {
	digits := strings.Repeat(string(mark), 11)
	body := `{"code":"BENCH` + digits + `"}`
	head := fmt.Sprintf("POST /v1/event/%d/checkin/ HTTP/1.1\r\nHost: %s\r\n%sX-Door: north\r\n", s.event, s.addr, basic(s.key))
	if keyed {
		head += fmt.Sprintf("Idempotency-Key: bench-%012d-%s\r\n", s.ahead.Load()/1e9, digits)
	}
	return head + fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body)) + body
}

// compareCheckIns compares with the bare handler over a copy of the store, opened by the store's own code. It answers the most anonymous
// memory in MiB that was seen while check-ins were answered. What it took before that to find the rows of one is given back first.
func (s *face) compareCheckIns(t *testing.T, with string) (memory float64) {
	keyed := with != ""
	dir := t.TempDir()
	s.copyFile(t, table.Path(dir))
	copied, err := kv.Open(s.config(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := copied.Close(); err != nil {
			t.Error(err)
		}
	})
	s.nextDay()
	nonce := ""
	if keyed {
		nonce = "a key for the rows' sake"
	}
	d, err := recordCheckIn(copied, s.door, door.Attempt{Event: s.event, Code: s.code(0), Door: "north", Nonce: nonce})
	if err != nil {
		t.Fatal(err)
	}
	bare := serve(t, bareCheckIn(copied, d, s.key[0], s.key[1]))
	debug.FreeOSMemory()
	stop := peak()
	for _, c := range []struct {
		clients int
		atLeast float64
	}{{benchClients, 0.7}, {1, 0.9}} {
		ours, base := wires(t, s.addr, c.clients), wires(t, bare, c.clients)
		pairs := sideBySide(func() float64 { return s.postAll(t, ours, keyed) }, func() float64 { return s.postAll(t, base, keyed) })
		s.table.add(line{name: "HTTP check-in, " + plural(c.clients, "connection") + with, unit: "/s", pairs: pairs, atLeast: c.atLeast})
	}
	return stop()
}

func wires(t testing.TB, addr string, n int) []*wire {
	t.Helper()
	all := make([]*wire, n)
	for i := range all {
		all[i] = dial(t, addr)
	}
	return all
}

// postAll checks tickets in on all connections, on a day of its own, and answers check-ins a second.
func (s *face) postAll(t testing.TB, all []*wire, keyed bool) float64 {
	s.nextDay()
	text := s.checkInRequest(keyed)
	order := rand.Perm(benchTickets)
	var next atomic.Int64
	return rateOf(t, len(all), func(i int) func() (bool, error) {
		request := copyOf(text)
		return func() (bool, error) {
			n := int(next.Add(1)) - 1
			if n >= benchTickets {
				return false, nil
			}
			return true, expect(all[i], request.with(order[n]), http.StatusNoContent)
		}
	})
}

func expect(w *wire, request []byte, status int) error {
	got, err := w.do(request)
	if err == nil && got != status {
		err = fmt.Errorf("answered %d, want %d", got, status)
	}
	return err
}

// compareReads compares one person, and a page of 50, with the same bytes from a bare handler.
func (s *face) compareReads(t *testing.T) {
	for _, c := range []struct{ name, path, asked, pattern string }{
		{"one person", "/v1/people/12345/", "/v1/people/1" + strings.Repeat(string(mark), 4) + "/", "/v1/people/{id}/"},
		{"50 people", "/v1/people/?limit=50", "/v1/people/?limit=50", "/v1/people/"},
	} {
		body := s.fetch(t, c.path)
		bare := serve(t, bareReply(c.pattern, body))
		request := "GET " + c.asked + " HTTP/1.1\r\nHost: " + s.addr + "\r\n" + basic(s.read) + "\r\n"
		for _, clients := range []int{benchClients, 1} {
			ours, base := wires(t, s.addr, clients), wires(t, bare, clients)
			pairs := sideBySide(func() float64 { return getAll(t, ours, request) }, func() float64 { return getAll(t, base, request) })
			l := line{name: fmt.Sprintf("HTTP get %s (%d bytes), %s", c.name, len(body), plural(clients, "connection")), unit: "/s", pairs: pairs}
			if clients > 1 {
				l.atLeast = 0.6
			}
			s.table.add(l)
			if c.name == "one person" {
				s.tellCounting(t, pairs, clients)
			}
		}
	}
}

// tellCounting compares what it costs to count a read with what all of a GET costs.
func (s *face) tellCounting(t *testing.T, gets []pair, clients int) {
	const together = 1000
	counted := make([]pair, len(gets))
	for i, p := range gets {
		rate := rateOf(t, clients, func(int) func() (bool, error) {
			return func() (bool, error) {
				kv.BenchNoteReads(s.store, s.reader, together)
				return true, nil
			}
		})
		counted[i] = pair{ours: 1e6 / (rate * together), base: 1e6 / p.ours}
	}
	s.table.add(line{name: "to count a read, against the GET of a person, " + plural(clients, "connection"), unit: "µs", pairs: counted, atMost: 0.02})
}

// fetch is a reply's body.
func (s *face) fetch(t testing.TB, path string) []byte {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://"+s.addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(s.read[0], s.read[1])
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // read to its end
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d, %v", path, resp.StatusCode, err)
	}
	return body
}

// getAll sends a request again and again on all connections, and answers replies a second.
func getAll(t testing.TB, all []*wire, text string) float64 {
	return rateOf(t, len(all), func(i int) func() (bool, error) {
		request := copyOf(text)
		return func() (bool, error) {
			return true, expect(all[i], request.with(rand.IntN(10_000)), http.StatusOK)
		}
	})
}
