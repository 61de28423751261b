package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"doorward/cmd/doorward/folder"
	"doorward/kv/backup"
	"doorward/kv/kvtest/disk"
	"doorward/kv/table"
)

// said runs a command, and returns what it printed to both outputs and its exit code.
func (p *program) said(args ...string) (text string, code int) {
	p.Helper()
	cmd := exec.Command(p.path, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		p.Fatalf("doorward %s: %v", args[0], err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestDisksOfOtherKinds: on the disks of sticks, other machines and encrypted folders, files that leave the store are written with one sentence
// about what the disk does not keep. A store is refused there if the disk lacks what it needs.
func TestDisksOfOtherKinds(t *testing.T) {
	t.Parallel()
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
	p.run(new(any), "demo", "--size", "s")
	const names, modes = "does not confirm names", "keeps no modes"
	for name, test := range map[string]struct {
		lacks          disk.Lacks
		doubt, refused string // "" = none
	}{
		"folders are not synced, EINVAL":  {disk.Lacks{FolderSync: syscall.EINVAL}, names, "it does not sync folders"},
		"folders are not synced, ENOTSUP": {disk.Lacks{FolderSync: syscall.ENOTSUP}, names, "it does not sync folders"},
		"folders are not synced, ENOTTY":  {disk.Lacks{FolderSync: syscall.ENOTTY}, names, "it does not sync folders"},
		"modes cannot be changed":         {disk.Lacks{Chmod: syscall.EPERM}, modes, "it changes no modes"},
		"a change of modes is ignored":    {disk.Lacks{Modes: true}, modes, ""},
		"folders and modes":               {disk.Lacks{FolderSync: syscall.EINVAL, Modes: true}, names + " (eject it before you unplug it) and " + modes, "it does not sync folders"},
		"no locks":                        {disk.Lacks{Locks: true}, "", "it locks no files"},
		"no sockets":                      {disk.Lacks{Sockets: true}, "", ""},
		"no answer about room":            {disk.Lacks{Room: true}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, unmount := disk.New(disk.Config{Lacks: test.lacks}).MountFor(t)
			defer unmount()
			q := &program{TB: t, path: p.path, dir: p.dir}
			at := func(name string) string { return filepath.Join(dir, name) }
			for _, args := range [][]string{
				{"backup", at("b.db"), "--data", p.dir}, {"backup", at("b.db"), "--data", p.dir},
				{"export", at("all.ndjson"), "--data", p.dir}, {"replicate", p.dir, at("stick.ndjson.zst")},
			} {
				text, code := q.said(args...)
				if lines := strings.Count(text, "to a disk that"); code != 0 || !strings.Contains(text, test.doubt) || lines != min(len(test.doubt), 1) {
					t.Errorf("%s: exit code %d, printed %q, want the sentence %q", args, code, text, test.doubt)
				}
			}
			again := &program{TB: t, path: p.path, dir: filepath.Join(t.TempDir(), "again")}
			again.run(new(any), "restore", at("b.db"))
			text, code := q.said("demo", "--data", at("d"))
			if refused := strings.Contains(text, "lies on a disk that can hold no store: "+test.refused); test.refused != "" && (code != 1 || !refused) || test.refused == "" && code != 0 {
				t.Errorf("demo there: exit code %d, printed %q, want it refused: %q", code, text, test.refused)
			}
			if left, err := filepath.Glob(at(".doorward-*")); len(left) > 0 || err != nil {
				t.Errorf("the disk has %q, %v", left, err)
			}
		})
	}
}

// TestBackup_FailedSync: a disk that fails keeps the older backup with its manifest.
func TestBackup_FailedSync(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	dir, unmount := disk.New(disk.Config{Sync: func(path string) error {
		if path == "" && fails.Load() {
			return syscall.EIO
		}
		return nil
	}}).MountFor(t)
	defer unmount()
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
	p.run(new(any), "demo", "--size", "s")
	file := filepath.Join(dir, "b.db")
	p.run(new(any), "backup", file)
	before, err := os.ReadFile(backup.ManifestName(file))
	if err != nil {
		t.Fatal(err)
	}
	fails.Store(true)
	if text, code := p.said("backup", file, "--data", p.dir); code != 1 || !strings.Contains(text, "input/output error") {
		t.Errorf("a backup to a disk that fails: exit code %d, printed %q", code, text)
	}
	if after, err := os.ReadFile(backup.ManifestName(file)); string(after) != string(before) {
		t.Errorf("the manifest is %q, %v, want %q", after, err, before)
	}
	again := &program{TB: t, path: p.path, dir: filepath.Join(t.TempDir(), "again")}
	again.run(new(any), "restore", file)
}

// TestServe_NoSockets: a server whose disk has no sockets answers over HTTP. Commands say why they do not reach it, and do their work once it has ended.
func TestServe_NoSockets(t *testing.T) {
	t.Parallel()
	dir, unmount := disk.New(disk.Config{Lacks: disk.Lacks{Sockets: true}}).MountFor(t)
	defer unmount()
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(dir, "d")}
	p.run(new(any), "demo", "--size", "s")
	s := p.serve()
	resp, err := http.Get(s.url + "/readyz")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the server answers %v, %v", resp, err)
	}
	for _, args := range [][]string{{"status"}, {"verify"}, {"backup", filepath.Join(t.TempDir(), "b.db")}} {
		if text, code := p.said(append(args, "--data", p.dir)...); code != 1 || !strings.Contains(text, folder.ErrNoSocket.Error()) {
			t.Errorf("%s beside the server: exit code %d, printed %q, want %q", args, code, text, folder.ErrNoSocket)
		}
	}
	s.kill()
	<-s.exited
	if text, code := p.said("status", "--data", p.dir); code != 0 {
		t.Errorf("status after it: exit code %d, printed %q", code, text)
	}
}

