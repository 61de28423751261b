package folder

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTheStoreGoesLast: a wipe that is cut off leaves a store, and not a folder whose store is missing.
func TestTheStoreGoesLast(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"doorward.backup", "doorward.db", "doorward.mark", "erased.ledger"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := syscall.InotifyInit()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }() // it was only read
	if _, err := syscall.InotifyAddWatch(fd, dir, syscall.IN_DELETE); err != nil {
		t.Fatal(err)
	}
	if err := Clear(dir); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4<<10)
	n, err := syscall.Read(fd, b)
	if err != nil {
		t.Fatal(err)
	}
	var gone []string
	for b = b[:n]; len(b) > 0; {
		end := syscall.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
		gone = append(gone, strings.TrimRight(string(b[syscall.SizeofInotifyEvent:end]), "\x00"))
		b = b[end:]
	}
	if len(gone) != 4 || gone[3] != "doorward.db" {
		t.Errorf("a wipe removed %v, want the store's file in the end", gone)
	}
}
