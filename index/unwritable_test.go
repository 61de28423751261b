//go:build unix

package index_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"doorward/index"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/table"
)

// unprivileged is the id of a user and of a group that own nothing.
const unprivileged = 65534

// TestAFolderThatCannotBeWrittenIsTriedAgain runs as a user that is bound by permissions.
func TestAFolderThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		asUnprivileged(t)
		return
	}
	dir := built(t)
	indexes := filepath.Join(dir, "index")
	if err := os.Chmod(indexes, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(indexes, 0o700) })
	s := kvtest.OpenConfig(t, table.Config{Dir: dir})
	x := opened(t, s, index.Config{Dir: dir, Retry: time.Millisecond})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := x.Rebuild(ctx, nil); err == nil {
		t.Error("an index was rebuilt in a folder that cannot be written")
	}
	if _, err := x.Find(desk.Wanted{}); err == nil {
		t.Error("an index answers that cannot be written")
	}
	if err := os.Chmod(indexes, 0o700); err != nil {
		t.Fatal(err)
	}
	caughtUp(t, s, x)
	wantFound(t, x, letters(20), 21)
}

// TestAFolderThatIsMovedAwayIsNotMadeAgain: who moves it back would move it into the one that was made in its place.
func TestAFolderThatIsMovedAwayIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	dir := built(t)
	s := kvtest.OpenConfig(t, table.Config{Dir: dir})
	x := opened(t, s, index.Config{Dir: dir, Retry: time.Millisecond})
	caughtUp(t, s, x)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Rebuild(ctx, nil); err == nil {
		t.Error("an index was rebuilt in a folder that is not there")
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the folder was made again")
	}
	if err := errors.Join(os.RemoveAll(dir), os.Rename(dir+".away", dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Rebuild(ctx, nil); err != nil {
		t.Errorf("Rebuild in the folder that is back = %v", err)
	}
	wantFound(t, x, letters(20), 21)
}

// asUnprivileged runs the calling test in a process of a user without rights.
func asUnprivileged(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "program")
	if err := copyProgram(program); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, "-test.v", "-test.run", "^"+t.Name()+"$")
	c.Dir, c.Env = dir, append(os.Environ(), "TMPDIR="+dir)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	if said, err := c.CombinedOutput(); err != nil || !strings.Contains(string(said), "--- PASS: "+t.Name()) {
		t.Errorf("as an unprivileged user: %v\n%s", err, said)
	}
}

// copyProgram copies the running program to a place where every user may run it.
func copyProgram(to string) error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, from); err != nil {
		return err
	}
	return file.Close()
}
