package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"
)

const (
	siegePace   = 10 * time.Millisecond // of the well-behaved client
	siegeQuiet  = 2 * time.Second       // before the siege, and after it
	siegeP99    = 100 * time.Millisecond
	siegeMemory = 150 << 20
	slowHeader  = 5 * time.Second // how long the server waits for a request's headers
	slowBody    = 15 * time.Second
	slowMargin  = 4 * time.Second // by which a busy machine may be late
)

// siege is a server, those who mean it harm, and the one who only checks tickets in.
type siege struct {
	*crashWorld
	server   *serving1
	address  string
	requests atomic.Int64
	brought  int // codes, by the well-behaved client
	memory   int64
}

// TestHostileClientsHarmNobody: whatever a hostile client sends, with a key or without one, the server answers it no 5xx, ends what is
// slow in time, does nothing that was smuggled in, and grows no more than it may; whoever behaves is served as fast as before.
func TestHostileClientsHarmNobody(t *testing.T) {
	proof.Unraced(t)
	s := &siege{crashWorld: newCrashWorld(t)}
	s.server = s.serve()
	defer func() {
		s.server.kill()
		<-s.server.exited
	}()
	s.fill(s.server.url)
	s.address = strings.TrimPrefix(s.server.url, "http://")
	end := time.Now().Add(proof.Torture(t))
	for round := 0; round == 0 || time.Now().Before(end) && !t.Failed(); round++ {
		s.round()
	}
	s.nothingSmuggled()
	fmt.Printf("torture: requests=%d\n", s.requests.Load())
}

// round measures the well-behaved client before, under and after the siege.
func (s *siege) round() {
	quiet := s.behave(after(siegeQuiet))
	over := make(chan struct{})
	measured := make(chan []time.Duration)
	watched := make(chan struct{})
	go func() { measured <- s.behave(over) }()
	go func() {
		defer close(watched)
		s.watch(over)
	}()
	s.attack()
	close(over)
	under := <-measured
	<-watched
	quiet = append(quiet, s.behave(after(siegeQuiet/2))...)
	p99, bound := percentile(under, 99), max(siegeP99, 4*percentile(quiet, 99))
	s.Logf("check-in p99 %v before and after, %v under siege; at most %d MiB", percentile(quiet, 99), p99, s.memory>>20)
	if p99 > bound && proof.Full() { // a sample has no machine of its own
		s.Errorf("p99 of a check-in is %v under siege, want at most %v", p99, bound)
	}
	if s.memory > siegeMemory {
		s.Errorf("the server took %d MiB, want at most %d", s.memory>>20, siegeMemory>>20)
	}
}

// attack does what takes long at once, beside connections that do nothing, and meanwhile what is short one after another. It returns
// when all of it has been answered.
func (s *siege) attack() {
	defer s.idle()()
	var all sync.WaitGroup
	for _, long := range []func(){s.slowHeaders, s.slowBodies, s.guess} {
		all.Go(long)
	}
	for _, short := range []func(){s.smuggle, s.hugeHeaders, s.oddPaths, s.deepJSON, s.bombs} {
		short()
	}
	all.Wait()
}

// after is closed in a while.
func after(d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

// behave checks tickets in until it is over, and answers how long whoever came at an even pace has waited: one long wait is many.
func (s *siege) behave(over <-chan struct{}) (waits []time.Duration) {
	c := &crashClient{round: &round{crashWorld: s.crashWorld, url: s.server.url}}
	pace := time.NewTicker(siegePace)
	defer pace.Stop()
	for {
		select {
		case <-over:
			return waits
		case <-pace.C:
		}
		n := s.brought % (kills * roundCodes)
		want := "admitted"
		if s.brought >= kills*roundCodes {
			want = "already_admitted"
		}
		s.brought++
		start := time.Now()
		rep := c.send(c.scanOf(&visit{code: crashCode(n/roundCodes, n%roundCodes), atDoor: n%2 == 0}))
		for wait := time.Since(start); wait > 0; wait -= siegePace {
			waits = append(waits, wait)
		}
		if rep == nil {
			s.Error("the well-behaved client had no answer")
			return waits
		}
		if got, _, _ := rep.decision(); got != want {
			s.Errorf("check-in = %d %s, want %s", rep.status, rep.body, want)
		}
	}
}

func percentile(all []time.Duration, p int) time.Duration {
	slices.Sort(all)
	return all[min(len(all)-1, len(all)*p/100)]
}

// watch looks at the server's own memory until it is over.
func (s *siege) watch(over <-chan struct{}) {
	often := time.NewTicker(50 * time.Millisecond)
	defer often.Stop()
	for {
		select {
		case <-over:
			return
		case <-often.C:
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.server.cmd.Process.Pid))
		if err != nil {
			s.Error(err)
			return
		}
		_, rest, _ := bytes.Cut(status, []byte("RssAnon:"))
		kib, err := strconv.ParseInt(strings.Fields(string(rest) + " ?")[0], 10, 64)
		if err != nil {
			s.Error(err)
			return
		}
		s.memory = max(s.memory, kib<<10)
	}
}
