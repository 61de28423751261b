package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"doorward/kv/kvtest/disk"
)

// powered is a disk that is switched on: the real program works on it.
type powered struct {
	program
	disk   *disk.Disk
	off    func() // ends what runs on it and unmounts it
	server *serving1
	http   *http.Client
}

// power mounts a disk.
func (l *laboratory) power(t *testing.T, d *disk.Disk) *powered {
	t.Helper()
	dir, unmount := d.MountFor(t)
	p := &powered{program: program{t, l.path, filepath.Join(dir, "data")}, disk: d, http: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	p.off = func() {
		p.stop()
		unmount()
	}
	t.Cleanup(p.off)
	return p
}

// start starts the server.
func (p *powered) start() { p.server = p.serve() }

// stop kills the server, if it runs.
func (p *powered) stop() {
	if p.server != nil {
		p.server.kill()
		<-p.server.exited
		p.http.CloseIdleConnections()
		p.server = nil
	}
}

// end has the server stop in order.
func (p *powered) end() {
	p.Helper()
	if err := p.server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.Fatal(err)
	}
	<-p.server.exited
	p.http.CloseIdleConnections()
	p.server = nil
}

// ask sends a request; status 0 where no answer came. An answer's body is for fetch.
func (p *powered) ask(l *laboratory, method, path, body string) (status int, head http.Header) {
	status, head, _ = p.fetch(l, method, path, body)
	return status, head
}

func (p *powered) fetch(l *laboratory, method, path, body string) (status int, head http.Header, text string) {
	r, err := http.NewRequest(method, p.server.url+path, strings.NewReader(body))
	if err != nil {
		p.Error(err)
		return 0, nil, ""
	}
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth(l.key, l.secret)
	answer, err := p.http.Do(r)
	if err != nil {
		return 0, nil, ""
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, nil, ""
	}
	return answer.StatusCode, answer.Header, string(all)
}
