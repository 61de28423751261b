package kv

import (
	"encoding/binary"
	"fmt"
	"os"
)

// A page begins with its own number 8, flags 2, count 2, and how many pages it goes on for 4. Then come its elements, of a
// branch: position of the key 4, its length 4, page 8; of a leaf: flags 4, position of key and value 4, their lengths 4 and 4. A
// position counts from the element's beginning. A value that is a bucket begins with its first page 8, 0 = it lies in the value,
// and a sequence 8. All little-endian.
const (
	pageHead   = 16
	elementLen = 16
	branchPage = 1
	leafPage   = 2
	bucketRow  = 1
	bucketHead = 16
)

// pageWalk looks at every page that a file's first one leads to, as bbolt does when it opens the file: where it finds a page that
// leads out of the file it ends the process, and not from a goroutine that anybody else could guard.
type pageWalk struct {
	file  *os.File
	pages uint64 // as many as are in use
	met   []bool
	page  []byte
	todo  []uint64
}

// from walks from a page on, and answers what does not fit; "" = all does.
func (w *pageWalk) from(root uint64) (reason string, err error) {
	w.met, w.page, w.todo = make([]bool, w.pages), make([]byte, filePageSize), append(w.todo, root)
	for len(w.todo) > 0 {
		id := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		if id < 2 || id >= w.pages {
			return fmt.Sprintf("it has no page %d, to which another leads", id), nil
		}
		if w.met[id] {
			return fmt.Sprintf("more than one way leads to page %d", id), nil
		}
		w.met[id] = true
		if fits, err := w.look(id); err != nil || !fits {
			return fmt.Sprintf("page %d is none", id), err
		}
	}
	return "", nil
}

// look reads a page, notes where it leads, and tells whether all of it lies within its bounds.
func (w *pageWalk) look(id uint64) (fits bool, err error) {
	at := int64(id) * filePageSize
	if _, err := w.file.ReadAt(w.page[:filePageSize], at); err != nil {
		return false, err
	}
	flags, count := binary.LittleEndian.Uint16(w.page[8:]), int(binary.LittleEndian.Uint16(w.page[10:]))
	more := uint64(binary.LittleEndian.Uint32(w.page[12:]))
	elements := pageHead + count*elementLen
	switch {
	case binary.LittleEndian.Uint64(w.page) != id, flags != branchPage && flags != leafPage, flags == branchPage && count == 0,
		id+more >= w.pages, uint64(elements) > (more+1)*filePageSize:
		return false, nil
	}
	if elements > len(w.page) {
		w.page = make([]byte, elements)
	}
	if elements > filePageSize {
		if _, err := w.file.ReadAt(w.page[:elements], at); err != nil {
			return false, err
		}
	}
	for i := pageHead; i < elements; i += elementLen {
		within := func(pos, length uint64) bool { return uint64(i)+pos+length <= (more+1)*filePageSize }
		if flags == branchPage {
			if !within(w.number(i), w.number(i+4)) {
				return false, nil
			}
			w.todo = append(w.todo, binary.LittleEndian.Uint64(w.page[i+8:]))
			continue
		}
		pos, key, value := w.number(i+4), w.number(i+8), w.number(i+12)
		if !within(pos, key+value) {
			return false, nil
		}
		if w.number(i)&bucketRow != 0 {
			if fits, err := w.bucket(at+int64(i)+int64(pos+key), value); err != nil || !fits {
				return false, err
			}
		}
	}
	return true, nil
}

// number is the 4 bytes at a place in the page.
func (w *pageWalk) number(at int) uint64 { return uint64(binary.LittleEndian.Uint32(w.page[at:])) }

// bucket notes where a value leads that is a bucket.
func (w *pageWalk) bucket(at int64, length uint64) (fits bool, err error) {
	if length < bucketHead {
		return false, nil
	}
	first := make([]byte, 8)
	if _, err := w.file.ReadAt(first, at); err != nil {
		return false, err
	}
	if root := binary.LittleEndian.Uint64(first); root != 0 {
		w.todo = append(w.todo, root)
	}
	return true, nil
}
