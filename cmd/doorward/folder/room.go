package folder

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"doorward/kv/backup"
	"doorward/kv/table"
)

// CheckRoom refuses to write so many bytes to the store's disk if a server would then lack room.
func (f *Folder) CheckRoom(what string, bytes int64) error {
	disk := f.Disk
	return table.Config{Dir: f.Dir, Disk: &disk}.Room().CheckFile(what, bytes)
}

// Write writes a file out of the store, as backup.Write does. On the store's own disk it stops before a server would lack room.
func (f *Folder) Write(ctx context.Context, name string, write func(io.Writer) error) error {
	if !f.sharesDisk(name) {
		return backup.Write(ctx, name, write)
	}
	if err := f.CheckRoom("an export", 0); err != nil {
		return err
	}
	return backup.Write(ctx, name, func(w io.Writer) error { return write(&roomWriter{w, f}) })
}

// roomWriter writes to the store's own disk while that has room.
type roomWriter struct {
	io.Writer
	folder *Folder
}

// Write writes, or returns the text of disk.ErrFull as another error: replication tries again after disk.ErrFull, and a file that is
// half written must not be continued.
func (w *roomWriter) Write(b []byte) (int, error) {
	if err := w.folder.CheckRoom("an export", int64(len(b))); err != nil {
		return 0, errors.New(err.Error())
	}
	return w.Writer.Write(b)
}

// sharesDisk reports whether a file to write lies on the folder's disk. A pipe or another device takes no room.
func (f *Folder) sharesDisk(file string) bool {
	if info, err := os.Stat(file); err == nil {
		if real, err := filepath.EvalSymlinks(file); err == nil {
			file = real
		}
		if !info.Mode().IsRegular() {
			return false
		}
	}
	return sameDisk(f.Dir, filepath.Dir(file))
}
