package api_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"doorward/api"
	"doorward/kv/kvtest"
)

// lockedLog is a log that is written and read by several goroutines.
type lockedLog struct {
	mu  sync.Mutex
	log bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

// take returns what was logged since the last call.
func (l *lockedLog) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.log.Reset()
	return l.log.String()
}

// TestFailedLoginsAreLoggedOnceAMinuteAndAddress: with their count, and without key or secret.
func TestFailedLoginsAreLoggedOnceAMinuteAndAddress(t *testing.T) {
	store := kvtest.Open(t)
	key, secret := kvtest.Key(t, store, "denomination", "*:*")
	synctest.Test(t, func(t *testing.T) {
		var log lockedLog
		s, err := api.New(api.Config{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil)), AuthFailures: 20})
		if err != nil {
			t.Fatal(err)
		}
		fail := func(from, key, secret string) {
			r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
			r.URL.Path, r.RemoteAddr, r.Host = "/v1/people/", from+":999", "localhost"
			if key != "" {
				r.SetBasicAuth(key, secret)
			}
			s.Handler().ServeHTTP(httptest.NewRecorder(), r)
		}
		lines := func() (all []string) {
			synctest.Wait()
			for line := range strings.Lines(log.take()) {
				_, said, _ := strings.Cut(strings.TrimSpace(line), "level=")
				all = append(all, said)
			}
			return all
		}
		for range 30 {
			fail("192.0.2.1", key, "SECRETLY")
		}
		fail("192.0.2.2", "UNKNOWNKEY", secret)
		for range 3 {
			fail("192.0.2.3", "", "") // who shows no key has not tried
			fail("192.0.2.4", key, secret)
		}
		if got := lines(); len(got) != 0 {
			t.Errorf("within the minute the log says %q", got)
		}
		time.Sleep(time.Minute) // of the test's own clock
		want := []string{`WARN msg="logins failed" address=192.0.2.1 count=30`, `WARN msg="logins failed" address=192.0.2.2 count=1`}
		if got := lines(); !slices.Equal(got, want) {
			t.Errorf("after a minute the log says %q, want %q", got, want)
		}
		time.Sleep(time.Hour)
		if got := lines(); len(got) != 0 {
			t.Errorf("an hour later the log says %q", got)
		}
		for i := range 130 {
			fail(fmt.Sprintf("198.51.100.%d", i), key, "wrong")
		}
		s.Close() // the server ends within the minute
		if got := lines(); len(got) != 101 || got[100] != `WARN msg="logins failed" address=others count=30` {
			t.Errorf("at the end the log says %d lines, the last %q", len(got), got[len(got)-1])
		}
	})
}
