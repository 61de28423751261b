package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"doorward/api"
)

// TestNothingFollowsABodyInChunks: a request that tells a length beside its chunks is the last of its connection.
func TestNothingFollowsABodyInChunks(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	paths := make(chan string, 2)
	server := api.HTTPServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { paths <- r.URL.Path }))
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	const within = "0\r\n\r\nGET /within HTTP/1.1\r\nHost: localhost\r\n\r\n"
	fmt.Fprintf(conn, "POST /outer HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n%s", len(within), within)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Error(err)
	}
	from := bufio.NewReader(conn)
	if _, err := http.ReadResponse(from, nil); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(from); len(rest) > 0 {
		t.Errorf("a second answer: %q, %v", rest, err)
	}
	_ = conn.Close() // it is closed at the other end
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-done
	close(paths)
	for p := range paths {
		if p != "/outer" {
			t.Errorf("%s was asked for", p)
		}
	}
}
