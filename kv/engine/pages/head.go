package pages

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"math"
)

// Size is the size of a page in bytes.
const Size = 8 << 10

// A bbolt file begins with two meta pages, of which the one with the higher transaction counts. Each, behind a page header of
// 16 bytes: magic 4, version 4, page size 4, flags 4, root bucket 16, list of free pages 8, pages in use 8, transaction 8, FNV-1a 8;
// all little-endian.
const (
	metaOffset  = 16
	metaSize    = 64
	metaMagic   = 0xED0CDAED
	metaVersion = 2
)

// Head is what counts of a file's meta pages.
type Head struct {
	root, freelist, pages, tx uint64
}

// Size is how many bytes the file has at least.
func (h Head) Size() int64 { return int64(h.pages) * Size }

// hasFreelist tells whether the file has a list of free pages. Without it bbolt finds them by looking at all pages.
func (h Head) hasFreelist() bool { return h.freelist != math.MaxUint64 }

// ReadHead reads the meta page that counts, the page size that it tells, 0: there is none, and whether both are sound. bbolt itself
// goes on from the sound one. Where that is the older one it shows the state before the latest commit, of which people were told
// that it is kept, so both must be. No power cut leaves half of one: it lies within a sector.
func ReadHead(f io.ReaderAt) (h Head, size uint32, both bool, err error) {
	sound := 0
	for i := range int64(2) {
		meta := make([]byte, metaSize)
		if _, err := f.ReadAt(meta, i*Size+metaOffset); err != nil && err != io.EOF {
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
			h, size = Head{root: number(16), freelist: number(32), pages: number(40), tx: number(48)}, binary.LittleEndian.Uint32(meta[8:])
		}
	}
	return h, size, sound == 2, nil
}
