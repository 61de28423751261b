package sync_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/sync"

	"github.com/klauspost/compress/zstd"
)

const (
	benchPeople = 100_000
	benchRounds = 3
)

// benchLine is one row of the table.
type benchLine struct {
	name       string
	ours, base float64 // a second; base 0: nothing to compare with
	atLeast    float64 // ours
	orRatio    float64 // or ours to base; 0 = no ratio counts
}

func (l *benchLine) missed() bool {
	return l.ours < l.atLeast && (l.orRatio == 0 || l.ours/l.base < l.orRatio)
}

// TestBench measures replication against the least that could do the same, and fails where a target is missed.
func TestBench(t *testing.T) {
	if os.Getenv("DOORWARD_BENCH") != "1" {
		t.Skip("only with DOORWARD_BENCH=1: make bench")
	}
	var table []benchLine
	a := newSite(t)
	a.people(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *site) []benchLine
	}{{"sync", benchFirst}, {"changes", benchChanges}, {"live", benchLive}} {
		t.Run(part.name, func(t *testing.T) {
			b := *a
			b.TB = t
			profile(t, part.name)
			table = append(table, part.run(t, &b)...)
		})
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\twhat, a second\tours\tbaseline\tratio\ttarget\t")
	for _, l := range table {
		base, target, verdict := "", "", ""
		if l.base > 0 {
			base = fmt.Sprintf("%.0f\t%.2f", l.base, l.ours/l.base)
		} else {
			base = "\t"
		}
		if l.atLeast > 0 {
			target, verdict = fmt.Sprintf("≥ %.0f", l.atLeast), "ok"
			if l.orRatio > 0 {
				target += fmt.Sprintf(" or %.2f", l.orRatio)
			}
		}
		if l.missed() {
			verdict = "MISSED"
			t.Errorf("target missed: %s", l.name)
		}
		fmt.Fprintf(w, "\t%s\t%.0f\t%s\t%s\t%s\n", l.name, l.ours, base, target, verdict)
	}
	_ = w.Flush() // a Builder takes everything
	t.Logf("%d documents, best of %d rounds\n%s", benchPeople, benchRounds, text.String())
}

// profile writes a part's CPU profile into the folder that DOORWARD_BENCH_PROFILE names.
func profile(t *testing.T, part string) {
	dir := os.Getenv("DOORWARD_BENCH_PROFILE")
	if dir == "" {
		return
	}
	f, err := os.Create(filepath.Join(dir, part+".cpu"))
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

// people fills the notes with documents like people.
func (s *site) people(t testing.TB) {
	var writes []kv.DocWrite
	for i := range benchPeople {
		writes = append(writes, kv.DocWrite{ID: fmt.Sprintf("person:%016d", i+1), Body: fmt.Appendf(nil, `{"birth_date":"19%02d-0%d-1%d","church_id":%d,"created_at":"2026-01-01T00:00:00Z","email":"person%d@example.org","full_name":"Pessoa %d de Souza Oliveira","gender":"F","is_active":true,"membership_number":"M%07d","phone":"+55119%08d"}`,
			i%90+10, i%9+1, i%9, i%40+1, i, i*7919%benchPeople, i, i*31337%100000000)})
	}
	db := s.open()
	done := make(chan error, 64)
	n := 0
	for some := range slices.Chunk(writes, kv.MaxRows) {
		if n++; n > 64 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		go func() {
			_, err := db.Write(some)
			done <- err
		}()
	}
	for range min(n, 64) {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// best is the best of some rounds: documents a second.
func best(rounds int, run func() int) (most float64) {
	for range rounds {
		began := time.Now()
		n := run()
		most = max(most, float64(n)/time.Since(began).Seconds())
	}
	return most
}

func benchFirst(t *testing.T, a *site) []benchLine {
	copied := func(over sync.ThereConfig) int {
		b := newSite(t)
		return replicate(t, a.there(over), b.here()).Written
	}
	pushed := func() int {
		b := newSite(t)
		return replicate(t, a.here(), b.there(sync.ThereConfig{})).Written
	}
	base := best(benchRounds, func() int { return a.raw(t) })
	return []benchLine{
		{"first sync, a node pulls, against the same bytes through zstd into bbolt", best(benchRounds, func() int { return copied(sync.ThereConfig{}) }), base, 60_000, 0.5},
		{"first sync, a node pushes, the same", best(benchRounds, pushed), base, 60_000, 0.5},
		{"first sync over the plain protocol, the same", best(1, func() int { return copied(plainly) }), base, 0, 0},
	}
}

// raw copies the same bytes over the same kind of line into a bare file.
func (s *site) raw(t testing.TB) int {
	db := s.open()
	raw := kvtest.OpenRaw(t)
	r, w := io.Pipe()
	go func() {
		z, _ := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		feed := kv.Feed{Limit: kv.DocPage, Bodies: true}
		for more := true; more; {
			var page []kv.DocChange
			page, more, _ = db.Changes(feed)
			for _, c := range page {
				feed.Since = c.Seq
				_, _ = z.Write(append(append(append([]byte(c.ID), ' '), c.Winner.Body...), '\n'))
			}
		}
		_ = w.CloseWithError(z.Close())
	}()
	z, _ := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	defer z.Close()
	lines := bytes.NewBuffer(nil)
	_, _ = lines.ReadFrom(z)
	var pairs [][2][]byte
	n := 0
	for line := range bytes.Lines(lines.Bytes()) {
		id, body, _ := bytes.Cut(line, []byte(" "))
		pairs = append(pairs, [2][]byte{id, body})
		if n++; len(pairs) == 1000 || n == benchPeople {
			if err := raw.Put(pairs); err != nil {
				t.Fatal(err)
			}
			pairs = pairs[:0]
		}
	}
	return n
}

func benchChanges(t *testing.T, a *site) []benchLine {
	return []benchLine{{"_changes with documents", best(benchRounds, func() int {
		resp, err := http.DefaultClient.Do(a.request("GET", "/notes/_changes?include_docs=true", "", "Accept-Encoding", "identity"))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return benchPeople
	}), 0, 80_000, 0}}
}

// benchLive measures how long a change takes to a peer that listens; the figure is how many such times a second has, p99.
func benchLive(t *testing.T, _ *site) []benchLine {
	a, b := newSite(t), newSite(t)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = sync.Replicate(ctx, sync.Job{Source: a.there(sync.ThereConfig{}), Target: b.here(), Live: true})
	}()
	var times []time.Duration
	for i := range 200 {
		began := time.Now()
		a.put(fmt.Sprintf("late%d", i), `{}`)
		awaitDoc(t, b, fmt.Sprintf("late%d", i))
		times = append(times, time.Since(began))
	}
	end()
	<-ended
	slices.Sort(times)
	t.Logf("a change is at a live peer after %v (p50), %v (p99)", times[100], times[198])
	return []benchLine{{"changes one after the other at a live peer, p99", 1 / times[198].Seconds(), 0, 2, 0}}
}
