package kv

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// A bbolt file begins with two meta pages, of which the one with the higher transaction counts. Each, behind a page header of
// 16 bytes: magic 4, version 4, page size 4, flags 4, root bucket 16, freelist 8, pages in use 8, transaction 8, FNV-1a 8; all
// little-endian.
const (
	filePageSize = 8 << 10
	metaOffset   = 16
	metaSize     = 64
	metaMagic    = 0xED0CDAED
)

// guardFile refuses a file that is shorter than its meta page says: bbolt would reach beyond its end, which ends the process.
func guardFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var pages, latest uint64
	for i := range int64(2) {
		meta := make([]byte, metaSize)
		if _, err := f.ReadAt(meta, i*filePageSize+metaOffset); err != nil && err != io.EOF {
			return err
		}
		sum := fnv.New64a()
		sum.Write(meta[:metaSize-8])
		tx := binary.LittleEndian.Uint64(meta[48:])
		if binary.LittleEndian.Uint32(meta) == metaMagic && binary.LittleEndian.Uint64(meta[56:]) == sum.Sum64() && tx >= latest {
			pages, latest = binary.LittleEndian.Uint64(meta[40:]), tx
		}
	}
	if want := int64(pages) * filePageSize; pages == 0 || info.Size() < want {
		return fmt.Errorf("%w: %s has %d bytes, of %d that it should have", ErrCorrupt, path, info.Size(), want)
	}
	return nil
}
