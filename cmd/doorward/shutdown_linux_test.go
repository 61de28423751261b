package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"
)

// signalled is a server in a process of its own that is sent signals.
type signalled struct {
	*exec.Cmd
	url    string
	log    *output
	exited chan error
}

// startSignalled starts a server with further flags and waits until it answers. ignore has it started as nohup does.
func startSignalled(t *testing.T, ignore bool, flags ...string) *signalled {
	t.Helper()
	proof.Hangup(t)
	args := append([]string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0"}, flags...)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &signalled{Cmd: exec.Command("doorward", args...), log: &output{}, exited: make(chan error, 1)}
	s.Path, s.Err = exe, nil // TestMain knows the program by the name that it is called by
	if ignore {
		s.Cmd = exec.Command("sh", append([]string{"-c", `trap '' HUP; exe=$1; shift; exec -a doorward "$exe" "$@"`, "sh", exe}, args...)...)
		s.Path = "/bin/bash" // whose exec can name a program otherwise
	}
	diesWithTest(s.Cmd)
	s.Stderr = s.log
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill() }) // most have ended
	lines := bufio.NewReader(out)
	line, _ := lines.ReadString('\n') // what is missing is found out below
	go func() {
		_, _ = io.Copy(io.Discard, lines) // until the process ends
		s.exited <- s.Wait()
	}()
	found := answersAt.FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("serve said %q\n%s", line, s.log)
	}
	s.url = found[1]
	return s
}

func (s *signalled) send(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := s.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// ended waits for the process to end.
func (s *signalled) ended(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.exited:
		return err
	case <-time.After(scriptPatience):
		t.Fatalf("the server goes on\n%s", s.log)
		return nil
	}
}

// status asks once.
func (s *signalled) status(path string) int {
	resp, err := http.Get(s.url + path)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close() // nothing of it is read
	return resp.StatusCode
}

// answers waits until a path is answered so.
func (s *signalled) answers(t *testing.T, path string, want int) {
	t.Helper()
	got := 0
	for ends := time.Now().Add(scriptPatience); time.Now().Before(ends); time.Sleep(10 * time.Millisecond) { // between two looks
		if got = s.status(path); got == want {
			return
		}
	}
	t.Fatalf("GET %s = %d, want %d\n%s", path, got, want, s.log)
}

// TestATerminalThatClosesEndsServeInOrder: as SIGTERM does. nohup keeps it from that.
func TestATerminalThatClosesEndsServeInOrder(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGTERM, os.Interrupt} {
		s := startSignalled(t, false)
		s.send(t, sig)
		if err := s.ended(t); err != nil {
			t.Errorf("after %v serve ended with %v, want 0", sig, err)
		}
		if log := s.log.String(); strings.Count(log, `msg="a signal ends the server"`) != 1 || !strings.Contains(log, "msg=stopped") {
			t.Errorf("after %v the log says\n%s", sig, log)
		}
	}
	s := startSignalled(t, true)
	s.send(t, syscall.SIGHUP)
	s.answers(t, "/readyz", http.StatusOK)
	s.send(t, syscall.SIGTERM)
	if err := s.ended(t); err != nil || strings.Contains(s.log.String(), "hangup") {
		t.Errorf("under nohup serve ended with %v\n%s", err, s.log)
	}
}

// TestRequestsAreAnsweredWhileReadyzFails: from a signal until --shutdown-delay is over. A terminal that closes sends its signal twice; a
// second one of another kind ends the server at once.
func TestRequestsAreAnsweredWhileReadyzFails(t *testing.T) {
	t.Parallel()
	s := startSignalled(t, false, "--shutdown-delay", "1h")
	s.answers(t, "/readyz", http.StatusOK)
	for range 2 {
		s.send(t, syscall.SIGHUP)
		s.answers(t, "/readyz", http.StatusServiceUnavailable)
		s.answers(t, "/healthz", http.StatusOK)
		s.answers(t, "/v1/people/", http.StatusUnauthorized)
	}
	if log := s.log.String(); !strings.Contains(log, `msg="a signal ends the server" cause="hangup signal received" shutdown_delay=1h0m0s`) {
		t.Errorf("the log says\n%s", log)
	}
	s.send(t, syscall.SIGTERM)
	if err := s.ended(t); err == nil || !strings.Contains(err.Error(), "terminated") {
		t.Errorf("after a second signal serve ended with %v", err)
	}
	s = startSignalled(t, false, "--shutdown-delay", "50ms")
	s.send(t, syscall.SIGTERM)
	if err := s.ended(t); err != nil {
		t.Errorf("after the delay serve ended with %v", err)
	}
}
