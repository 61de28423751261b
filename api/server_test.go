package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// raw sends a request as it is written, and answers what came back.
func (s *site) raw(format string, values ...any) answer {
	s.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, strings.ReplaceAll(format, "\n", "\r\n"), values...)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func TestServerLeavesTooManyHeadersToNetHTTP(t *testing.T) {
	s := newSite(t)
	s.status(s.raw("GET /healthz HTTP/1.1\nHost: localhost\nX: %s\n\n", strings.Repeat("a", 80<<10)), 431)
}

// OPTIONS of * is about the server, which has no methods of its own: an unknown path, answered in JSON as any other.
func TestServerAnswersOptionsOfAnAsteriskInJSON(t *testing.T) {
	s := newSite(t)
	r, err := http.NewRequest("OPTIONS", s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(s.auth[0], s.auth[1])
	a := s.status(s.raw("OPTIONS * HTTP/1.1\nHost: localhost\nAuthorization: %s\n\n", r.Header.Get("Authorization")), 404)
	if a.body != `{"error":{"code":"NOT_FOUND","message":"Not found."}}` {
		t.Errorf("OPTIONS * = %s", a.body)
	}
	s.status(s.raw("OPTIONS * HTTP/1.1\nHost: localhost\n\n"), 401)
}
