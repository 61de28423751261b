package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"doorward/cmd/doorward/folder"
)

// TestACheckThatCannotBeStartedBlamesNoFile: the program's own file has been removed while it runs, as an upgrade does.
func TestACheckThatCannotBeStartedBlamesNoFile(t *testing.T) {
	t.Parallel()
	p := &program{TB: t, path: filepath.Join(t.TempDir(), "doorward"), dir: filepath.Join(t.TempDir(), "d")}
	// The program of other tests stays. It is copied by another program: a file that this one has open to write may be open in what other tests
	// start, and cannot be run then.
	if out, err := exec.Command("cp", compiled(t), p.path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
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
	if folder.Exists(other) || folder.Exists(fresh) {
		t.Errorf("a backup is there: %t, a restored store: %t, want neither", folder.Exists(other), folder.Exists(fresh))
	}
}
