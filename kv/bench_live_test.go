package kv_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// How many people a second are made beside check-ins, and how often each side is measured.
const (
	liveCreates = 1000
	liveRounds  = 10
)

// compareLive compares check-ins beside a thousand new people a second with and without an index that follows, and tells
// how long the slowest of them took to be in the index.
func (w *town) compareLive(t *testing.T) {
	var pairs []pair
	longest := time.Duration(0)
	for i := range liveRounds {
		var p pair
		for side := range 2 {
			if (side+i)%2 == 1 {
				w.unfollow()
				p.base = w.live(t)
				continue
			}
			w.follow(t)
			end := make(chan struct{})
			lag := w.watchLag(end)
			p.ours = w.live(t)
			close(end)
			longest = max(longest, <-lag)
		}
		pairs = append(pairs, p)
	}
	name := fmt.Sprintf("check-ins beside %d new people a second", liveCreates)
	w.table.add(line{name: name + ", index against none", unit: "/s", pairs: pairs, atLeast: 0.9})
	w.table.add(line{name: name + ": longest lag of the index", unit: "s", pairs: []pair{{ours: longest.Seconds()}}, atMost: 1, bare: true})
}

// live checks tickets in with 64 clients while people are made, and answers check-ins a second.
func (w *town) live(t testing.TB) (rate float64) {
	w.nextDay()
	end := make(chan struct{})
	var makers sync.WaitGroup
	makers.Go(func() { w.create(t, end) })
	const rounds = 5
	var next atomic.Int64
	for range rounds {
		rate += rateOf(t, benchClients, func(int) func() (bool, error) {
			return func() (bool, error) {
				n := int(next.Add(1)) - 1
				if n >= benchTickets {
					return false, nil
				}
				return true, w.admit(n)
			}
		}) / rounds
	}
	close(end)
	makers.Wait()
	return rate
}

// create makes people at a steady pace until it is told to stop.
func (w *town) create(t testing.TB, end <-chan struct{}) {
	tick := time.NewTicker(time.Second / liveCreates)
	defer tick.Stop()
	var all sync.WaitGroup
	defer all.Wait()
	r := rand.New(rand.NewPCG(searchSeed, 4))
	for {
		select {
		case <-end:
			return
		case <-tick.C:
			body := fmt.Sprintf(`{"full_name":%q,"church_id":%d}`, fullName(r), w.church)
			all.Go(func() { kvtest.Create(t, w.store, record.Person, body) })
		}
	}
}

// watchLag measures again and again how long a change takes to be in the index, and answers the longest.
func (w *town) watchLag(end <-chan struct{}) <-chan time.Duration {
	longest := make(chan time.Duration, 1)
	x := w.index
	go func() {
		most := time.Duration(0)
		defer func() { longest <- most }()
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		mark, since := w.store.Tables.Commits.Seq(), time.Now()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			most = max(most, time.Since(since))
			if seen := w.store.Tables.Commits.Seq() - x.Status().Lag; seen >= mark {
				mark, since = w.store.Tables.Commits.Seq(), time.Now()
			}
		}
	}()
	return longest
}
