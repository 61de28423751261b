package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"
)

const (
	kills         = 21
	killsOfSample = 3
	doors         = 16 // clients at doors, two of them for each code
	offices       = 8  // clients that write people
	roundCodes    = 120
)

// TestCrashLosesNothingAnswered kills the server again and again while clients write, and holds what it has after each start
// against what it answered before: check-ins, undos and people, each under the Idempotency-Key it was sent with.
func TestCrashLosesNothingAnswered(t *testing.T) {
	t.Parallel()
	proof.Unraced(t)
	seed := proof.Seed(t)
	w := newCrashWorld(t)
	server := w.serve()
	defer func() {
		server.kill()
		<-server.exited
	}()
	w.fill(server.url)
	draw := rand.New(rand.NewPCG(seed, 0))
	sent, answered := 0, 0
	for n := range proof.Count(killsOfSample, kills) {
		r := w.newRound(n, rand.New(rand.NewPCG(seed, uint64(n+1))))
		r.url = server.url
		r.fuse = newFuse(server, draw)
		r.load()
		<-server.exited
		server = w.serve()
		r.url, r.fuse = server.url, nil
		r.check()
		sent, answered = sent+r.sent(), answered+r.answered()
		if t.Failed() {
			t.Fatalf("after kill %d at answer %d", n+1, r.answered())
		}
	}
	t.Logf("%d kills, %d requests, %d of them answered, %d check-ins", kills, sent, answered, w.admissions)
	if sent == answered {
		t.Error("no kill met a request under way")
	}
}

// fuse kills a server at a drawn answer, or a drawn moment after it.
type fuse struct {
	server *serving1
	left   atomic.Int64
	late   time.Duration
}

func newFuse(server *serving1, draw *rand.Rand) *fuse {
	f := &fuse{server: server}
	f.left.Store(1 + draw.Int64N(2*roundCodes))
	if draw.IntN(2) == 0 {
		f.late = time.Duration(draw.Int64N(int64(5 * time.Millisecond)))
	}
	return f
}

// burn counts an answer.
func (f *fuse) burn() {
	if f == nil || f.left.Add(-1) != 0 {
		return
	}
	if f.late == 0 {
		f.server.kill()
		return
	}
	time.AfterFunc(f.late, f.server.kill)
}

// crashWorld is a congregation with one event, and what it must have by now.
type crashWorld struct {
	*program
	key, secret string
	event       int64
	admissions  int // check-ins there must be
	undos       int
	people      int
}

func newCrashWorld(t *testing.T) *crashWorld {
	w := &crashWorld{program: &program{t, compiled(t), filepath.Join(proof.Disk(t), "data")}}
	var key struct{ Key, Secret string }
	w.run(&key, "keys", "add", "--name", "crash", "--level", "denomination", "--allow", "*:*")
	w.key, w.secret = key.Key, key.Secret
	return w
}

func crashCode(round, i int) string { return fmt.Sprintf("R%02d-%03d-KQ7P", round, i) }

// fill makes the event and the tickets of all rounds.
func (w *crashWorld) fill(url string) {
	c := &crashClient{round: &round{crashWorld: w, url: url}}
	made := c.send(request1{method: "POST", path: "/admin/v1/event/", body: `{"start_datetime":"2026-01-01T12:00:00Z"}`})
	w.event = int64(made.number("id"))
	csv := &strings.Builder{}
	csv.WriteString("code,holder_name\n")
	for r := range kills {
		for i := range roundCodes {
			fmt.Fprintf(csv, "%s,Ana Souza\n", crashCode(r, i))
		}
	}
	path := fmt.Sprintf("/admin/v1/import/?kind=ticket&event=%d", w.event)
	if rep := c.send(request1{method: "POST", path: path, body: csv.String()}); rep.number("created") != kills*roundCodes {
		w.Fatalf("import = %s", rep.body)
	}
}
