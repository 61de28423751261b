package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"doorward/kv"
)

// successor is a server of a folder that is asked to take up an heir.
type successor struct {
	*testing.T
	data     string
	replaces bool   // it does
	then     string // gone: it ends; started: it ends, and another is started; waits: it goes on waiting
	heard    func() // called when it is asked what became of the heir
	kept     string
}

// serve answers like a server until it ends.
func (s *successor) serve() {
	socket, err := listenSocket(s.data)
	if err != nil {
		s.Fatal(err)
	}
	server := &http.Server{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+restorePath, func(_ http.ResponseWriter, r *http.Request) {
		if s.replaces {
			heir := kv.Path(filepath.Join(s.data, r.URL.Query().Get("folder")))
			if s.kept, err = kv.Replace(s.data, heir, time.Now(), (&Main{Stderr: io.Discard}).logger(0)); err != nil {
				s.Error(err)
			}
		}
		if s.then == "gone" {
			go func() { _ = server.Shutdown(context.Background()) }() // the request is answered before
		}
	})
	mux.HandleFunc("GET "+restorePath, func(w http.ResponseWriter, _ *http.Request) {
		s.heard()
		_ = json.NewEncoder(w).Encode(succession{Pending: s.then == "waits"}) // who is gone does not ask
	})
	server.Handler = mux
	go func() { _ = server.Serve(socket) }() // it ends with Shutdown or Close
	s.Cleanup(func() { _ = server.Close() })
}

// TestARestoreSaysWhetherTheStoreWasReplaced: whatever becomes of the server that was asked to do it.
func TestARestoreSaysWhetherTheStoreWasReplaced(t *testing.T) {
	for _, c := range []struct {
		name     string
		replaces bool
		then     string
		want     error
	}{
		{"it ends, and nobody serves: the command does it itself", false, "gone", nil},
		{"it does it and ends, and nobody serves", true, "gone", nil},
		{"it ends, and another is started", false, "started", errEnded},
		{"it does it and ends, and another is started", true, "started", nil},
		{"a signal ends the waiting", false, "waits", errStopped},
		{"a signal ends the waiting after it has done it", true, "waits", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, set := &Main{Stderr: io.Discard, Drain: 300 * time.Millisecond}, &settings{data: t.TempDir(), zone: time.UTC}
			dir, next := heirOf(t, m, set)
			before, err := os.Stat(kv.Path(set.data))
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			s := &successor{T: t, data: set.data, replaces: c.replaces, then: c.then, heard: func() {}}
			if c.then == "waits" {
				s.heard = stop
			}
			s.serve()
			kept, err := m.putInPlace(ctx, set, dir, next, true)
			if !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Fatalf("restore = %v, want %v", err, c.want)
			}
			after, failed := os.Stat(kv.Path(set.data))
			if failed != nil || os.SameFile(before, after) == (err == nil) {
				t.Errorf("restore = %v; the store's file is still the one before: %t, %v", err, os.SameFile(before, after), failed)
			}
			if info, failed := os.Stat(kept); err == nil && (failed != nil || !os.SameFile(before, info) || c.replaces && kept != s.kept) {
				t.Errorf("the store before is said to be kept as %q, %v; the server kept %q", kept, failed, s.kept)
			}
			if err != nil && exists(kv.Path(dir)) {
				t.Error("a server can take up the restored store yet")
			}
		})
	}
}

// heirOf makes a store in a folder, and a restored one of its backup that shall take its place.
func heirOf(t *testing.T, m *Main, set *settings) (dir string, next restored) {
	t.Helper()
	store, err := kv.Open(kv.Config{Dir: set.data})
	if err != nil {
		t.Fatal(err)
	}
	if dir, _, err = kv.MakeWorkFolder(set.data, "restore"); err == nil {
		_, err = store.CopyTo(kv.Operator(), kv.Path(dir))
	}
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	if next, err = m.beginAgain(set, dir); err != nil {
		t.Fatal(err)
	}
	return dir, next
}
