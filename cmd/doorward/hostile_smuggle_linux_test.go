package main

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// smuggledName is in every request that a proxy would take for part of another.
const smuggledName = "Smuggled"

// login is the header of who has a key.
func (s *siege) login() string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(s.key+":"+s.secret)) + "\r\n"
}

// raw sends bytes as they are and answers the statuses that come back until the server closes, or says nothing for a second.
func (s *siege) raw(what, text string) (statuses []int) {
	conn, ok := s.dial()
	if !ok {
		return nil
	}
	defer func() { _ = conn.Close() }() // it is closed at the other end, most times
	_, _ = io.WriteString(conn, text)   // the server may have had enough before the end
	from := bufio.NewReader(conn)
	for wait := 10 * time.Second; ; wait = time.Second {
		if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			s.Error(err)
		}
		resp, err := http.ReadResponse(from, nil)
		if err != nil {
			if len(statuses) == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
				s.Errorf("%s has no answer after %v", what, wait)
			}
			return statuses
		}
		_, _ = io.Copy(io.Discard, resp.Body) // the connection may be cut within
		_ = resp.Body.Close()                 // it never fails
		statuses = append(statuses, resp.StatusCode)
		if resp.StatusCode == http.StatusNotImplemented && strings.Contains(what, "unknown") {
			s.requests.Add(1) // net/http's own answer, which RFC 9112 asks for
			continue
		}
		s.answered(what, resp.StatusCode)
	}
}

// smuggle sends what two servers may read as a different number of requests. The one within must never be carried out.
func (s *siege) smuggle() {
	within := "POST /admin/v1/church/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + s.login()
	content := fmt.Sprintf(`{"name":%q}`, smuggledName)
	within += fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(content), content)
	chunk := "0\r\n\r\n" + within
	length := fmt.Sprintf("Content-Length: %d\r\n", len(chunk))
	short := fmt.Sprintf("Content-Length: %d\r\n", len(within))
	const chunked = "Transfer-Encoding: chunked\r\n"
	var all sync.WaitGroup
	for _, c := range []struct{ name, head, body string }{
		{"both lengths", length + chunked, chunk},
		{"both lengths, the other way round", chunked + length, chunk},
		{"both lengths, folded", length + "Transfer-Encoding:\r\n chunked\r\n", chunk},
		{"both lengths, after a bare line feed", length + "X-A: b\nTransfer-Encoding: chunked\r\n", chunk},
		{"both lengths, in capitals", length + "TRANSFER-ENCODING: CHUNKED\r\n", chunk},
		{"both lengths, with a tab", length + "Transfer-Encoding:\tchunked\r\n", chunk},
		{"an unknown coding: twice chunked", length + chunked + chunked, chunk},
		{"an unknown coding", length + "Transfer-Encoding: xchunked\r\n", chunk},
		{"an unknown coding before", length + "Transfer-Encoding: gzip, chunked\r\n", chunk},
		{"an unknown coding behind a control", length + "Transfer-Encoding: \x0bchunked\r\n", chunk},
		{"a space before the colon", length + "Transfer-Encoding : chunked\r\n", chunk},
		{"a space before the name", length + " Transfer-Encoding: chunked\r\n", chunk},
		{"two lengths", "Content-Length: 0\r\n" + short, within},
		{"two lengths, the other way round", short + "Content-Length: 0\r\n", within},
		{"a list of lengths", fmt.Sprintf("Content-Length: 0, %d\r\n", len(within)), within},
		{"one length, twice", short + short, within},
		{"a signed length", "Content-Length: +0\r\n", within},
		{"a negative length", "Content-Length: -1\r\n", within},
		{"a length that is none", "Content-Length: 0x0\r\n", within},
		{"a folded header", "X-A: b\r\n Content-Length: 0\r\n" + short, within},
		{"a carriage return alone", "X-A: b\rContent-Length: 0\r\n" + short, within},
		{"a NUL", "X-A: b\x00\r\nContent-Length: 0\r\n", within},
		{"two hosts", "Host: localhost\r\nContent-Length: 0\r\n", within},
		{"a bare line feed after a chunk's size", chunked, "0\n\n" + within},
		{"a chunk too large to be", chunked, "fffffffffffffffff\r\n\r\n" + within},
		{"a chunk of a negative size", chunked, "-1\r\n\r\n" + within},
		{"a chunk that is longer than it says", chunked, "1\r\n{}" + chunk},
		{"headers after the last chunk", chunked, "0\r\nContent-Length: 7\r\nX-A: b\r\n" + within},
	} {
		all.Go(func() {
			head := "POST /v1/people/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + s.login()
			statuses := s.raw(c.name, head+c.head+"\r\n"+c.body)
			if len(statuses) > 1 {
				s.Errorf("%s: answers %d, want one", c.name, statuses)
			}
		})
	}
	all.Wait()
}

// nothingSmuggled looks for what was smuggled in.
func (s *siege) nothingSmuggled() {
	c := &crashClient{round: &round{crashWorld: s.crashWorld, url: s.server.url}}
	rep := c.send(request1{method: "GET", path: "/admin/v1/church/"})
	if rep == nil || rep.status != http.StatusOK || strings.Contains(rep.body, smuggledName) {
		s.Errorf("churches after the siege: %+v", rep)
	}
}
