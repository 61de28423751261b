package sync_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/sync"
)

// idleAfter is how long requests of these tests may make no progress.
const idleAfter = 600 * time.Millisecond

// impatient is a server whose requests may make no progress for idleAfter, with a free database "notes". ended tells of each request that
// is over.
func impatient(t *testing.T) (srv *httptest.Server, ended chan struct{}) {
	t.Helper()
	s := kvtest.Open(t)
	server, err := sync.New(sync.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	server.LimitIdle(idleAfter)
	if err := s.Docs.CreateDatabase(auth.Operator(), "notes"); err != nil {
		t.Fatal(err)
	}
	ended = make(chan struct{}, 100)
	srv = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- struct{}{} }()
		server.Control().ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(server.Close) // first, so that feeds end
	return srv, ended
}

// trickle gives a byte at a time, each well before a read is too late, and all of them after the time of two such limits.
type trickle struct{ left int }

func (b *trickle) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	b.left--
	time.Sleep(idleAfter / 20)
	return copy(p, "x"), nil
}

// TestARequestMayTakeLongerThanItMayBeIdle: an upload that goes on, and a feed that waits, over HTTP/2 too.
func TestARequestMayTakeLongerThanItMayBeIdle(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		for name, ask := range map[string]struct {
			method, path string
			body         io.Reader
			status       int
			want         string
		}{
			"a slow upload":     {"PUT", "/sync/notes/doc/file", &trickle{40}, 201, `"ok":true`},
			"a long poll":       {"GET", "/sync/notes/_changes?feed=longpoll&timeout=1200", nil, 200, `"last_seq"`},
			"a continuous feed": {"GET", "/sync/notes/_changes?feed=continuous&timeout=1200", nil, 200, `"last_seq"`},
		} {
			t.Run(fmt.Sprint(name, " over ", proto), func(t *testing.T) {
				t.Parallel()
				srv, _ := impatient(t)
				srv.EnableHTTP2 = proto == "HTTP/2.0"
				srv.StartTLS()
				req, err := http.NewRequestWithContext(t.Context(), ask.method, srv.URL+ask.path, ask.body)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", "text/plain")
				resp, err := srv.Client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = resp.Body.Close() }()
				b, err := io.ReadAll(resp.Body)
				if err != nil || resp.Proto != proto || resp.StatusCode != ask.status || !strings.Contains(string(b), ask.want) {
					t.Errorf("%s %d %s, %v", resp.Proto, resp.StatusCode, b, err)
				}
			})
		}
	}
}

// TestAClientThatTakesNothingIsCutOff: it holds no request for ever.
func TestAClientThatTakesNothingIsCutOff(t *testing.T) {
	t.Parallel()
	srv, ended := impatient(t)
	srv.Start()
	upload, err := http.NewRequestWithContext(t.Context(), http.MethodPut, srv.URL+"/sync/notes/doc/file", strings.NewReader(strings.Repeat("x", 16<<20)))
	if err != nil {
		t.Fatal(err)
	}
	upload.Header.Set("Content-Type", "text/plain")
	resp, err := srv.Client().Do(upload)
	if err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("the upload = %v, %v", resp, err)
	}
	_ = resp.Body.Close() // it is small
	<-ended
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10) // what the system takes for the client is little
	w := bufio.NewWriter(conn)
	fmt.Fprint(w, "GET /sync/notes/doc/file HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the request goes on without end")
	}
}
