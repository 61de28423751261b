package disk

import (
	"io/fs"
	"os"
	"runtime"
	"testing"
)

// TestUnnamed: the file is in the folder, holds what was written, and only its user can read it; no name is left of it.
func TestUnnamed(t *testing.T) {
	dir := t.TempDir()
	f, err := Unnamed(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("first and last"); err != nil {
		t.Fatal(err)
	}
	last := make([]byte, 4)
	if _, err := f.ReadAt(last, 10); err != nil || string(last) != "last" {
		t.Errorf("ReadAt = %q, %v", last, err)
	}
	if info, err := f.Stat(); err != nil || runtime.GOOS != "windows" && info.Mode() != fs.FileMode(0o600) {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	named := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if n := named(); n > 0 && runtime.GOOS != "windows" {
		t.Errorf("the folder has %d names while the file is open", n)
	}
	Unlinked(f).Free(true)
	if n := named(); n > 0 {
		t.Errorf("the folder has %d names afterwards", n)
	}
	if _, err := f.Stat(); err == nil {
		t.Error("the file is open still")
	}
}
