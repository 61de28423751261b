package archive

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/folder"
	"doorward/kv/backup"
	"doorward/kv/kvtest/proof"
)

// TestACopyStaysWhileItIsWorkedAt: however long that takes, whatever else begins. The copy of a killed process is removed.
func TestACopyStaysWhileItIsWorkedAt(t *testing.T) {
	o := opening(t.TempDir())
	churchIn(t, o.Dir)
	left := filepath.Join(o.Dir, ".doorward-backup-1")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Minute)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	err := onCopy(t.Context(), o, func(dir string, _ backup.Manifest) error {
		if folder.Exists(left) {
			t.Error("a backup begins, and what another has left stays")
		}
		err := os.Chtimes(dir, old, old)
		if folder.Tidy(o.Dir, slog.New(slog.DiscardHandler)); !folder.Exists(dir) {
			t.Error("a copy that is worked at is taken away")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAStoppedBackupBlamesNoFile: a stopped check says nothing about the file.
func TestAStoppedBackupBlamesNoFile(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := checkAndSum(ctx, opening(t.TempDir()), t.TempDir()); err != console.ErrStopped {
		t.Errorf("checkAndSum = %v, want only that it was stopped", err)
	}
}

// TestOnlyACheckThatDiesOfTheFileBlamesIt: a signal from without, as the system's when memory is short, says nothing of what was checked.
func TestOnlyACheckThatDiesOfTheFileBlamesIt(t *testing.T) {
	proof.Hangup(t)
	const broken = "damage found: 1 faults, the first: the file's own structure is broken: reading it ended the reader"
	const lacks = "the check had too little memory, or no thread: nothing is known of the file"
	for _, c := range []struct{ name, script, want string }{
		{"killed", "kill -KILL $$", "the check was killed by signal 9 (killed): nothing is known of the file"},
		{"terminated", "kill -TERM $$", "the check was killed by signal 15 (terminated): nothing is known of the file"},
		{"its terminal closed", "kill -HUP $$", "the check was killed by signal 1 (hangup): nothing is known of the file"},
		{"stopped in good order", `echo '{"error":{"message":"stopped"}}'; exit 1`, "the check was stopped by a signal: nothing is known of the file"},
		{"refused by the child", `echo '{"error":{"message":"the file is empty"}}'; exit 1`, "the file is empty"},
		{"a fault of memory", "ulimit -c 0; kill -SEGV $$", broken},
		{"a fault of a mapped file", "ulimit -c 0; kill -BUS $$", broken},
		{"a panic", "exit 2", broken},
		{"a panic of many words", "echo 'panic: out of memory' >&2; exit 2", broken},
		{"without memory", "echo 'runtime: out of memory: cannot allocate 4194304-byte block (0 in use)' >&2; exit 2", lacks},
		{"without a thread", "echo 'runtime/cgo: pthread_create failed: Resource temporarily unavailable' >&2; exit 2", lacks},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := func(child *exec.Cmd) error {
				child.Path, child.Args = "/bin/sh", []string{"sh", "-c", c.script}
				return child.Start()
			}
			if err := checkCopy(t.Context(), opening(t.TempDir()), start, t.TempDir()); err == nil || err.Error() != c.want {
				t.Errorf("checkCopy = %v, want %s", err, c.want)
			}
		})
	}
}