// TestBackup_FullDisk: a backup to another disk needs no room on the store's own, whether a server runs or not. One to the same disk is refused.
func TestBackup_FullDisk(t *testing.T) {
	t.Parallel()
	own := disk.New(disk.Config{})
	dir, unmount := own.MountFor(t)
	defer unmount()
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(dir, "d")}
	p.run(new(any), "demo", "--size", "s")
	other := t.TempDir()
	backedUp := func(name string) {
		t.Helper()
		file := filepath.Join(other, name)
		if text, code := p.said("backup", file, "--data", p.dir); code != 0 {
			t.Errorf("backup, %s: exit code %d, printed %q", name, code, text)
			return
		}
		again := &program{TB: t, path: p.path, dir: filepath.Join(t.TempDir(), "again")}
		again.run(new(any), "restore", file)
		if text, code := p.said("backup", filepath.Join(dir, name), "--data", p.dir); code != 1 || !strings.Contains(text, "the disk is nearly full") {
			t.Errorf("backup to the full disk, %s: exit code %d, printed %q", name, code, text)
		}
	}
	own.SetRoom(0, 1<<20)
	backedUp("unserved.db")
	own.SetRoom(-1, -1)
	s := p.serve()
	defer s.kill()
	own.SetRoom(0, 1<<20)
	backedUp("served.db")
	if left, err := filepath.Glob(filepath.Join(other, ".doorward-*")); len(left) > 0 || err != nil {
		t.Errorf("the other disk has %q, %v", left, err)
	}
}

// TestLimitOfAddresses: under ulimit -v the store is mapped in part. Where that is too little the error names the limit.
func TestLimitOfAddresses(t *testing.T) {
	t.Parallel()
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
	limited := func(command string) (string, error) {
		cmd := exec.Command("bash", "-c", "ulimit -v 3000000; exec "+p.path+" "+command+" --data "+p.dir)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, command := range []string{"demo", "verify", "compact", "status"} {
		if text, err := limited(command); err != nil {
			t.Fatalf("%s: %v, printed %s", command, err, text)
		}
	}
	if err := os.Truncate(table.Path(p.dir), 4<<30); err != nil {
		t.Fatal(err)
	}
	if text, err := limited("status"); err == nil || !strings.Contains(text, "this process may have 2929 MiB of addresses (ulimit -v, or LimitAS of systemd): raise that limit\n") {
		t.Errorf("status of a large file: %v, printed %s", err, text)
	}
}
