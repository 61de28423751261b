package sync_test

import (
	"testing"
	"time"

	"doorward/kv"
)

// TestARevokedLaptopCallsLessAndLessOften: its facts are still taken, but it does not ask for ever whether they are.
func TestARevokedLaptopCallsLessAndLessOften(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.join()
	w.arrives(w.laptop, w.sell(w.centre, "first"))
	all, err := w.centre.Venues(kv.Operator())
	if err != nil || len(all) != 1 {
		t.Fatalf("Venues() = %v, %v", all, err)
	}
	if err := w.centre.RevokeVenue(kv.Operator(), all[0].ID); err != nil {
		t.Fatal(err)
	}
	w.tells("this laptop is revoked")
	began, before := time.Now(), w.hellos.Load()
	for w.hellos.Load() < before+3 {
		time.Sleep(10 * time.Millisecond)
	}
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("it has called three times within %v", took)
	}
}
