package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestACopyIsShippedToAnyDisk: to a name beside it, through a link, and to a disk of its own, in the place of what is there.
func TestACopyIsShippedToAnyDisk(t *testing.T) {
	memory, err := os.MkdirTemp("/dev/shm", "doorward-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(memory); err != nil {
			t.Error(err)
		}
	})
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(filepath.Join(memory, "linked.db"), link); err != nil {
		t.Fatal(err)
	}
	for to, lands := range map[string]string{
		filepath.Join(t.TempDir(), "here.db"): "",
		filepath.Join(memory, "there.db"):     "",
		link:                                  filepath.Join(memory, "linked.db"),
	} {
		if lands == "" {
			lands = to
		}
		from := filepath.Join(t.TempDir(), "copy.db")
		for name, text := range map[string]string{from: "the copy", lands: "an older one"} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		sum := sha256.Sum256([]byte("the copy"))
		if err := shipFile(t.Context(), from, to, hex.EncodeToString(sum[:])); err != nil {
			t.Errorf("shipFile = %v", err)
		}
		info, err := os.Lstat(lands)
		if text, failed := os.ReadFile(lands); err != nil || failed != nil || string(text) != "the copy" || info.Mode() != 0o600 {
			t.Errorf("%s = %q, %v, %v, %v", lands, text, info.Mode(), err, failed)
		}
	}
	torn := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(torn, []byte("what the disk made of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("the copy"))
	to := filepath.Join(memory, "there.db")
	if err := shipFile(t.Context(), torn, to, hex.EncodeToString(sum[:])); !errors.Is(err, errReadTwice) {
		t.Errorf("shipFile of what is not what was checked = %v", err)
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "the copy" {
		t.Errorf("afterwards the older one is %q, %v", text, err)
	}
}
