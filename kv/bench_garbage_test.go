package kv_test

import (
	"fmt"
	"runtime"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// What an imported ticket leaves to the collector: while an import runs, doors wait for it.

// benchTicketBody is a ticket as most are.
func benchTicketBody(event int64) []byte {
	return fmt.Appendf(nil, `{"event_id":%d,"code":"BENCH00000001","holder_name":"Ana Souza 000001","type":"Adult",`+
		`"email":"ana.000001@example.org","phone":"+55 11 98888-0001","order":"P-00001","external_id":"bench-1-1"}`, event)
}

func BenchmarkParseTicket(b *testing.B) {
	body := benchTicketBody(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := record.TicketForm.Parse(body, record.ParseOptions{Surface: record.Admin}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrepareTicket(b *testing.B) {
	s, event := freshStore(b)
	patch, err := record.TicketForm.Parse(benchTicketBody(event), record.ParseOptions{Surface: record.Admin})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		entry.PrepareNew(s.Tables, auth.Operator(), patch)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkImportTickets imports files of tickets, each into a store of its own. B/ticket is all that the program allocates meanwhile.
func BenchmarkImportTickets(b *testing.B) {
	file := kvtest.TicketFile(benchTickets, "garbage", 0)
	allocated := uint64(0)
	for b.Loop() {
		s, event := freshStore(b)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		importTickets(b, s, event, file)
		runtime.ReadMemStats(&after)
		allocated += after.TotalAlloc - before.TotalAlloc
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(allocated)/float64(b.N)/benchTickets, "B/ticket")
}
