package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// signalled stops or continues a server.
func (s *serving1) signalled(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// TestCommandsOfAStoppedServer: each command ends with one sentence that names the process, and does nothing, also after the server goes on.
func TestCommandsOfAStoppedServer(t *testing.T) {
	t.Parallel()
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
	p.run(new(any), "demo", "--size", "s")
	s := p.serve()
	defer s.kill()
	backups := t.TempDir()
	before := filepath.Join(backups, "before.db")
	p.run(new(any), "backup", before)
	s.signalled(t, syscall.SIGSTOP)
	want := fmt.Sprintf("doorward: the server (process %d) has not answered for 5 s: it is stopped, as by Ctrl-Z, and goes on after: kill -CONT %d; nothing was begun\n",
		s.cmd.Process.Pid, s.cmd.Process.Pid)
	var all sync.WaitGroup
	for _, args := range [][]string{
		{"status"}, {"keys", "list"}, {"keys", "add", "--name", "late", "--level", "denomination"}, {"verify"}, {"compact"},
		{"backup", filepath.Join(backups, "b.db")}, {"door", "--event", "1"}, {"export"}, {"restore", before, "--replace"},
	} {
		all.Go(func() {
			cmd := exec.Command(p.path, append(args, "--data", p.dir)...)
			var problems bytes.Buffer
			cmd.Stderr = &problems
			out, _ := cmd.Output() // its code is looked at
			if cmd.ProcessState.ExitCode() != 1 || len(out) > 0 || problems.String() != want {
				t.Errorf("%s: exit code %d, printed %q and %q, want %q", args, cmd.ProcessState.ExitCode(), out, &problems, want)
			}
		})
	}
	all.Wait()
	s.signalled(t, syscall.SIGCONT)
	var keys struct{ Count int }
	p.run(&keys, "keys", "list")
	left, err := filepath.Glob(filepath.Join(p.dir, ".doorward-*"))
	made, failed := filepath.Glob(filepath.Join(backups, "b.db*"))
	if err = errors.Join(err, failed); keys.Count != 0 || len(left)+len(made) > 0 || err != nil {
		t.Errorf("the server that went on has %d keys, and the folders have %v and %v, %v: want nothing", keys.Count, left, made, err)
	}
}

// TestACommandWhoseServerIsStopped: it says so, waits, and is done when the server goes on.
func TestACommandWhoseServerIsStopped(t *testing.T) {
	t.Parallel()
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
	p.run(new(any), "demo", "--size", "m")
	s := p.serve()
	defer s.kill()
	cmd := exec.Command(p.path, "export", "--data", p.dir)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	problems, said := io.Pipe()
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s.signalled(t, syscall.SIGSTOP) // most is still to come
	records := make(chan int)
	go func() {
		rest, err := io.ReadAll(stdout)
		if err != nil {
			t.Error(err)
		}
		records <- bytes.Count(rest, []byte{'\n'})
	}()
	line, err := bufio.NewReader(problems).ReadString('\n')
	if err != nil || !strings.Contains(line, "has not answered for 5 s: it is stopped") || !strings.HasSuffix(line, "; the command waits for it\n") {
		t.Errorf("export said %q, %v, want that the server is stopped and the command waits", line, err)
	}
	s.signalled(t, syscall.SIGCONT)
	if n := <-records; n < 5000 {
		t.Errorf("export wrote %d records, want all", n)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("export: %v", err)
	}
}
