package folder

import (
	"errors"
	"strings"
	"testing"

	"doorward/kv/disk"
)

// TestWhatIsHalfWrittenIsNotTriedAgain: replication waits for a store that lacks room, and then begins again. It must not write behind what a
// file has already.
func TestWhatIsHalfWrittenIsNotTriedAgain(t *testing.T) {
	var file strings.Builder
	b := &roomWriter{&file, &Folder{Dir: t.TempDir(), Disk: disk.RoomLimits{Imports: 1 << 60, Creates: 1 << 60}}}
	n, err := b.Write([]byte("a line\n"))
	if n != 0 || err == nil || !strings.Contains(err.Error(), disk.ErrFull.Error()) || errors.Is(err, disk.ErrFull) || file.Len() > 0 {
		t.Errorf("Write on a full disk = %d, %v, and wrote %q, want its words and not the error", n, err, &file)
	}
}
