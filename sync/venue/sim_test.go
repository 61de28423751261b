package venue_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"testing/synctest"

	"doorward/sync/peertest"
)

var simSeed = flag.Uint64("sim.seed", 0, "replay the simulation of this seed alone")

const (
	simSeeds     = 300 // DOORWARD_SIM_SEEDS is another number of them
	simSeedsRace = 20  // under the race detector, where one takes five times as long
	simSteps     = 25
)

// TestSimulation lets computers of a congregation work apart and meet, over a network, clocks and disks that fail as a seed draws
// it, and wants them to agree in the end. A seed that fails is replayed by
//
//	go test ./sync -run TestSimulation -sim.seed=N
//
// What may be lost: what a store has answered and was then restored to a backup from before, unless a round with the centre came to
// its end in between; and then what the centre alone had, and was itself restored to a backup from before. An image of a laptop's
// disk, which it cannot tell from its own, makes no records before it was told of its twin: until then both have the same ids.
func TestSimulation(t *testing.T) {
	t.Parallel()
	first, last := uint64(1), uint64(simSeeds)
	if peertest.RaceDetector {
		last = simSeedsRace
	}
	if n, err := strconv.ParseUint(os.Getenv("DOORWARD_SIM_SEEDS"), 10, 64); err == nil {
		last = n
	}
	if *simSeed != 0 {
		first, last = *simSeed, *simSeed
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			sum := simulate(t, seed)
			if testing.Verbose() {
				t.Logf("trace %s", sum)
			}
		})
	}
}

// simulate plays a seed and answers the sum of what happened.
func simulate(t *testing.T, seed uint64) (sum string) {
	dir := fastDir(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, dir, seed)
		for range simSteps {
			w.next()
		}
		w.heal()
		w.check()
		sum = w.sum()
	})
	return sum
}

// A seed that fails must fail again.
func TestASimulationIsPlayedTheSameTwice(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 5; seed++ {
		if a, b := simulate(t, seed), simulate(t, seed); a != b {
			t.Errorf("seed %d is %s, then %s", seed, a, b)
		}
	}
}
