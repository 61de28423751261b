package kv_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"testing"

	"doorward/api"
)

// wire is one HTTP connection of the load generator. It sends bytes that were made before and reads no more of an answer than
// its status and length, so that both sides' servers, and not the client, take the processor.
type wire struct {
	conn net.Conn
	r    *bufio.Reader
}

func dial(t testing.TB, addr string) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // nothing hangs on how it ends
	return &wire{conn, bufio.NewReaderSize(conn, 32<<10)}
}

var contentLength = []byte("Content-Length: ")

// do sends a request and skips its answer.
func (w *wire) do(request []byte) (status int, err error) {
	if _, err := w.conn.Write(request); err != nil {
		return 0, err
	}
	line, err := w.r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 {
		return 0, fmt.Errorf("status line %q", line)
	}
	status, err = strconv.Atoi(string(line[9:12]))
	if err != nil {
		return 0, err
	}
	length := 0
	for {
		line, err := w.r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= len("\r\n") {
			break
		}
		if text, ok := bytes.CutPrefix(line, contentLength); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(text))); err != nil {
				return 0, err
			}
		}
	}
	_, err = w.r.Discard(length)
	return status, err
}

// serve runs a handler on a free port with the limits of every listener, and answers its address.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := api.HTTPServer(h)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // ends with Close
	}()
	t.Cleanup(func() {
		_ = srv.Close() // the connections are the test's own
		<-done
	})
	return l.Addr().String()
}

// template is a request with places to write something new into each time.
type template struct {
	text  []byte
	parts [][]byte
}

// mark stands in a template for a digit that varies.
const mark = '\x01'

// copyOf gives a client a template of its own.
func copyOf(text string) *template {
	t := &template{text: []byte(text)}
	for i := 0; i < len(t.text); i++ {
		if t.text[i] != mark {
			continue
		}
		end := i
		for end < len(t.text) && t.text[end] == mark {
			end++
		}
		t.parts = append(t.parts, t.text[i:end])
		i = end
	}
	return t
}

// with writes a number, with zeros in front, into every place.
func (t *template) with(n int) []byte {
	for _, part := range t.parts {
		for i, v := len(part)-1, n; i >= 0; i-- {
			part[i] = byte('0' + v%10)
			v /= 10
		}
	}
	return t.text
}
