package kvtest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"
)

// TicketFile is a CSV file of n tickets. No two files of different prefixes or rounds have a code in common.
func TicketFile(n int, prefix string, round int) []byte {
	var csv bytes.Buffer
	csv.WriteString("code,holder_name,type,email,phone,order,external_id\n")
	for i := range n {
		fmt.Fprintf(&csv, "%s%d%08d,Ana Souza %06d,Adult,ana.%06d@example.org,+55 11 98888-%04d,P-%05d,%s-%d-%d\n",
			prefix, round, i, i, i, i%10000, i/4, prefix, round, i)
	}
	return csv.Bytes()
}

// Paced begins what next gives at a steady pace, whether or not the answers come, until run has returned. It returns how long each took from the
// moment it was due. next gives nil where there is nothing left.
func Paced(t testing.TB, pace time.Duration, run func(), next func() func() error) (took []time.Duration) {
	t.Helper()
	over := make(chan struct{})
	var mu sync.Mutex
	var begun sync.WaitGroup
	begin := func(do func() error, due time.Time) {
		begun.Go(func() {
			if err := do(); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(due))
		})
	}
	begun.Go(func() {
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case due := <-tick.C:
				if do := next(); do != nil {
					begin(do, due)
				}
			}
		}
	})
	func() {
		defer begun.Wait() // also where run ends the test
		defer close(over)
		run()
	}()
	return took
}
