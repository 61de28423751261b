package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"doorward/kv/kvtest/proof"
	"doorward/kv/table"
)

// readOnlyDisk copies a folder to a file system of its own, which is then mounted so that nothing can be written, also by root.
func readOnlyDisk(t *testing.T, from string) (dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		proof.Missing(t, "only root can mount a disk that is read-only")
	}
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		proof.Missing(t, "no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	dir = filepath.Join(disk, "d")
	err := os.CopyFS(dir, os.DirFS(from))
	err = errors.Join(err, os.Chmod(dir, 0o700), os.Chmod(table.Path(dir), 0o600))
	if err = errors.Join(err, syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAStoreOnAReadOnlyDiskIsVerifiedExportedAndBackedUpInPlace: with the same answers as on any other disk. Every other command says in one
// line that nothing can be written there. The disk refuses each write, so what succeeds has written nothing.
func TestAStoreOnAReadOnlyDiskIsVerifiedExportedAndBackedUpInPlace(t *testing.T) {
	t.Parallel()
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
	var made any
	p.run(&made, "demo", "--size", "s")
	want, err := p.asked("export").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("mounted read-only", func(t *testing.T) {
		r := &program{TB: t, path: p.path, dir: readOnlyDisk(t, p.dir)}
		r.readsInPlace(t, string(want), "the folder "+r.dir+" lies on a disk that is read-only", func(*exec.Cmd) {})
	})
	t.Run("a folder that may not be written", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a folder to a user without rights")
		}
		r := p.copied(t)
		r.asNobody(t, exec.Command(r.path))
		if err := os.Chmod(r.dir, 0o500); err != nil {
			t.Fatal(err)
		}
		r.readsInPlace(t, string(want), "its mode is 0500; use: chmod 700 "+r.dir, func(cmd *exec.Cmd) { r.asNobody(t, cmd) })
	})
}

// readsInPlace wants the store of a folder that cannot be written to be verified, exported and backed up, and every other command refused.
func (p *program) readsInPlace(t *testing.T, want, said string, as func(*exec.Cmd)) {
	t.Helper()
	backups := t.TempDir()
	if err := errors.Join(os.Chmod(backups, 0o777), os.Chmod(filepath.Dir(backups), 0o711)); err != nil {
		t.Fatal(err)
	}
	before := contents(t, p.dir)
	ran := func(args ...string) (stdout, stderr string, code int) {
		cmd := p.asked(args...)
		as(cmd)
		var out, problems bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &problems
		_ = cmd.Run() // its exit code is looked at
		return out.String(), problems.String(), cmd.ProcessState.ExitCode()
	}
	if out, problems, code := ran("verify"); code != exitDone || !strings.HasPrefix(out, "no damage: ") {
		t.Errorf("verify = %d, %q, %q", code, out, problems)
	}
	if out, problems, code := ran("export"); code != exitDone || out != want {
		t.Errorf("export = %d, %q, and %d bytes, want %d", code, problems, len(out), len(want))
	}
	copied := filepath.Join(backups, "copy.db")
	if out, problems, code := ran("backup", copied); code != exitDone || !strings.Contains(out, "bytes, as of ") || !strings.Contains(problems, "could not note where it lies") {
		t.Errorf("backup = %d, %q, %q", code, out, problems)
	}
	if left, err := filepath.Glob(filepath.Join(backups, ".doorward-*")); err != nil || len(left) > 0 {
		t.Errorf("backup leaves %v, %v", left, err)
	}
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"compact"}, {"reindex"}, {"keys", "list"}, {"backup", filepath.Join(p.dir, "here.db")},
		{"keys", "add", "--name", "n", "--level", "denomination"}, {"restore", copied, "--replace"}, {"clock", "trust"}, {"tls", "init", "--name", "porta"}} {
		out, problems, code := ran(args...)
		if code != exitFailed || out != "" || strings.Count(problems, "\n") != 1 || !strings.Contains(problems, said) {
			t.Errorf("%v = %d, %q, %q, want one line", args, code, out, problems)
		}
	}
	if contents(t, p.dir) != before {
		t.Errorf("the folder is another: %v, was %v", contents(t, p.dir), before)
	}
	whole := &program{TB: t, path: p.path, dir: filepath.Join(t.TempDir(), "d")}
	var made any
	_ = os.Chown(copied, os.Geteuid(), os.Getegid()) // root reads it anyway
	whole.run(&made, "restore", copied)
	if out, err := whole.asked("export").Output(); err != nil || string(out) != want {
		t.Errorf("the restored backup exports %d bytes, %v, want %d", len(out), err, len(want))
	}
}
