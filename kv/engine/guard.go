package engine

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"doorward/kv/disk"
)

// A bbolt file begins with two meta pages, of which the one with the higher transaction counts. Each, behind a page header of
// 16 bytes: magic 4, version 4, page size 4, flags 4, root bucket 16, freelist 8, pages in use 8, transaction 8, FNV-1a 8; all
// little-endian.
const (
	pageSize    = 8 << 10
	metaOffset  = 16
	metaSize    = 64
	metaMagic   = 0xED0CDAED
	metaVersion = 2
)

// head is what counts of a file's meta pages.
type head struct {
	root, pages, tx uint64
}

// guard refuses a file that would end the process in bbolt: one that is shorter than its meta page says, or has a page that leads beyond its end or
// to a page that another leads to. It opens the file with the flag, and no other process has the file open until it returns: *BadFile, disk.ErrInUse.
func guard(path string, flag int) (err error) {
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
	if err := disk.LockWithin(f, lockPatience); err != nil {
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
	case size != pageSize:
		return bad("is a store of another program: its pages have %d bytes", size)
	case info.Size() < int64(h.pages)*pageSize:
		return bad("has been cut short: it has %d bytes, of %d that it should have", info.Size(), int64(h.pages)*pageSize)
	case !disk.Locks:
		return nil // another process may be writing: bbolt takes its lock first, and looks then
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
		if _, err := f.ReadAt(meta, i*pageSize+metaOffset); err != nil && err != io.EOF {
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
