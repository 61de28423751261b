package kv_test

import (
	"slices"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/desk"
	"doorward/kv/record"
)

// benchPages compares the page of 50 people far down a list with the first one, and with the same page uncounted.
func benchPages(t *testing.T, b *bench) {
	all := desk.Query{Surface: record.V1, Kind: record.Person, Limit: 50}
	church := all
	church.Where = []desk.Where{{Field: "church_id", In: []any{b.church}}}
	for _, c := range []struct {
		name string
		q    desk.Query
	}{{"all people", all}, {"one church's people", church}} {
		far := c.q
		far.Offset = 90_000
		uncounted := func() error {
			_, err := kv.BenchUncounted(b.store, b.reader, far)
			return err
		}
		b.table.add(line{name: "page of " + c.name + " at 90,000, against at 0, p50", unit: "ms",
			pairs: latencies(t, b.page(far), b.page(c.q)), atMost: 1.2})
		b.table.add(line{name: "page of " + c.name + " at 90,000, against uncounted, p50", unit: "ms",
			pairs: latencies(t, b.page(far), uncounted), atMost: 1.05})
	}
}

// page reads a page, with its count.
func (b *bench) page(q desk.Query) func() error {
	return func() error {
		_, err := b.store.Desk.List(b.reader, q)
		return err
	}
}

// latencies runs both sides call by call in turns and answers each round's medians in milliseconds.
func latencies(t testing.TB, ours, base func() error) []pair {
	t.Helper()
	var pairs []pair
	for range benchRounds {
		var took [2][]time.Duration
		for begin, i := time.Now(), 0; time.Since(begin) < benchRound; i++ {
			for j := range took {
				side := (i + j) % 2
				call := ours
				if side == 1 {
					call = base
				}
				start := time.Now()
				if err := call(); err != nil {
					t.Fatal(err)
				}
				took[side] = append(took[side], time.Since(start))
			}
		}
		pairs = append(pairs, pair{quantile(took[0], 0.5), quantile(took[1], 0.5)})
	}
	return pairs
}

// quantile is in milliseconds.
func quantile(d []time.Duration, q float64) float64 {
	slices.Sort(d)
	return float64(d[int(q*float64(len(d)-1))]) / float64(time.Millisecond)
}
