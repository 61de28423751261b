package proof_test

import (
	"os"
	"testing"

	"doorward/kv/kvtest/proof"
)

// TestCountsAreFullOnlyInAProof: a sample is all that make test does, and make proof does everything.
func TestCountsAreFullOnlyInAProof(t *testing.T) {
	for _, c := range []struct {
		name, set string
		want      int
	}{{"make test", "", 7}, {"make proof", "1", 300}} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(proof.Variable, c.set)
			if got := proof.Count(7, 300); got != c.want {
				t.Errorf("Count = %d, want %d", got, c.want)
			}
			if got := proof.Full(); got != (c.set != "") {
				t.Errorf("Full = %t", got)
			}
		})
	}
}

// TestASampleHasOneCaseInItsShare, and a proof each.
func TestASampleHasOneCaseInItsShare(t *testing.T) {
	for set, want := range map[string]int{"": 10, "1": 100} {
		t.Setenv(proof.Variable, set)
		for seed := range uint64(25) {
			chosen, n := proof.Sampled(seed, 10), 0
			for range 100 {
				if chosen() {
					n++
				}
			}
			if n != want {
				t.Errorf("%s=%s, seed %d: %d cases of 100, want %d", proof.Variable, set, seed, n, want)
			}
		}
	}
}

// TestASeedThatIsGivenIsDrawnFrom, and without one each call draws another.
func TestASeedThatIsGivenIsDrawnFrom(t *testing.T) {
	unset(t, proof.SeedVariable)
	if a, b := proof.Seed(t), proof.Seed(t); a == b {
		t.Errorf("seeds %d and %d are the same", a, b)
	}
	t.Setenv(proof.SeedVariable, "42")
	if got := proof.Seed(t); got != 42 {
		t.Errorf("Seed = %d, want 42", got)
	}
}

// TestATestOfProofsIsLeftToThem: Only skips in make test and nowhere else.
func TestATestOfProofsIsLeftToThem(t *testing.T) {
	unset(t, proof.TortureVariable)
	for set, want := range map[string]bool{"": true, "1": false} {
		t.Run(proof.Variable+"="+set, func(t *testing.T) {
			t.Setenv(proof.Variable, set)
			var skipped bool
			t.Run("inner", func(t *testing.T) {
				defer func() { skipped = t.Skipped() }()
				proof.Only(t, "slow")
			})
			if skipped != want {
				t.Errorf("skipped = %t, want %t", skipped, want)
			}
		})
	}
}

// unset takes a variable out of the environment until the test ends.
func unset(t *testing.T, name string) {
	t.Helper()
	t.Setenv(name, "")
	if err := os.Unsetenv(name); err != nil {
		t.Fatal(err)
	}
}
