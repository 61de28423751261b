package main

import (
	"errors"
	"strings"
	"testing"

	"doorward/kv"
)

// TestWhatIsHalfWrittenIsNotTriedAgain: replication waits for a store that lacks room, and begins anew then; behind what a file has
// already it must not.
func TestWhatIsHalfWrittenIsNotTriedAgain(t *testing.T) {
	var file strings.Builder
	b := &besideStore{&file, &settings{data: t.TempDir(), imports: maxSize, creates: maxSize}}
	n, err := b.Write([]byte("a line\n"))
	if n != 0 || err == nil || !strings.Contains(err.Error(), kv.ErrDiskFull.Error()) || errors.Is(err, kv.ErrDiskFull) || file.Len() > 0 {
		t.Errorf("Write on a full disk = %d, %v, and wrote %q, want its words and not the error", n, err, &file)
	}
}
