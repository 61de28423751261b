package sync_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/merge"
	"doorward/kv/table"
	"doorward/sync/peertest"
)

// TestFeedsLeakNothing opens feeds of all kinds that end in all ways, and one that thousands of changes go through.
func TestFeedsLeakNothing(t *testing.T) {
	s := peertest.NewSite(t)
	transport := &http.Transport{MaxIdleConnsPerHost: -1} // no connection outlives its request
	client := &http.Client{Transport: transport}
	before := runtime.NumGoroutine()
	for i := range 60 {
		ctx, leave := context.WithCancel(t.Context())
		kind := []string{"longpoll", "continuous", "continuous&timeout=20"}[i%3]
		resp, err := client.Do(s.Request("GET", "/notes/_changes?since=now&feed="+kind, "").WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 2 {
			_, _ = io.Copy(io.Discard, resp.Body) // to the end of its time
		}
		leave()
		_ = resp.Body.Close()
	}
	settled(t, before)

	db, err := s.Store.Docs.Database(auth.Operator(), "notes")
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(s.Request("GET", "/notes/_changes?feed=continuous&include_docs=true&limit=20000", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	memory := heap()
	done := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, resp.Body)
		done <- n
	}()
	for i := range 200 {
		writes := make([]merge.DocWrite, table.MaxRows)
		for n := range writes {
			writes[n] = merge.DocWrite{ID: fmt.Sprintf("%d-%d", i, n), Body: []byte(`{"a":"text"}`)}
		}
		if _, err := db.Write(writes); err != nil {
			t.Fatal(err)
		}
	}
	if n := <-done; n < 20_000*100 {
		t.Errorf("the feed told %d bytes", n)
	}
	if grown := heap() - memory; grown > 24<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	_ = resp.Body.Close()
	settled(t, before)
}

// settled waits until no more goroutines run than before.
func settled(t testing.TB, before int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, then %d:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
