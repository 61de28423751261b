package kv_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"doorward/kv"
	"doorward/kv/door"
)

// rawLoop is the least that a durable group commit can be: one goroutine that takes what waits, puts the rows of each into one
// bbolt transaction, commits it and answers.
type rawLoop struct {
	db    *bbolt.DB
	jobs  chan chan error
	draw  *drawer
	state kv.BenchRow
	seq   uint64
	ended chan struct{}
}

func startRaw(t testing.TB, path string, d *drawer, s *kv.Store) *rawLoop {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	state, err := kv.BenchState(s)
	if err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, InitialMmapSize: int(max(64<<30, 4*info.Size()))})
	if err != nil {
		t.Fatal(err)
	}
	l := &rawLoop{db: db, jobs: make(chan chan error, benchClients), draw: d, state: state, seq: s.Tables.Commits.Seq(), ended: make(chan struct{})}
	go l.run()
	t.Cleanup(func() {
		close(l.jobs)
		<-l.ended
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *rawLoop) run() {
	defer close(l.ended)
	var waiting []chan error
	for first := range l.jobs {
		waiting = append(waiting[:0], first)
		err := l.db.Update(func(tx *bbolt.Tx) error {
			buckets := map[string]*bbolt.Bucket{}
			if err := l.put(tx, buckets); err != nil {
				return err
			}
			for {
				select {
				case j, ok := <-l.jobs:
					if !ok {
						return l.putRow(tx, buckets, l.state)
					}
					waiting = append(waiting, j)
					if err := l.put(tx, buckets); err != nil {
						return err
					}
					continue
				default:
				}
				return l.putRow(tx, buckets, l.state)
			}
		})
		for _, j := range waiting {
			j <- err
		}
	}
}

// put puts one check-in's rows.
func (l *rawLoop) put(tx *bbolt.Tx, buckets map[string]*bbolt.Bucket) error {
	l.seq++
	for _, r := range l.draw.draw(l.seq) {
		if err := l.putRow(tx, buckets, r); err != nil {
			return err
		}
	}
	return nil
}

func (l *rawLoop) putRow(tx *bbolt.Tx, buckets map[string]*bbolt.Bucket, r kv.BenchRow) error {
	b := buckets[r.Bucket]
	if b == nil {
		b = tx.Bucket([]byte(r.Bucket))
		b.FillPercent = r.Fill
		buckets[r.Bucket] = b
	}
	return b.Put(r.Key, r.Value)
}

// rate runs clients against the loop for a while and answers check-ins a second.
func (l *rawLoop) rate(t testing.TB, clients int) float64 {
	return rateOf(t, clients, func(int) func() (bool, error) {
		done := make(chan error, 1)
		return func() (bool, error) {
			l.jobs <- done
			return true, <-done
		}
	})
}

// rateOf runs clients that act until the round is over, or one of them says that there is nothing left. It answers acts a
// second.
func rateOf(t testing.TB, clients int, client func(i int) func() (more bool, err error)) float64 {
	t.Helper()
	var wg sync.WaitGroup
	var acts atomic.Int64
	ready := make([]func() (bool, error), clients)
	for i := range ready {
		ready[i] = client(i)
	}
	start := time.Now()
	for _, act := range ready {
		wg.Go(func() {
			n := int64(0)
			defer func() { acts.Add(n) }()
			for time.Since(start) < benchRound {
				more, err := act()
				if err != nil {
					t.Error(err)
				}
				if !more || err != nil {
					return
				}
				n++
			}
		})
	}
	wg.Wait()
	return float64(acts.Load()) / time.Since(start).Seconds()
}

// benchStore compares the store with the raw loop on a copy of its file.
func benchStore(t *testing.T, b *bench) {
	d, err := recordCheckIn(b.store, b.door, door.Attempt{Event: b.event, Code: b.code(0), Door: "north"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range d.rows {
		t.Logf("row: %s, key %d, value %d", r.Bucket, len(r.Key), len(r.Value))
	}
	raw := startRaw(t, b.copyFile(t, filepath.Join(t.TempDir(), "raw.db")), d, b.store)
	for _, clients := range []int{benchClients, 1} {
		p := sideBySide(func() float64 { return b.checkIns(t, clients) }, func() float64 { return raw.rate(t, clients) })
		l := line{name: "check-in in process, " + plural(clients, "goroutine"), unit: "/s", pairs: p}
		if clients > 1 {
			l.atLeast = 0.8
		}
		b.table.add(l)
	}
}

// checkIns runs a round of check-ins by goroutines, on a day of its own so that every ticket admits again.
func (b *bench) checkIns(t testing.TB, clients int) float64 {
	b.nextDay()
	order := rand.Perm(benchTickets) // people come in no order
	var next atomic.Int64
	return rateOf(t, clients, func(int) func() (bool, error) {
		return func() (bool, error) {
			i := int(next.Add(1)) - 1
			if i >= benchTickets {
				return false, nil
			}
			return true, b.admit(order[i])
		}
	})
}
