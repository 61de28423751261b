package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestACommandThatIsStoppedSaysWhatMayHaveBeenDone: the server has been asked, and does not hear of the signal.
func TestACommandThatIsStoppedSaysWhatMayHaveBeenDone(t *testing.T) {
	m := &Main{Stdout: io.Discard, Stderr: io.Discard}
	for want, ask := range map[string]func(context.Context, *control) error{
		"the key may have been made":            func(ctx context.Context, c *control) error { return m.addKey(ctx, c, newKey{}, false) },
		"the person may be erased nevertheless": func(ctx context.Context, c *control) error { return m.erase(ctx, c, erasable{ID: 3}, false) },
	} {
		ctx, stop := context.WithCancel(t.Context())
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else it would not be seen that the command is gone
			stop()
			<-r.Context().Done()
		}))
		dial := func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("tcp", s.Listener.Addr().String())
		}
		c := &control{client: &http.Client{Transport: &http.Transport{DialContext: dial}}}
		if err := ask(ctx, c); !errors.Is(err, errStopped) || !strings.Contains(err.Error(), want) {
			t.Errorf("stopped = %v, want %q", err, want)
		}
		s.Close()
	}
}
