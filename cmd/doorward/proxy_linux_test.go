package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doorward/cmd/doorward/help"
	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/record"
)

// nginx finds the proxy's program; the test is skipped where there is none, unless everything must be checked.
func nginx(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	proof.Missing(t, "nginx is missing (Debian: nginx-light)")
	return ""
}

// recipe is the manual's server for nginx, with addresses and files of a test.
func recipe(t *testing.T, replace map[string]string) string {
	t.Helper()
	operate, _ := help.Find("operate")
	_, found, _ := strings.Cut(operate.Text, "```nginx\n")
	found, _, ended := strings.Cut(found, "```\n")
	if !ended {
		t.Fatal("the manual has no recipe for nginx")
	}
	for old, new := range replace {
		if !strings.Contains(found, old) {
			t.Fatalf("the recipe has no %q", old)
		}
		found = strings.ReplaceAll(found, old, new)
	}
	return found
}

// proxied is a server behind nginx, and a key that may do everything.
type proxied struct {
	testing.TB
	ca          *testAuthority
	behind      string // the server's own address
	front       string // nginx's
	key, secret string
}

// serveBehindProxy starts both.
func serveBehindProxy(t *testing.T) *proxied {
	t.Helper()
	program, dir := nginx(t), t.TempDir()
	p := &proxied{TB: t}
	store, err := kv.Open(kv.Config{Dir: filepath.Join(dir, "data")})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		kvtest.Create(t, store, record.Church, `{"name":"North"}`)
	}
	p.key, p.secret = kvtest.Key(t, store, "denomination", "*:*")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	p.behind = p.serve(filepath.Join(dir, "data"))
	if p.ca, err = newAuthority(); err != nil {
		t.Fatal(err)
	}
	if err := p.ca.issue(dir, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	p.front = net.JoinHostPort("127.0.0.1", choosePort(t))
	conf := fmt.Sprintf("daemon off;\nmaster_process off;\npid %[1]s/nginx.pid;\nerror_log stderr warn;\nevents {}\nhttp {\naccess_log off;\n"+
		"client_body_temp_path %[1]s/body;\nproxy_temp_path %[1]s/proxy;\nfastcgi_temp_path %[1]s/fastcgi;\nuwsgi_temp_path %[1]s/uwsgi;\nscgi_temp_path %[1]s/scgi;\n%[2]s}\n",
		dir, recipe(t, map[string]string{
			"listen 443": "listen " + p.front, "127.0.0.1:8080": p.behind,
			"/etc/ssl/porta.example.pem": filepath.Join(dir, "cert.pem"), "/etc/ssl/porta.example.key": filepath.Join(dir, "key.pem"),
		}))
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, said := exec.Command(program, "-p", dir, "-c", filepath.Join(dir, "nginx.conf")), &output{}
	cmd.Stderr = said
	diesWithTest(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed, as it was meant to be
	})
	for ends := time.Now().Add(scriptPatience); ; time.Sleep(20 * time.Millisecond) { // between two looks
		conn, err := net.Dial("tcp", p.front)
		if err == nil {
			_ = conn.Close() // it only showed that nginx answers
			return p
		}
		if time.Now().After(ends) {
			t.Fatalf("nginx does not answer: %v\n%s", err, said)
		}
	}
}

// serve runs the server as the manual says.
func (p *proxied) serve(dir string) (address string) {
	return serveIn(p, dir, &output{}, "--trusted-proxy", "127.0.0.1", "--allowed-host", "porta.example", "--auth-failures", "2")
}

// from is a client with an address of its own, which finds the name of the server at nginx.
func (p *proxied) from(local string) *http.Client {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(local)}}
	t := &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "tcp", p.front) },
		TLSClientConfig: &tls.Config{RootCAs: p.ca.roots()}, ForceAttemptHTTP2: true,
	}
	p.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, Timeout: scriptPatience}
}

// do sends a request; headers are pairs of name and value.
func (p *proxied) do(client *http.Client, method, url, body, secret string, headers ...string) *http.Response {
	p.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	r.SetBasicAuth(p.key, secret)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = resp.Body.Close() }) // some are feeds
	return resp
}

