package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doorward/kv/kvtest/proof"
)

// TestASmallCommitTakesFewBytesOfTheDisk: a record of a hundred bytes is one page or two, however large the pieces are in which the system keeps a segment.
func TestASmallCommitTakesFewBytesOfTheDisk(t *testing.T) {
	proof.Unraced(t)
	s := newSubject(t)
	s.must(s.Close())
	s.config.Path = filepath.Join(proof.Disk(t), "a.db")
	s.open()
	s.write(map[string]string{"first": "begins the log"})
	const commits, most = 100, 16 << 10
	before := givenToDisk(t)
	for i := range commits {
		s.write(map[string]string{fmt.Sprintf("k%02d", i%40): strings.Repeat("v", 50)})
	}
	if each := (givenToDisk(t) - before) / commits; each > most {
		t.Errorf("a commit gives the disk %d bytes, want at most %d", each, most)
	}
}

// givenToDisk is how many bytes this process has given to disks.
func givenToDisk(t *testing.T) (n int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		proof.Missing(t, "what a process writes is not told here: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), "\nwrite_bytes: ")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
