package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"doorward/kv/disk"
)

// TestABackupIsCheckedWithoutBeingOpenedToBeWritten: Windows makes a file longer as soon as bbolt opens it to be written, and then the backup is
// not what its manifest tells of.
func TestABackupIsCheckedWithoutBeingOpenedToBeWritten(t *testing.T) {
	p := &program{TB: t, path: compiled(t), dir: filepath.Join(t.TempDir(), "d")}
	var made any
	p.run(&made, "demo", "--size", "s")
	written := watchCopies(t, p.dir)
	p.run(&made, "backup", filepath.Join(t.TempDir(), "monday.db"))
	if n := written(); n > 1 { // when it was copied
		t.Errorf("the copy was opened %d times to be written", n)
	}
}

// watchCopies counts how often a copy within a folder was opened to be written and closed again.
func watchCopies(t *testing.T, dir string) (written func() int) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	notes := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE); err != nil {
		t.Fatal(err)
	}
	counted := make(chan int)
	go func() {
		n := 0
		defer func() { counted <- n }()
		for buf := make([]byte, 64<<10); ; {
			got, err := notes.Read(buf)
			if err != nil {
				if !errors.Is(err, os.ErrClosed) {
					t.Error(err)
				}
				return
			}
			for rest := buf[:got]; len(rest) > 0; {
				mask, size := binary.NativeEndian.Uint32(rest[4:]), binary.NativeEndian.Uint32(rest[12:])
				name := string(bytes.TrimRight(rest[unix.SizeofInotifyEvent:][:size], "\x00"))
				rest = rest[unix.SizeofInotifyEvent+size:]
				switch {
				case mask&unix.IN_CLOSE_WRITE != 0 && name == "doorward.db":
					n++
				case mask&unix.IN_CREATE != 0 && strings.HasPrefix(name, disk.OwnPrefix+"backup"):
					_, _ = unix.InotifyAddWatch(fd, filepath.Join(dir, name), unix.IN_CLOSE_WRITE) // it may be gone again
				}
			}
		}
	}()
	return func() int {
		_ = notes.Close() // which ends the reading
		return <-counted
	}
}
