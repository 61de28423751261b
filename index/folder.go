package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"doorward/kv/crash"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// folder is where an index of one mapping lies.
type folder struct {
	root string // of the indexes of all mappings
	name string
}

func (f folder) path() string { return filepath.Join(f.root, f.name) }

// aside is where what is broken waits until it has been rebuilt.
func (f folder) aside() string { return f.root + ".broken" }

// marker is there while the index is being opened: found at the start, it says that opening it ended the process.
func (f folder) marker() string { return filepath.Join(f.root, f.name+".opening") }

// boltFile is the file of bleve's that says which segments make up the index.
const boltFile = "root.bolt"

// open opens the index, having looked at all that lies in the folder. What is damaged gives errBroken, a folder that cannot
// be written another error; fresh tells an index that has followed nothing yet.
func (f folder) open() (e *engine, fresh bool, err error) {
	if info, err := os.Lstat(f.root); err == nil && !info.IsDir() {
		return nil, false, fmt.Errorf("%w: %s is no folder", errBroken, filepath.Base(f.root))
	}
	if err := os.MkdirAll(f.root, 0o700); err != nil {
		return nil, false, err
	}
	if _, err := os.Lstat(f.marker()); err == nil {
		return nil, false, fmt.Errorf("%w: it was being opened when the process ended", errBroken)
	}
	if err := os.WriteFile(f.marker(), nil, 0o600); err != nil {
		return nil, false, err
	}
	err = guarded(func() (err error) {
		if fresh, err = f.inspect(); err == nil {
			e, err = openEngine(f.path(), false)
		}
		return err
	})
	return e, fresh, errors.Join(err, os.Remove(f.marker()))
}

// guarded runs fn on a goroutine of its own, where a fault of memory or a panic of a library is an error: a file that was cut
// short is read beyond its end.
func guarded(fn func() error) error {
	done := make(chan error, 1)
	go func() {
		debug.SetPanicOnFault(true)
		defer func() {
			if found := recover(); found != nil {
				done <- fmt.Errorf("%w: %v", errBroken, found)
			}
		}()
		done <- fn()
	}()
	return <-done
}

// inspect looks at an index before it is used: that its file of segments can be read, that each segment has the checksum that
// it ends with, and that it has a cursor. Then it writes the file of segments again: bleve's goroutines read that file,
// and there a page that is damaged would end the process.
func (f folder) inspect() (fresh bool, err error) {
	switch info, err := os.Lstat(f.path()); {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return false, fmt.Errorf("%w: it is no folder", errBroken)
	}
	if entries, err := os.ReadDir(f.path()); err != nil || len(entries) == 0 {
		return err == nil, err
	}
	if _, err := os.Stat(filepath.Join(f.path(), boltFile)); err != nil {
		return false, fmt.Errorf("%w: %w", errBroken, err)
	}
	e, err := openEngine(f.path(), true)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errBroken, err)
	}
	err = errors.Join(f.check(e), e.close())
	if errors.Is(err, errUnbegun) {
		return true, os.RemoveAll(f.path())
	}
	if err != nil {
		return false, err
	}
	return false, os.Rename(filepath.Join(f.path(), copied), filepath.Join(f.path(), boltFile))
}

// copied is the temporary name of the file of segments that replaces the old one.
const copied = boltFile + ".new"

func (f folder) check(e *engine) error {
	snap, err := e.snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	if _, err := readCursor(snap); err != nil {
		return err
	}
	for _, s := range snap.Segments() {
		file, ok := s.Segment().(segment.PersistedSegment)
		if !ok {
			return errBroken
		}
		if err := checkSum(file.Path()); err != nil {
			return err
		}
	}
	return f.copyBolt(snap)
}

// checkSum compares a segment's file with the checksum that it ends with.
func checkSum(path string) error {
	file, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	cut := len(file) - crc32.Size
	if cut < 0 || crc32.ChecksumIEEE(file[:cut]) != binary.BigEndian.Uint32(file[cut:]) {
		return fmt.Errorf("%w: a segment fails its checksum", errBroken)
	}
	return nil
}

// copyBolt writes a snapshot's file of segments beside the old one.
func (f folder) copyBolt(snap *scorch.IndexSnapshot) error {
	path := filepath.Join(f.path(), copied)
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return snap.CopyTo(boltOnly(path))
}

// boltOnly takes of a copied index only the file of segments, at a path.
type boltOnly string

// GetWriter is where bleve writes a file of the copy; nil = nowhere.
func (b boltOnly) GetWriter(name string) (io.WriteCloser, error) {
	if filepath.Base(name) != boltFile {
		return nil, nil
	}
	return os.OpenFile(string(b), os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
}

// setAside moves away what is broken, in the place of what was moved away before, and with it the marker.
func (f folder) setAside() error {
	broken := f.path()
	if info, err := os.Lstat(f.root); err == nil && !info.IsDir() {
		broken = f.root
	}
	if err := os.RemoveAll(f.aside()); err != nil {
		return err
	}
	crash.At(crash.BeforeAside)
	if err := os.Rename(broken, f.aside()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	crash.At(crash.AfterAside)
	if err := os.Remove(f.marker()); err != nil && !errors.Is(err, fs.ErrNotExist) && broken != f.root {
		return err
	}
	return nil
}

// discard removes a sound index that is of no use.
func (f folder) discard() error { return os.RemoveAll(f.path()) }

// tidy removes what was moved aside and the indexes of other mappings: this one is ready.
func (f folder) tidy() error {
	err := os.RemoveAll(f.aside())
	entries, e := os.ReadDir(f.root)
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), f.name) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(f.root, entry.Name())))
		}
	}
	return errors.Join(err, e)
}
