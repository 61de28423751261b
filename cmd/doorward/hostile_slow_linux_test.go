package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"doorward/kv/kvtest/proof"
)

const (
	idleConnections = 2000
	spareFiles      = 900 // that the test needs for other things
	slowClients     = 150
	slowPace        = 200 * time.Millisecond // between two bytes
)

// dial connects to the server.
func (s *siege) dial() (net.Conn, bool) {
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		s.Errorf("the server takes no connection: %v", err)
	}
	return conn, err == nil
}

// answered counts an answer and judges its status.
func (s *siege) answered(what string, status int) {
	s.requests.Add(1)
	if status >= 500 && status != http.StatusServiceUnavailable && status != http.StatusInsufficientStorage {
		s.Errorf("%s = %d", what, status)
	}
}

// idle opens as many connections as there may be, each after one request, and answers what closes them.
func (s *siege) idle() (closes func()) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		s.Error(err)
	}
	conns := make([]net.Conn, min(proof.Count(idleConnections/10, idleConnections), max(0, int(limit.Cur)-spareFiles)))
	if len(conns) < proof.Count(idleConnections/10, idleConnections) {
		s.Logf("%d idle connections: the limit is %d files", len(conns), limit.Cur)
	}
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			for i := n; i < len(conns); i += 20 {
				var ok bool
				if conns[i], ok = s.dial(); !ok {
					return
				}
				fmt.Fprintf(conns[i], "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
				resp, err := http.ReadResponse(bufio.NewReader(conns[i]), nil)
				if err != nil {
					s.Errorf("an idle connection: %v", err)
					return
				}
				_ = resp.Body.Close() // the next request on it never comes
				s.answered("GET /healthz", resp.StatusCode)
			}
		})
	}
	all.Wait()
	return func() {
		for _, c := range conns {
			if c != nil {
				_ = c.Close() // the server may have done so
			}
		}
	}
}

// slowHeaders sends headers that never end.
func (s *siege) slowHeaders() {
	s.slowly("headers", "GET /v1/people/ HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", slowHeader)
}

// slowBodies announces the largest body that there may be and sends a byte of it now and then: with a key, and without one.
func (s *siege) slowBodies() {
	head := "POST /v1/people/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	var all sync.WaitGroup
	all.Go(func() { s.slowly("a body", head+s.login()+"Content-Length: 1048576\r\n\r\n", slowBody) })
	all.Go(func() { s.slowly("a body without a key", head+"Content-Length: 100000\r\n\r\n", slowBody) })
	all.Go(func() {
		s.slowly("a body in chunks", head+s.login()+"Transfer-Encoding: chunked\r\n\r\nfffff\r\n", slowBody)
	})
	all.Wait()
}

// slowly has many clients send a byte at a time until the server has enough, which must be in time.
func (s *siege) slowly(what, head string, limit time.Duration) {
	var all sync.WaitGroup
	for range proof.Count(slowClients/10, slowClients) {
		all.Go(func() {
			conn, ok := s.dial()
			if !ok {
				return
			}
			defer func() { _ = conn.Close() }() // it is closed at the other end
			start, ended := time.Now(), make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = io.Copy(io.Discard, conn) // until the server closes it, in whatever way
			}()
			pace := time.NewTicker(slowPace)
			defer pace.Stop()
			_, _ = io.WriteString(conn, head) // as the bytes below: the server may be gone
			for {
				select {
				case <-ended:
					s.requests.Add(1)
					return
				case <-pace.C:
					_, _ = conn.Write([]byte("a"))
				}
				if time.Since(start) > limit+slowMargin {
					s.Errorf("%s: the server still listens after %v, want at most %v", what, time.Since(start), limit)
					return
				}
			}
		})
	}
	all.Wait()
}
