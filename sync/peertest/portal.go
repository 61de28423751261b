package peertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Broken is a reader that breaks off.
type Broken struct{}

// Read breaks off.
func (Broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Trip is a round trip of a client.
type Trip func(*http.Request) (*http.Response, error)

// RoundTrip makes an exchange.
func (f Trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Portal answers in the centre's place what is asked at some paths, as one does that says yes to everything; "" is all of them.
func Portal(paths, answer string, header http.Header) *http.Client {
	return &http.Client{Transport: Trip(func(r *http.Request) (*http.Response, error) {
		if !strings.Contains(r.URL.Path, paths) {
			return http.DefaultTransport.RoundTrip(r)
		}
		body := io.NopCloser(strings.NewReader(answer))
		return &http.Response{StatusCode: http.StatusOK, Header: header.Clone(), Body: body, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
	})}
}

// Strange is a server that answers {} to everything.
func Strange(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })) // the client may have left
	t.Cleanup(s.Close)
	return s.URL
}
