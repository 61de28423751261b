package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"doorward/kv/kvtest/proof"
)

// choosePort chooses a free port that stays the test's own while its server is down.
func choosePort(t testing.TB) string {
	t.Helper()
	port, release, err := holdPort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return port
}

// compiled builds the program as its users run it, and answers its path. A test of it is left to the runs without the race detector, which
// would not see it.
func compiled(t testing.TB) string { return builtWith(t, "") }

// builtWith builds the program with build tags, once for all tests.
func builtWith(t testing.TB, tags string) string {
	t.Helper()
	proof.Unraced(t)
	programs.mu.Lock()
	defer programs.mu.Unlock()
	if path, ok := programs.paths[tags]; ok {
		return path
	}
	if programs.dir == "" {
		dir, err := os.MkdirTemp("", "doorward-programs-")
		if err = errors.Join(err, os.Chmod(dir, 0o711)); err != nil { // another user runs them, too
			t.Fatal(err)
		}
		programs.dir = dir
	}
	path := filepath.Join(programs.dir, "doorward"+tags)
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-tags", tags, "-o", path, "doorward/cmd/doorward").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	programs.paths[tags] = path
	return path
}

// builds are the programs that tests have built, by their build tags.
type builds struct {
	mu    sync.Mutex
	dir   string // removed when all tests have run
	paths map[string]string
}

var programs = builds{paths: map[string]string{}}

// endBrowser ends the browser that tests share, once one has opened it.
var endBrowser = func() {}

// suite are all tests, and the end of what they share.
type suite struct{ *testing.M }

// Run implements the interface of testscript.Main.
func (s suite) Run() int {
	code := s.M.Run()
	endBrowser()
	if err := os.RemoveAll(programs.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
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

var answersAt = regexp.MustCompile(`answers at (https?://[^/ ]+)/`)

// serve starts the server and returns once it says where it answers.
func (p *program) serve() *serving1 {
	p.Helper()
	s, err := p.start()
	if err != nil {
		p.Fatal(err)
	}
	return s
}

// start starts the server with further environment and flags, and answers once it says where it answers, or has died before.
func (p *program) start(more ...string) (*serving1, error) {
	s := &serving1{cmd: exec.Command(p.path, "serve", "--data", p.dir, "--listen", "127.0.0.1:0"), exited: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), "GOGC=", "GOMEMLIMIT=") // as operators have it
	for _, m := range more {
		if strings.HasPrefix(m, "--") {
			s.cmd.Args = append(s.cmd.Args, m)
		} else {
			s.cmd.Env = append(s.cmd.Env, m)
		}
	}
	diesWithTest(s.cmd)
	stderr := &output{}
	s.cmd.Stderr = stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
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
		return nil, &silentError{s.cmd.ProcessState, fmt.Sprintf("serve said %q, %v\n%s", line, err, stderr)}
	}
	s.url = found[1]
	return s, nil
}

// silentError is a server that ended before it answered.
type silentError struct {
	state *os.ProcessState
	said  string
}

func (e *silentError) Error() string { return e.said }

// kill ends the process as a power cut ends it: without a word to it.
func (s *serving1) kill() { _ = s.cmd.Process.Kill() } // one that has ended already is as dead
