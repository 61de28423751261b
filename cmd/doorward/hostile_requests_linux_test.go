package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	guesses    = 3000 // wrong secrets
	guessPace  = 25 * time.Millisecond
	guessers   = 6
	bombSize   = 60 << 20
	deepNested = 10_000
)

// ask sends a request, with a key or without, and answers its status; 0 where the server closed instead.
func (s *siege) ask(keyed bool, r *http.Request) int {
	if keyed {
		r.SetBasicAuth(s.key, s.secret)
	}
	resp, err := siegeClient.Do(r)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, resp.Body) // the connection may be cut within
	_ = resp.Body.Close()                 // it never fails
	s.answered(fmt.Sprintf("%s %.80s", r.Method, r.URL), resp.StatusCode)
	return resp.StatusCode
}

var siegeClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (s *siege) request(method, path string, body io.Reader) *http.Request {
	r, err := http.NewRequest(method, s.server.url+path, body)
	if err != nil {
		s.Error(err)
	}
	r.Header.Set("Content-Type", "application/json")
	return r
}

// hugeHeaders sends more than 16 KiB of headers, in one and in many, and some that have no end.
func (s *siege) hugeHeaders() {
	const line = "GET /v1/people/ HTTP/1.1\r\nHost: localhost\r\n"
	for _, c := range []struct{ name, text string }{
		{"one long header", line + s.login() + "X-A: " + strings.Repeat("a", 17<<10) + "\r\n\r\n"},
		{"many headers", line + s.login() + strings.Repeat("X-A: b\r\n", 3000) + "\r\n"},
		{"a header without an end", line + "X-A: " + strings.Repeat("a", 4<<20)},
		{"headers without an end", line + strings.Repeat("X-A: b\r\n", 1<<19)},
		{"a long path", "GET /v1/people/?search=" + strings.Repeat("a", 20<<10) + " HTTP/1.1\r\nHost: localhost\r\n" + s.login() + "\r\n"},
		{"a path without an end", "GET /" + strings.Repeat("a", 4<<20)},
	} {
		for range 3 {
			for _, status := range s.raw(c.name, c.text) {
				if status != http.StatusRequestHeaderFieldsTooLarge {
					s.Errorf("%s = %d, want 431", c.name, status)
				}
			}
		}
	}
}

// oddPaths asks for what must not be reached by another spelling of its path.
func (s *siege) oddPaths() {
	for _, path := range []string{
		"/v1/../admin/v1/church/", "/v1/%2e%2e/admin/v1/church/", "/v1/%2e%2e%2fadmin%2fv1%2fchurch%2f", "/v1/..%5cadmin/v1/church/",
		"//admin/v1/church/", "/admin//v1/church/", "/admin/v1/church//", "//evil.example/%2e%2e", "/\\evil.example", "/./admin/v1/church/",
		"/admin/v1/church;/", "/admin;x=y/v1/church/", "/admin/v1/church/;jsessionid=1", "/admin/v1/church/%00", "/admin%00/v1/church/",
		"/admin/v1/church/%0d%0aX-A:%20b", "/%61dmin/v1/church/", "/ADMIN/v1/church/", "/admin/v1/church/1%2f..%2f2", "/v1/people/-1/",
		"/v1/people/99999999999999999999/", "/v1/people/1e3/", "/v1/people/%ff/", "/v1/people/%", "/v1/people/%zz", "/v1/people/?limit=%zz",
		"/v1/people/?limit=1;offset=2", "/v1/people/?%00=%00", "/sync/../admin/v1/church/", "/sync/%2e%2e/church", "/sync/a%2f..%2fb", "/sync//",
		"/sync/notes/%00", "/sync/notes/" + strings.Repeat("a/", 4000), "/" + strings.Repeat("a", 12<<10), "/" + strings.Repeat("../", 4000) + "etc/passwd",
		"/" + strings.Repeat("%2e%2e/", 1500), "/control/erase", "/control/keys", "*", "http://evil.example/v1/people/", "evil.example:80", "",
	} {
		for _, method := range []string{"GET", "POST", "CONNECT", "OPTIONS", "TRACE", "get", "G\x01T"} {
			for _, login := range []string{"", s.login()} {
				what := fmt.Sprintf("%s %.80q, a key: %v", method, path, login != "")
				text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", method, path, login)
				for _, status := range s.raw(what, text) {
					if status >= 300 && status < 400 || status < 300 && login == "" && method != "OPTIONS" {
						s.Errorf("%s = %d", what, status)
					}
				}
			}
		}
	}
}

