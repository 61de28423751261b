package kv_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"doorward/api/load"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"
)

// How often a door scans while an import runs, how many tickets it has, and how long it is watched alone.
const (
	benchScans   = 10 * time.Millisecond
	benchScanned = 40_000
	benchAlone   = 2 * time.Second
	benchQuiet   = 1500 * time.Millisecond // no door is expected any more
)

// benchImport measures an import of tickets with no door beside it, then a door with and without an import beside it.
func benchImport(t *testing.T, b *bench) {
	var alone []pair
	for i := range 5 {
		s, event := freshStore(t)
		alone = append(alone, pair{ours: importTickets(t, s, event, kvtest.TicketFile(benchTickets, "alone", i))})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b.table.add(line{name: "import, tickets a second", unit: "/s", pairs: alone, atLeast: 20_000, bare: true})

	s, event := freshStore(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &scanner{store: s, event: event, who: kvtest.Login(t, s, fmt.Sprintf("event:%d", event), "checkin:*")}
	kvtest.Fill(t, s, record.Ticket, benchScanned, func(i int) string {
		return fmt.Sprintf(`{"event_id":%d,"code":%q,"holder_name":"Ana Souza"}`, event, d.code(i))
	})
	var beside []pair
	var rates []pair
	for i := range 5 {
		before := importTickets(t, s, event, kvtest.TicketFile(benchTickets, "before", i))
		file := kvtest.TicketFile(benchTickets, "beside", i)
		time.Sleep(benchQuiet)
		_ = s.Tables.Engine.Fold()
		idle := d.watch(t, func() { <-time.After(benchAlone) })
		during := 0.0
		busy := d.watch(t, func() { during = importTickets(t, s, event, file) })
		time.Sleep(benchQuiet)
		rates = append(rates, pair{during, (before + importTickets(t, s, event, kvtest.TicketFile(benchTickets, "after", i))) / 2})
		beside = append(beside, pair{quantile(busy, 0.99), quantile(idle, 0.99)})
	}
	b.table.add(line{name: "check-in p99 beside an import, against idle", unit: "ms", pairs: beside, atMost: 3})
	b.table.add(line{name: "import beside 100 scans a second, against alone", unit: "/s", pairs: rates, atLeast: 0.7})
}

// freshStore is a fresh store with one event.
func freshStore(t testing.TB) (*kv.Store, int64) {
	t.Helper()
	s, err := kv.Open(kv.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return s, kvtest.Create(t, s, record.Event, `{"name":"Conferência","start_datetime":"2026-11-22T19:00:00Z"}`)
}

// importTickets imports a file of tickets and answers rows a second.
func importTickets(t testing.TB, s *kv.Store, event int64, file []byte) float64 {
	t.Helper()
	start := time.Now()
	rep, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Reader: bytes.NewReader(file), Kind: "ticket", Event: event}, nil)
	took := time.Since(start)
	if err != nil || rep.Created != benchTickets {
		t.Fatalf("import: %d created, %d rejected, %v", rep.Created, len(rep.Rejected), err)
	}
	return benchTickets / took.Seconds()
}

// scanner scans one ticket after another.
type scanner struct {
	store *kv.Store
	event int64
	who   auth.Principal
	next  int
}

func (d *scanner) code(i int) string { return fmt.Sprintf("DOORWARD%08d", i) }

// watch scans at a steady pace while something else runs, and answers how long each scan took from the moment it was due.
func (d *scanner) watch(t testing.TB, run func()) []time.Duration {
	return kvtest.Paced(t, benchScans, run, func() func() error {
		if d.next == benchScanned {
			return nil
		}
		code := d.code(d.next)
		d.next++
		return func() error {
			got, err := d.store.Door.CheckIn(d.who, door.Attempt{Event: d.event, Code: code, Door: "north"})
			if err != nil || got.Outcome != outcome.Admitted {
				return fmt.Errorf("scan of %s: %s, %v", code, got.Outcome, err)
			}
			return nil
		}
	})
}
