package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"
)

// TestACopyIsShippedToAnyDisk: to a name beside it, through a link, and to a disk of its own, in the place of what is there.
func TestACopyIsShippedToAnyDisk(t *testing.T) {
	memory, disk := proof.Memory(t), proof.Disk(t)
	link := filepath.Join(disk, "link.db")
	if err := os.Symlink(filepath.Join(memory, "linked.db"), link); err != nil {
		t.Fatal(err)
	}
	for to, lands := range map[string]string{
		filepath.Join(disk, "here.db"):    "",
		filepath.Join(memory, "there.db"): "",
		link:                              filepath.Join(memory, "linked.db"),
	} {
		if lands == "" {
			lands = to
		}
		from := filepath.Join(disk, "copy.db")
		for name, text := range map[string]string{from: "the copy", lands: "an older one"} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		sum := sha256.Sum256([]byte("the copy"))
		if err := ship(t.Context(), from, to, manifest{File: "whole", SHA256: hex.EncodeToString(sum[:])}); err != nil {
			t.Errorf("ship = %v", err)
		}
		info, err := os.Lstat(lands)
		if text, failed := os.ReadFile(lands); err != nil || failed != nil || string(text) != "the copy" || info.Mode() != 0o600 {
			t.Errorf("%s = %q, %v, %v, %v", lands, text, info.Mode(), err, failed)
		}
	}
	torn := filepath.Join(disk, "copy.db")
	if err := os.WriteFile(torn, []byte("what the disk made of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("the copy"))
	to := filepath.Join(memory, "there.db")
	if err := ship(t.Context(), torn, to, manifest{File: "torn", SHA256: hex.EncodeToString(sum[:])}); !errors.Is(err, errReadTwice) {
		t.Errorf("ship of what is not what was checked = %v", err)
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "the copy" {
		t.Errorf("afterwards the older one is %q, %v", text, err)
	}
	if told, err := readManifest(to); err != nil || told == nil || told.File != "whole" {
		t.Errorf("afterwards the older one's manifest is %v, %v", told, err)
	}
	if left, err := filepath.Glob(filepath.Join(memory, ".doorward-*")); err != nil || len(left) > 0 {
		t.Errorf("%v are left behind, %v", left, err)
	}
}

// TestBackupsToOneNameTakeTurns: while one is put in its place, another one waits until it is stopped, or may.
func TestBackupsToOneNameTakeTurns(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "copy.db"), filepath.Join(t.TempDir(), "b.db")
	if err := os.WriteFile(from, []byte("the copy"), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := takeTurn(t.Context(), filepath.Dir(to))
	if err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithTimeout(t.Context(), 3*turnPause)
	defer cancel()
	if err := ship(impatient, from, to, manifest{}); !errors.Is(err, errStopped) || exists(to) {
		t.Errorf("out of turn ship = %v, and the file is there: %t", err, exists(to))
	}
	shipped := make(chan error)
	go func() { shipped <- ship(t.Context(), from, to, manifest{}) }()
	free()
	if err := <-shipped; err != nil {
		t.Errorf("in its turn ship = %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(to), "*")); err != nil || len(left) != 2 {
		t.Errorf("%v are there, %v, want the file and its manifest", left, err)
	}
}

// TestAStoppedBackupBlamesNoFile: that a person ends a check says nothing of what was checked.
func TestAStoppedBackupBlamesNoFile(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	set, m := &settings{data: t.TempDir(), zone: time.UTC}, &Main{Stderr: io.Discard}
	if _, err := m.checkAndSum(ctx, set, t.TempDir()); err != errStopped {
		t.Errorf("checkAndSum = %v, want only that it was stopped", err)
	}
}