// deepJSON sends lists and objects within each other to whatever reads a body.
func (s *siege) deepJSON() {
	list := strings.Repeat("[", deepNested) + strings.Repeat("]", deepNested)
	object := strings.Repeat(`{"a":`, deepNested) + "1" + strings.Repeat("}", deepNested)
	for _, path := range []string{"/v1/people/", "/admin/v1/church/", "/admin/v1/keys/", fmt.Sprintf("/v1/event/%d/checkin/", s.event),
		fmt.Sprintf("/door/v1/event/%d/scan/", s.event), fmt.Sprintf("/door/v1/event/%d/scans/", s.event), "/sync/notes/_bulk_docs", "/sync/notes/_revs_diff"} {
		for _, body := range []string{list, object, `{"full_name":` + list + "}", `{"name":` + object + "}", `{"scans":` + list + "}", `{"docs":` + list + "}", list[:deepNested]} {
			for _, keyed := range []bool{false, true} {
				if status := s.ask(keyed, s.request("POST", path, strings.NewReader(body))); status < 400 {
					s.Errorf("POST %s of %.20s… = %d", path, body, status)
				}
			}
		}
	}
}

// bombs sends bodies that are large once they are decompressed: at any ratio, and at one that is still taken.
func (s *siege) bombs() {
	if status := s.ask(true, s.request("PUT", "/sync/bombs", nil)); status != http.StatusCreated && status != http.StatusPreconditionFailed {
		s.Errorf("PUT bombs = %d", status)
	}
	draw := rand.New(rand.NewPCG(1, 2))
	for _, random := range []int{0, 1} { // words among a kilobyte of nothing
		packed := bomb(draw, random)
		for _, path := range []string{"/sync/bombs/_bulk_docs", "/sync/bombs/_revs_diff"} {
			for _, keyed := range []bool{true, false, true} {
				r := s.request("POST", path, bytes.NewReader(packed))
				r.Header.Set("Content-Encoding", "gzip")
				if status := s.ask(keyed, r); status > 0 && status < 400 {
					s.Errorf("POST %s of a bomb of %d bytes = %d", path, len(packed), status)
				}
			}
		}
	}
}

// bomb is one document with a long text, as gzip.
func bomb(draw *rand.Rand, random int) []byte {
	packed := &bytes.Buffer{}
	z, _ := gzip.NewWriterLevel(packed, gzip.BestSpeed) // a level that there is
	_, _ = io.WriteString(z, `{"docs":[{"_id":"bomb","text":"`)
	text := bytes.Repeat([]byte("a"), 1<<10)
	for range bombSize / len(text) {
		for i := range random {
			_ = fmt.Appendf(text[:i*16], "%016x", draw.Uint64()) // in place
		}
		_, _ = z.Write(text)
	}
	_, _ = io.WriteString(z, `"}]}`)
	_ = z.Close() // as all of the above: a buffer takes everything
	return packed.Bytes()
}

// guess tries wrong secrets.
func (s *siege) guess() {
	var all sync.WaitGroup
	for n := range guessers {
		all.Go(func() {
			pace := time.NewTicker(guessPace)
			defer pace.Stop()
			for i := range guesses / guessers {
				<-pace.C
				r := s.request("GET", "/v1/people/", nil)
				key := s.key
				if i%2 == 0 {
					key = fmt.Sprintf("nobody-%d-%d", n, i)
				}
				r.SetBasicAuth(key, fmt.Sprintf("secret-%d-%d", n, i))
				if status := s.ask(false, r); status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
					s.Errorf("a wrong secret = %d", status)
				}
			}
		})
	}
	all.Wait()
}
