package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// compiled builds the program as its users run it, without the test's race detector, and answers its path.
func compiled(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "doorward")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "doorward/cmd/doorward").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// program is the built program and the folder that its commands are about.
type program struct {
	testing.TB
	path, dir string
}

// run carries out a command and reads the JSON object that it prints.
func (p *program) run(into any, args ...string) {
	p.Helper()
	cmd := exec.Command(p.path, append(args, "--data", p.dir, "--json")...)
	stderr := &output{}
	cmd.Stderr = stderr
	out, err := cmd.Output()
	if err != nil {
		p.Fatalf("doorward %s: %v\n%s%s", args[0], err, out, stderr)
	}
	if err := json.Unmarshal(out, into); err != nil {
		p.Fatalf("doorward %s printed %s: %v", args[0], out, err)
	}
}

// serving1 is a server in a process of its own.
type serving1 struct {
	cmd    *exec.Cmd
	url    string
	exited chan struct{}
}

var answersAt = regexp.MustCompile(`answers at (http://[^/ ]+)/`)

// serve starts the server and returns once it says where it answers.
func (p *program) serve() *serving1 {
	p.Helper()
	s := &serving1{cmd: exec.Command(p.path, "serve", "--data", p.dir, "--listen", "127.0.0.1:0"), exited: make(chan struct{})}
	stderr := &output{}
	s.cmd.Stderr = stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		p.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	found := answersAt.FindStringSubmatch(line)
	go func() {
		defer close(s.exited)
		_, _ = io.Copy(io.Discard, lines) // until the process ends
		_ = s.cmd.Wait()                  // killed, as it was meant to be
	}()
	if found == nil {
		s.kill()
		<-s.exited
		p.Fatalf("serve said %q, %v\n%s", line, err, stderr)
	}
	s.url = found[1]
	return s
}

// kill ends the process as a power cut ends it: without a word to it.
func (s *serving1) kill() { _ = s.cmd.Process.Kill() } // one that has ended already is as dead