// TestTheRecipeForAProxyIsRight: nginx as the manual configures it. Links name what the client named, clients are told apart, and what is
// waited for arrives at once.
func TestTheRecipeForAProxyIsRight(t *testing.T) {
	t.Parallel()
	p := serveBehindProxy(t)
	site := "https://porta.example"
	one := p.from("127.0.0.1")

	next := func(resp *http.Response) string {
		t.Helper()
		var page struct{ Next string }
		if err := json.NewDecoder(resp.Body).Decode(&page); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("the list is answered %d, %v", resp.StatusCode, err)
		}
		return page.Next
	}
	forged := []string{"X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "http", "X-Forwarded-For", "203.0.113.9"}
	if got := next(p.do(one, "GET", site+"/admin/v1/church/?limit=1", "", p.secret, forged...)); !strings.HasPrefix(got, site+"/admin/v1/church/?") {
		t.Errorf("the next page is %s, want it at %s", got, site)
	}
	login := fmt.Sprintf(`{"name":%q,"password":%q}`, p.key, p.secret)
	if resp := p.do(one, "POST", site+"/sync/_session", login, p.secret); !strings.Contains(resp.Header.Get("Set-Cookie"), "; Secure") {
		t.Errorf("the login is answered %d with the cookie %q, want one for https alone", resp.StatusCode, resp.Header.Get("Set-Cookie"))
	}
	if resp := p.do(one, "GET", "https://porta.example:4444/healthz", "", p.secret); resp.ProtoMajor != 2 {
		t.Errorf("nginx answers by %s", resp.Proto)
	}
	// Each client has its own limit, whatever it says of itself. The server itself sees them all at 127.0.0.1.
	for _, from := range []string{"127.0.0.2", "127.0.0.3"} {
		client := p.from(from)
		for i, want := range []int{401, 429} {
			forged := []string{"X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i)}
			if resp := p.do(client, "GET", site+"/v1/people/", "", "wrong", forged...); resp.StatusCode != want {
				t.Errorf("failed login %d from %s = %d, want %d", i+1, from, resp.StatusCode, want)
			}
		}
	}
	if resp := p.do(one, "GET", site+"/metrics", "", "wrong"); resp.StatusCode == http.StatusOK {
		t.Error("the proxy opens /metrics to everybody")
	}

	p.feeds(one, site)
	if resp := p.do(one, "PUT", site+"/sync/notes/large", `{"text":"`+strings.Repeat("x", 3<<20)+`"}`, p.secret); resp.StatusCode != http.StatusCreated {
		t.Errorf("PUT of 3 MiB = %d", resp.StatusCode)
	}
}

// feeds checks that what is written arrives while the answer goes on.
func (p *proxied) feeds(client *http.Client, site string) {
	p.Helper()
	for _, path := range []string{"", "/first"} {
		if resp := p.do(client, "PUT", site+"/sync/notes"+path, `{"n":1}`, p.secret); resp.StatusCode != http.StatusCreated {
			p.Fatalf("PUT of notes%s = %d", path, resp.StatusCode)
		}
	}
	feed := bufio.NewReader(p.do(p.from("127.0.0.1"), "GET", site+"/sync/notes/_changes?feed=continuous&heartbeat=60000", "", p.secret).Body)
	row := func() (text string) {
		line, err := feed.ReadString('\n')
		if err != nil {
			p.Fatalf("the continuous feed: %v", err)
		}
		return line
	}
	var first struct{ Seq string }
	if err := json.Unmarshal([]byte(row()), &first); err != nil {
		p.Fatal(err)
	}
	poll := make(chan string, 1)
	waiting := p.from("127.0.0.1")
	r, err := http.NewRequest("GET", site+"/sync/notes/_changes?feed=longpoll&heartbeat=60000&since="+first.Seq, nil)
	if err != nil {
		p.Fatal(err)
	}
	r.SetBasicAuth(p.key, p.secret)
	go func() {
		resp, err := waiting.Do(r)
		if err != nil {
			poll <- err.Error()
			return
		}
		b, _ := io.ReadAll(resp.Body) // what is missing is found out below
		_ = resp.Body.Close()
		poll <- string(b)
	}()
	if resp := p.do(client, "PUT", site+"/sync/notes/a%2Fb", `{"n":1}`, p.secret); resp.StatusCode != http.StatusCreated {
		p.Fatalf("PUT of a document = %d", resp.StatusCode)
	}
	if got := row(); !strings.Contains(got, `"a/b"`) {
		p.Errorf("the continuous feed says %s", got)
	}
	select {
	case got := <-poll:
		if !strings.Contains(got, `"a/b"`) {
			p.Errorf("the long poll answers %s", got)
		}
	case <-time.After(scriptPatience):
		p.Error("the long poll does not answer")
	}
}
