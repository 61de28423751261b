package venue_test

import (
	"fmt"
	"net/http"
	"strings"
	gosync "sync"
	"testing"
	"time"

	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/scopes"
)

// scanAll has the laptop admit n tickets of sellMany.
func (w *town) scanAll(from, n int) {
	w.Helper()
	gate := kvtest.Login(w, w.laptop, fmt.Sprintf("event:%d", w.event), "*:*")
	attempts := make([]door.Attempt, n)
	for i := range attempts {
		attempts[i] = door.Attempt{Event: w.event, Code: benchCode(from + i)}
	}
	judged, err := w.laptop.Door.CheckInAll(gate, attempts)
	if err != nil {
		w.Fatal(err)
	}
	for i := range judged {
		if judged[i].Outcome != outcome.Admitted {
			w.Fatalf("scan %d = %+v", i, judged[i])
		}
	}
}

// tally counts requests by what they ask, of one database or of none.
type tally struct {
	mu     gosync.Mutex
	db     string
	asked  map[string]int
	chunks int // bodies that come without a length: the connection ends with each
}

func (c *tally) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.chunks = map[string]int{}, 0
}

func (c *tally) count(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.ContentLength < 0 {
		c.chunks++
	}
	what, ok := strings.CutPrefix(r.URL.Path, "/sync/"+c.db+"/")
	if what, _, _ = strings.Cut(what, "/"); ok {
		c.asked[r.Method+" "+what]++
	}
}

// TestABacklogGoesUpInFewRequests: neither each scan nor each answer costs one, and what the laptop itself has brought is not read
// back; nor is it while scans trickle.
func TestABacklogGoesUpInFewRequests(t *testing.T) {
	const backlog, trickle = 3000, 12
	w := newTown(t)
	w.sellMany(backlog + trickle)
	c := &tally{db: scopes.Scope{Sort: scopes.Event, ID: w.event}.String()}
	c.begin()
	w.url = watched(t, w.url, c.count)
	w.enrol(w.laptop)
	_, leave := w.follow(w.laptop)
	w.reaches(w.laptop, scopes.Event, backlog+trickle)
	leave()
	w.scanAll(0, backlog)

	c.begin()
	began := time.Now()
	_, leave = w.follow(w.laptop)
	w.reaches(w.centre, scopes.Event, backlog+trickle+backlog)
	c.atMost(t, map[string]int{"POST _revs_diff": 2, "POST _feed": 2})
	for i := range trickle {
		w.scanAll(backlog+i, 1)
		w.reaches(w.centre, scopes.Event, backlog+trickle+backlog+i+1)
	}
	leave()
	seconds := time.Since(began).Seconds()
	c.atMost(t, map[string]int{"GET _feed": 1, "GET _changes": 3 + int(seconds/0.4), "PUT _local": 2 * (2 + int(seconds))})
}

func (c *tally) atMost(t *testing.T, bounds map[string]int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for what, most := range bounds {
		if n := c.asked[what]; n > most {
			t.Errorf("%s: %d times, want at most %d", what, n, most)
		}
	}
	if c.chunks > 0 {
		t.Errorf("%d bodies in chunks, want each with its length", c.chunks)
	}
}
