package kv_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

// benchIdle tells what the filled store takes in memory and on disk.
func benchIdle(t *testing.T, b *bench) {
	debug.FreeOSMemory()
	b.table.tell("anonymous memory, idle", " MiB", anonymous())
	info, err := os.Stat(table.Path(b.dir))
	if err != nil {
		t.Fatal(err)
	}
	size, of := float64(info.Size()), jsonSize(t, b.store)
	b.table.tell("file", " MiB", size/(1<<20))
	b.table.add(line{name: "bytes of file a byte of JSON", pairs: []pair{{ours: size / of}}, atMost: 2.8, bare: true})
	b.starts(t, "start, pages cached", 0.3)
}

// anonymous is the process's anonymous memory in MiB; 0 where the system does not tell.
func anonymous() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("RssAnon:"))
	var kib float64
	if _, err := fmt.Sscan(string(rest), &kib); err != nil {
		return 0
	}
	return kib / 1024
}

// peak watches the anonymous memory until it is told to stop, and answers the most it saw in MiB.
func peak() (stop func() float64) {
	end, most := make(chan struct{}), make(chan float64)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		top := 0.0
		for {
			select {
			case <-tick.C:
				top = max(top, anonymous())
			case <-end:
				most <- top
				return
			}
		}
	}()
	return func() float64 {
		close(end)
		return <-most
	}
}

// jsonSize is the size of all records as replies print them: on /v1, and tickets, which it does not show, on /admin/v1.
func jsonSize(t testing.TB, s *kv.Store) (n float64) {
	t.Helper()
	for _, k := range []*record.Kind{record.Church, record.Role, record.Event, record.Person} {
		q := desk.Query{Surface: record.V1, Kind: k, Limit: 100}
		for {
			page, err := s.Desk.List(auth.Operator(), q)
			if err != nil {
				t.Fatal(err)
			}
			n += float64(len(page.Results))
			if q.Offset += q.Limit; q.Offset >= page.Count {
				break
			}
		}
	}
	err := s.Log.Export(auth.Operator(), record.Ticket, func(json []byte) error {
		n += float64(len(json))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// starts closes the store and opens it again: so long it takes, in seconds.
func (b *bench) starts(t *testing.T, name string, atMost float64) {
	t.Helper()
	var took []time.Duration
	for range 5 {
		if err := b.store.Close(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		s, err := kv.Open(b.config(b.dir))
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start))
		b.store = s
	}
	b.table.add(line{name: name, unit: "s", pairs: []pair{{ours: quantile(took, 0.5) / 1000}}, atMost: atMost, bare: true})
}

// benchMillion measures a store of ten times as many people.
func benchMillion(t *testing.T, b *bench) {
	m := &bench{table: b.table, dir: t.TempDir()}
	var err error
	if m.store, err = kv.Open(m.config(m.dir)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.store.Close(); err != nil {
			t.Error(err)
		}
	})
	m.church = kvtest.Create(t, m.store, record.Church, `{"name":"Igreja Central"}`)
	kvtest.Create(t, m.store, record.Role, `{"name":"Diácono"}`)
	kvtest.Fill(t, m.store, record.Person, benchMany, func(i int) string { return benchPerson(i, m.church) })
	m.reader = kvtest.Login(t, m.store, "denomination", "people:*")
	m.starts(t, "start with 1,000,000 people, pages cached", 3)
	first := desk.Query{Surface: record.V1, Kind: record.Person, Limit: 50}
	for _, offset := range []int{benchMany / 2, benchMany - 50} {
		far := first
		far.Offset = offset
		pairs := latencies(t, m.page(far), m.page(first))
		b.table.add(line{name: fmt.Sprintf("page of 1,000,000 people at %d, against at 0, p50", offset), unit: "ms", pairs: pairs, atMost: 1.2})
	}
	debug.FreeOSMemory()
	b.table.tell("anonymous memory, idle, with a second store of 1,000,000 people", " MiB", anonymous())
}
