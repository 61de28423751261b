package kvtest

import (
	"sync"
	"testing"

	"doorward/kv"
	"doorward/kv/record"
)

// Fill writes n records of a kind as an import does; body is the JSON of each.
func Fill(t testing.TB, s *kv.Store, k *record.Kind, n int, body func(i int) string) {
	t.Helper()
	var wg sync.WaitGroup
	next := make(chan int)
	for range 4 {
		wg.Go(func() {
			for from := range next {
				rows := make([]kv.Row, 0, kv.MaxRows)
				for i := from; i < min(n, from+kv.MaxRows); i++ {
					rows = append(rows, kv.Row{Kind: k, Patch: Parse(t, k, body(i), true)})
				}
				results, err := s.Upsert(kv.Operator(), rows, false)
				if err != nil {
					t.Error(err)
				}
				for _, r := range results {
					if r.Fate != kv.Created {
						t.Errorf("a row of %s is %s: %v", k.Name, r.Fate, r.Err)
					}
				}
			}
		})
	}
	for from := 0; from < n; from += kv.MaxRows {
		next <- from
	}
	close(next)
	wg.Wait()
}
