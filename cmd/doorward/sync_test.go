package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/kvtest"
)

// replicating is a server of this process below a path, and a key that may do everything.
type replicating struct {
	testing.TB
	url  string
	auth [2]string
	stop func()
	done chan int
}

func newReplicating(t *testing.T, flags ...string) *replicating {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	store, err := kv.Open(kv.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	r := &replicating{TB: t, done: make(chan int, 1)}
	r.auth[0], r.auth[1] = kvtest.Key(t, store, "denomination", "*:*")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	t.Cleanup(stop)
	ready := make(chan string, 1)
	out := &output{}
	m := &Main{
		Args: append([]string{"serve", "--data", dir, "--listen", "127.0.0.1:0"}, flags...), Stdin: strings.NewReader(""), Stdout: out, Stderr: out,
		Env:   func(string) (string, bool) { return "", false },
		Ready: func(address string) { ready <- address },
	}
	go func() { r.done <- m.Run(ctx) }()
	select {
	case address := <-ready:
		r.url = "http://" + address
	case code := <-r.done:
		t.Fatalf("serve ended with %d: %s", code, out)
	}
	return r
}

// ask asks with pairs of header names and values; the caller closes the body.
func (r *replicating) ask(method, path, body string, headers ...string) *http.Response {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.SetBasicAuth(r.auth[0], r.auth[1])
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatalf("%s %s: %v", method, path, err)
	}
	r.Cleanup(func() { _ = resp.Body.Close() }) // twice for those that are read
	return resp
}

// want asks and wants a status and a part of the body.
func (r *replicating) want(status int, part, method, path, body string, headers ...string) *http.Response {
	r.Helper()
	resp := r.ask(method, path, body, headers...)
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status || !strings.Contains(string(b), part) {
		r.Errorf("%s %s = %d %s, %v; want %d %s", method, path, resp.StatusCode, b, err, status, part)
	}
	return resp
}

func TestServeReplicatesBehindTheSameFace(t *testing.T) {
	t.Parallel()
	r := newReplicating(t, "--public-url", "http://door.example/church", "--cors-origin", "https://page.example", "--auth-failures", "2")
	r.want(200, `"couchdb":"Welcome"`, "GET", "/church/sync/", "")
	r.want(200, `"couchdb":"Welcome"`, "GET", "/church/sync", "")
	r.want(404, "NOT_FOUND", "GET", "/sync/", "")
	r.want(201, `"ok":true`, "PUT", "/church/sync/a%2Fb", "")
	r.want(201, `"id":"x/y"`, "PUT", "/church/sync/a%2Fb/x%2Fy", `{"n":1}`)
	r.want(200, `"n":1`, "GET", "/church/sync/a%2Fb/x%2Fy", "")
}

func TestServeLetsPagesOfListedOriginsReplicate(t *testing.T) {
	t.Parallel()
	r := newReplicating(t, "--cors-origin", "https://page.example", "--auth-failures", "2")
	asks := []string{"Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "authorization,content-type"}
	for origin, want := range map[string]string{"https://page.example": "https://page.example", "https://evil.example": ""} {
		resp := r.want(204, "", "OPTIONS", "/sync/notes/doc", "", append(asks, "Origin", origin)...)
		h := resp.Header
		if h.Get("Access-Control-Allow-Origin") != want || want != "" && (h.Get("Access-Control-Allow-Credentials") != "true" || !strings.Contains(h.Get("Access-Control-Allow-Methods"), "PUT")) {
			t.Errorf("preflight from %s = %v", origin, h)
		}
	}
	secret := r.auth[1]
	r.auth[1] = "wrong"
	r.want(401, `"error":"unauthorized"`, "GET", "/sync/", "")
	if resp := r.want(429, `"error":"too_many_requests"`, "GET", "/sync/", ""); resp.Header.Get("Retry-After") == "" {
		t.Errorf("a guesser is told %v", resp.Header)
	}
	r.auth[1] = secret
	r.want(200, "Welcome", "GET", "/sync/", "")
	r.want(200, `route="/sync/{db}/_changes"`, "GET", afterFeed(r), "")
}

// afterFeed reads a feed and answers where the metrics are.
func afterFeed(r *replicating) string {
	r.want(201, "", "PUT", "/sync/notes", "")
	r.want(200, `"results":[`, "GET", "/sync/notes/_changes", "")
	return "/metrics"
}

func TestServeLimitsFreeDatabases(t *testing.T) {
	t.Parallel()
	r := newReplicating(t, "--free-quota", "64KiB")
	r.want(201, "", "PUT", "/sync/notes", "")
	r.want(201, "", "PUT", "/sync/notes/small", `{"text":"`+strings.Repeat("x", 50<<10)+`"}`, "Content-Type", "application/json")
	r.want(507, `--free-quota`, "PUT", "/sync/notes/more", `{"text":"`+strings.Repeat("x", 50<<10)+`"}`, "Content-Type", "application/json")
	unlimited := newReplicating(t, "--free-quota", "0")
	unlimited.want(201, "", "PUT", "/sync/notes", "")
	unlimited.want(201, "", "PUT", "/sync/notes/small", `{}`, "Content-Type", "application/json")
}

// TestServeEndsItsFeeds stops a server while clients wait for changes: each gets its last line, and serve does not wait for them.
func TestServeEndsItsFeeds(t *testing.T) {
	t.Parallel()
	r := newReplicating(t)
	r.want(201, "", "PUT", "/sync/notes", "")
	var feeds []*bufio.Reader
	for _, kind := range []string{"longpoll", "continuous"} {
		feed := bufio.NewReader(r.ask("GET", "/sync/notes/_changes?heartbeat=100&feed="+kind, "").Body)
		if _, err := feed.ReadString('\n'); err != nil { // it waits by now
			t.Fatal(err)
		}
		feeds = append(feeds, feed)
	}
	r.stop()
	for _, feed := range feeds {
		if rest, err := io.ReadAll(feed); err != nil || !strings.Contains(string(rest), `"last_seq":"0-`) {
			t.Errorf("a feed of a server that stops ends with %q, %v", rest, err)
		}
	}
	if code := <-r.done; code != 0 {
		t.Errorf("serve ended with %d", code)
	}
}
