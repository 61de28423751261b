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

	"doorward/api"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
)

// TestACommandThatIsStoppedSaysWhatMayHaveBeenDone: the server has been asked, and does not hear of the signal.
func TestACommandThatIsStoppedSaysWhatMayHaveBeenDone(t *testing.T) {
	tl := &tool{Console: &console.Console{Out: io.Discard, Err: io.Discard}}
	for want, ask := range map[string]func(context.Context, *control.Line) error{
		"the key may have been made": func(ctx context.Context, l *control.Line) error { return addKey(ctx, tl, l, newKey{}) },
		"the person may be erased nevertheless": func(ctx context.Context, l *control.Line) error {
			return erase(ctx, tl, l, api.Erasable{ID: 3})
		},
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
		l := &control.Line{Client: &http.Client{Transport: &http.Transport{DialContext: dial}}}
		if err := ask(ctx, l); !errors.Is(err, console.ErrStopped) || !strings.Contains(err.Error(), want) {
			t.Errorf("stopped = %v, want %q", err, want)
		}
		s.Close()
	}
}

// TestAServerThatDiesIsSaidWithoutItsAddress: the address within the socket says nothing to a person.
func TestAServerThatDiesIsSaidWithoutItsAddress(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer s.Close()
	dial := func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("tcp", s.Listener.Addr().String())
	}
	l := &control.Line{Client: &http.Client{Transport: &http.Transport{DialContext: dial}}}
	_, err := l.Call(t.Context(), control.Post("/import", nil))
	if !errors.Is(err, control.ErrNoAnswer) || strings.Contains(err.Error(), "http") {
		t.Errorf("error = %v, want that the server did not answer", err)
	}
}
