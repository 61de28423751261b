package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"runtime"
	"time"

	bolterrors "go.etcd.io/bbolt/errors"
)

// A bbolt file begins with two meta pages, of which the one with the higher transaction counts. Each, behind a page header of
// 16 bytes: magic 4, version 4, page size 4, flags 4, root bucket 16, freelist 8, pages in use 8, transaction 8, FNV-1a 8; all
// little-endian.
const (
	filePageSize = 8 << 10
	metaOffset   = 16
	metaSize     = 64
	metaMagic    = 0xED0CDAED
	metaVersion  = 2
)

// BadFile is a store's file that cannot be opened as it is. Nothing was changed in it.
type BadFile struct {
	Path   string
	Reason string // what is the matter with the file, as "is empty"; nothing of what is stored
	Backup string // where the newest backup lies, as a sentence of its own; "" = none is known
}

func (b *BadFile) Error() string {
	text := fmt.Sprintf("the file %s %s", b.Path, b.Reason)
	if b.Backup != "" {
		text += "; " + b.Backup
	}
	return text
}

// Is makes a BadFile an ErrCorrupt.
func (b *BadFile) Is(target error) bool { return target == ErrCorrupt }

// blamed is an error of a store, by the name of the file that is the cause and the newest backup of what is in it.
func blamed(c Config, err error) error {
	var bad *BadFile
	switch {
	case errors.As(err, &bad):
	case errors.Is(err, ErrCorrupt), errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum):
		bad = &BadFile{Path: Path(c.Dir), Reason: fmt.Sprintf("is damaged: %v", err)}
	case errors.Is(err, ErrNewerFormat):
		return fmt.Errorf("the file %s: %w", Path(c.Dir), err)
	case errors.Is(err, fs.ErrPermission):
		return barred(err)
	default:
		return err
	}
	bad.Backup = NewestBackup(c.Dir, c.Zone)
	return bad
}

// barred is an error of a file that this process may not use as it must.
func barred(err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err
	}
	wants := "whoever runs doorward must be able to read and write it"
	if info, err := os.Stat(path.Path); err == nil {
		wants += fmt.Sprintf(", and its mode is %04o", info.Mode().Perm())
	}
	return fmt.Errorf("the file %s: %w: %s", path.Path, path.Err, wants)
}

// Blamed is an error that the store answered, for whoever owns its file: damage comes as a *BadFile.
func (s *Store) Blamed(err error) error { return blamed(Config{Dir: s.dir, Zone: s.zone}, err) }

// brokenBy is what a panic says of the file that was being read. bbolt's own words may hold keys, which are nobody's to read.
func brokenBy(found any) error {
	if fault, ok := found.(runtime.Error); ok {
		return fmt.Errorf("%w: its structure is broken: %w", ErrCorrupt, fault)
	}
	return fmt.Errorf("%w: its structure is broken", ErrCorrupt)
}

// head is what counts of a file's meta pages.
type head struct {
	root, pages, tx uint64
}

// guardFile refuses a file that bbolt would not open but die of: one that is shorter than its meta page says, or whose pages lead
// beyond its end or to each other. It is opened with a flag, and nobody else has it open meanwhile: *BadFile, ErrInUse.
func guardFile(path string, flag int) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	bad := func(format string, args ...any) error {
		return &BadFile{Path: path, Reason: fmt.Sprintf(format, args...)}
	}
	if !info.Mode().IsRegular() {
		return bad("is no file")
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := lockPatiently(f); err != nil {
		return err
	}
	if info, err = f.Stat(); err != nil {
		return err
	}
	h, size, both, err := readHead(f)
	switch {
	case err != nil:
		return err
	case info.Size() == 0:
		return bad("is empty")
	case size == 0:
		return bad("is no store, or both of its heads are damaged")
	case size != filePageSize:
		return bad("is a store of another program: its pages have %d bytes", size)
	case info.Size() < int64(h.pages)*filePageSize:
		return bad("has been cut short: it has %d bytes, of %d that it should have", info.Size(), int64(h.pages)*filePageSize)
	case !locks:
		return nil // somebody may be writing: bbolt takes its lock first, and looks then
	case !both:
		return bad("is damaged: of its two heads one cannot be read, so its latest commit may be missing")
	}
	reason, err := (&pageWalk{file: f, pages: h.pages}).from(h.root)
	if err == nil && reason != "" {
		err = bad("is damaged: %s", reason)
	}
	return err
}

// readHead reads the meta page that counts, the page size that it tells, 0: there is none, and whether both are sound. bbolt itself
// goes on from the sound one. Where that is the older one it shows the state before the latest commit, of which people were told
// that it is kept, so both must be. No power cut leaves half of one: it lies within a sector.
func readHead(f io.ReaderAt) (h head, size uint32, both bool, err error) {
	sound := 0
	for i := range int64(2) {
		meta := make([]byte, metaSize)
		if _, err := f.ReadAt(meta, i*filePageSize+metaOffset); err != nil && err != io.EOF {
			return h, 0, false, err
		}
		sum := fnv.New64a()
		sum.Write(meta[:metaSize-8])
		number := func(at int) uint64 { return binary.LittleEndian.Uint64(meta[at:]) }
		if number(0) != metaMagic|metaVersion<<32 || number(56) != sum.Sum64() {
			continue
		}
		sound++
		if number(48) >= h.tx {
			h, size = head{number(16), number(40), number(48)}, binary.LittleEndian.Uint32(meta[8:])
		}
	}
	return h, size, sound == 2, nil
}

// lockPatiently waits a while for another process to let go of a file: ErrInUse.
func lockPatiently(f *os.File) error {
	for end := time.Now().Add(lockPatience); ; time.Sleep(20 * time.Millisecond) {
		if err := lockFile(f); !errors.Is(err, ErrInUse) || time.Now().After(end) {
			return err
		}
	}
}
