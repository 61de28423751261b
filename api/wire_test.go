package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// wire is a client with connections of its own. Unlike a site it holds nothing against the OpenAPI document, and it may be used
// from any goroutine: for tests of many requests.
type wire struct {
	testing.TB
	url    string
	auth   [2]string
	client *http.Client
}

func (s *site) wire() *wire {
	s.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	s.Cleanup(transport.CloseIdleConnections)
	return &wire{TB: s.TB, url: s.url, auth: s.auth, client: &http.Client{Transport: transport}}
}

// ask sends a request with pairs of header names and values. An answer that does not come fails the test and has status 0.
func (w *wire) ask(method, path, body string, headers ...string) answer {
	r, err := http.NewRequest(method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.Errorf("%s %s: %v", method, path, err)
		return answer{}
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r.SetBasicAuth(w.auth[0], w.auth[1])
	resp, err := w.client.Do(r)
	if err != nil {
		w.Errorf("%s %s: %v", method, path, err)
		return answer{}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Errorf("%s %s: read: %v", method, path, err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}
