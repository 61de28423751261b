package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyACheckThatDiesOfTheFileBlamesIt: a signal from without, as the system's when memory is short, says nothing of what was checked.
func TestOnlyACheckThatDiesOfTheFileBlamesIt(t *testing.T) {
	t.Parallel()
	const broken = "damage found: 1 faults, the first: the file's own structure is broken: reading it ended the reader"
	for _, c := range []struct{ name, script, want string }{
		{"killed", "kill -KILL $$", "the check was killed by signal 9 (killed): nothing is known of the file"},
		{"terminated", "kill -TERM $$", "the check was killed by signal 15 (terminated): nothing is known of the file"},
		{"its terminal closed", "kill -HUP $$", "the check was killed by signal 1 (hangup): nothing is known of the file"},
		{"stopped in good order", `echo '{"error":{"message":"stopped"}}'; exit 1`, "the check was stopped by a signal: nothing is known of the file"},
		{"refused by the child", `echo '{"error":{"message":"the file is empty"}}'; exit 1`, "the file is empty"},
		{"a fault of memory", "ulimit -c 0; kill -SEGV $$", broken},
		{"a fault of a mapped file", "ulimit -c 0; kill -BUS $$", broken},
		{"a panic", "exit 2", broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := func(child *exec.Cmd) error {
				child.Path, child.Args = "/bin/sh", []string{"sh", "-c", c.script}
				return child.Start()
			}
			m := &Main{Stderr: io.Discard}
			if err := m.verifyCopy(t.Context(), start, t.TempDir()); err == nil || err.Error() != c.want {
				t.Errorf("verifyCopy = %v, want %s", err, c.want)
			}
		})
	}
}

// TestACheckThatCannotBeStartedBlamesNoFile: the program's own file has been removed while it runs, as an upgrade does.
func TestACheckThatCannotBeStartedBlamesNoFile(t *testing.T) {
	t.Parallel()
	p := &program{TB: t, path: filepath.Join(t.TempDir(), "doorward"), dir: filepath.Join(t.TempDir(), "d")}
	text, err := os.ReadFile(compiled(t))
	if err = errors.Join(err, os.WriteFile(p.path, text, 0o700)); err != nil { // the program of other tests stays
		t.Fatal(err)
	}
	var made any
	p.run(&made, "keys", "add", "--name", "door", "--level", "denomination")
	saved, other, fresh := filepath.Join(t.TempDir(), "saved.db"), filepath.Join(t.TempDir(), "other.db"), filepath.Join(t.TempDir(), "fresh")
	p.run(&made, "backup", saved)
	self, err := os.Open(p.path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = self.Close() }() // it is only run
	if err := os.Remove(p.path); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		begins string
		args   []string
	}{
		{"doorward: the check could not be started: ", []string{"verify", "--data", p.dir}},
		{"doorward: no backup was made: the check could not be started: ", []string{"backup", "--data", p.dir, other}},
		{"doorward: " + saved + " was not restored: the check could not be started: ", []string{"restore", "--data", fresh, saved}},
	} {
		cmd := exec.Command("/proc/self/fd/3", c.args...)
		cmd.ExtraFiles = []*os.File{self}
		out, err := cmd.CombinedOutput()
		if said := string(out); cmd.ProcessState.ExitCode() != exitFailed || !strings.HasPrefix(said, c.begins) || !strings.HasSuffix(said, ": nothing is known of the file\n") {
			t.Errorf("%s = %v: %s, want 1, and %q", c.args[0], err, out, c.begins)
		}
	}
	if exists(other) || exists(fresh) {
		t.Errorf("a backup is there: %t, a restored store: %t, want neither", exists(other), exists(fresh))
	}
}
