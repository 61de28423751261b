package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A file system that tells its disk which blocks are free tells it of a whole file at once, and the sync of each commit waits for that: up to 70 ms were
// seen for a file of 700 MiB. So the blocks of a large file are freed in pieces, as RocksDB does.
const (
	leavingFrom  = 64 << 20 // from this size on a file is large
	leavingPiece = 16 << 20 // freed at once
	leavingMost  = 100      // pieces of one file
	leavingPause = 10 * time.Millisecond
	leavingEnds  = 3 * time.Second // afterwards the rest is freed at once: nothing waits for longer
)

// Leaving is a large file that is about to lose its name. The zero Leaving is a file that is not large, or not there.
type Leaving struct{ file *os.File }

// Leave opens a file before it is removed, or before another file takes its name. The caller calls Free afterwards.
func Leave(path string) Leaving {
	info, err := os.Lstat(path)
	if err != nil || info.Size() < leavingFrom {
		return Leaving{}
	}
	return Leaving{openLeaving(path)}
}

// Unlinked is a file that Unnamed has made, to be freed and closed.
func Unlinked(f *os.File) Leaving { return Leaving{f} }

// Free frees the blocks of the file in pieces. It frees nothing if the file has a name still, or is open elsewhere. durably tells that the disk holds the
// folder without the file: after a power cut the file may have its name again.
func (l Leaving) Free(durably bool) {
	if l.file == nil {
		return
	}
	if durably && isLeft(l.file) {
		l.shorten()
	}
	_ = l.file.Close() // this frees what is left
}

// shorten cuts one piece after the other off the file. It ends at the first error, because the file's end frees the rest.
func (l Leaving) shorten() {
	info, err := l.file.Stat()
	if err != nil {
		return
	}
	size := info.Size()
	piece := max(leavingPiece, size/leavingMost)
	for end := time.Now().Add(leavingEnds); err == nil && size > piece && time.Now().Before(end); {
		size -= piece
		err = errors.Join(l.file.Truncate(size), l.file.Sync())
		time.Sleep(leavingPause)
	}
}

// Remove removes a file. It is os.Remove for files of any size beside the commits of doors.
func Remove(path string) error {
	defer Leave(path).Free(true)
	return os.Remove(path)
}

// RemoveAll removes a file or a folder. It is os.RemoveAll for files of any size beside the commits of doors.
func RemoveAll(path string) error {
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			_ = Remove(name) // os.RemoveAll returns the error
		}
		return nil
	})
	return os.RemoveAll(path)
}
