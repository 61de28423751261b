package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
)

// A page begins with its own number 8, flags 2, count 2, and how many pages it goes on for 4. Then come its elements, of a
// branch: position of the key 4, its length 4, page 8; of a leaf: flags 4, position of key and value 4, their lengths 4 and 4. A
// position counts from the element's beginning; keys and values lie behind the last element, in order and without a gap. The first
// tree's values are buckets: first page of the bucket's own tree 8, a sequence 8; where that page is 0 its one leaf lies in the value.
// All little-endian.
const (
	pageHead   = 16
	elementLen = 16
	branchPage = 1
	leafPage   = 2
	bucketRow  = 1
	bucketHead = 16
)

// pageWalk looks at every page that a file's first one leads to, as bbolt does when it opens the file: where it finds a page that
// leads out of the file, or keys out of order, it ends the process, and not from a goroutine that anybody else could guard. And it
// believes a count that is too small: the rows beyond it are gone without a word, and no checksum of a row can show that.
type pageWalk struct {
	file  *os.File
	pages uint64 // as many as are in use
	root  uint64 // where Inspect begins
	met   []bool
	page  []byte
	todo  []pageDue
	bad   func(page uint64, reason string)        // is told of each damaged page, and the walk goes on; nil = it ends at the first
	row   func(bucket string, key, sealed []byte) // is told of each row of a sound page; nil = rows are not told of
}

// pageDue is a page that has still to be looked at.
type pageDue struct {
	id      uint64
	parent  uint64 // the branch that leads to it
	buckets bool   // it belongs to the tree of buckets
	name    string // of the bucket that it belongs to otherwise
	from    []byte // its keys are no smaller
	below   []byte // and smaller than this; nil = the last page has any
}

// from walks from a page on, and answers what does not fit; "" = all does.
func (w *pageWalk) from(root uint64) (reason string, err error) {
	w.met, w.page, w.todo = make([]bool, w.pages), make([]byte, pageSize), append(w.todo, pageDue{id: root, buckets: true})
	for len(w.todo) > 0 {
		due := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		wrong, err := w.visit(due)
		switch {
		case w.bad != nil && err != nil:
			w.bad(due.id, "cannot be read") // a disk may fail in one place, and a file end before it
		case w.bad != nil && wrong != fits:
			w.bad(due.id, pageFaults[wrong])
		case err != nil || wrong != fits:
			return fmt.Sprintf(fileFaults[wrong], due.id), err
		}
	}
	return "", nil
}

// misfit is what is wrong with a page.
type misfit int

const (
	fits misfit = iota
	outside
	twice
	unsound
)

// What is wrong with a file because of a page, and with the page.
var (
	fileFaults = [...]string{outside: "it has no page %d, to which another leads", twice: "more than one way leads to page %d", unsound: "page %d is none"}
	pageFaults = [...]string{outside: "is not in the file, and another page leads to it", twice: "is led to by more than one page", unsound: "is damaged: nothing in it can be trusted"}
)

// visit looks at one page.
func (w *pageWalk) visit(due pageDue) (wrong misfit, err error) {
	if due.id < 2 || due.id >= w.pages {
		return outside, nil
	}
	if w.met[due.id] {
		return twice, nil
	}
	w.met[due.id] = true
	first := len(w.todo)
	if ok, err := w.look(due); err != nil || !ok {
		w.todo = w.todo[:first]      // where a damaged page leads is not known
		w.met[due.id] = w.bad == nil // another may lead here rightly
		return unsound, err
	}
	return fits, nil
}

// look reads a page, notes where it leads, and tells whether it is of a piece.
func (w *pageWalk) look(due pageDue) (fits bool, err error) {
	at := int64(due.id) * pageSize
	if _, err := w.file.ReadAt(w.page[:pageSize], at); err != nil {
		return false, err
	}
	more := number4(w.page[12:])
	if due.id+more >= w.pages {
		return false, nil
	}
	size := (more + 1) * pageSize
	if size > uint64(len(w.page)) {
		w.page = make([]byte, size)
	}
	if more > 0 {
		if _, err := w.file.ReadAt(w.page[:size], at); err != nil {
			return false, err
		}
	}
	if slices.Contains(w.met[due.id+1:due.id+more+1], true) {
		return false, nil
	}
	first := len(w.todo)
	end, fits := w.elements(w.page[:size], due)
	if !fits || (end-1)/pageSize != more {
		return false, nil
	}
	for i := due.id + 1; i <= due.id+more; i++ {
		w.met[i] = true
	}
	slices.Reverse(w.todo[first:]) // the first page is the next: pages that were written in order are read in order
	if w.row != nil {
		w.tell(w.page[:size], due)
	}
	return true, nil
}

// tell tells of the rows of a page that is of a piece, and of those of the buckets that lie in it.
func (w *pageWalk) tell(page []byte, due pageDue) {
	if binary.LittleEndian.Uint16(page[8:]) != leafPage {
		return
	}
	for i := range int(binary.LittleEndian.Uint16(page[10:])) {
		at := pageHead + i*elementLen
		e := element{bytes: page[at : at+elementLen], leaf: true}
		begin := uint64(at) + e.position()
		key, value := page[begin:begin+e.key()], page[begin+e.key():begin+e.key()+e.value()]
		switch {
		case !due.buckets:
			w.row(due.name, key, value)
		case binary.LittleEndian.Uint64(value) == 0:
			w.tell(value[bucketHead:], pageDue{name: string(key)})
		}
	}
}

// elements looks at what a page has, notes where it leads, and answers where that ends.
func (w *pageWalk) elements(page []byte, due pageDue) (end uint64, fits bool) {
	flags, count := binary.LittleEndian.Uint16(page[8:]), int(binary.LittleEndian.Uint16(page[10:]))
	if binary.LittleEndian.Uint64(page) != due.id || flags != branchPage && flags != leafPage {
		return 0, false
	}
	if count == 0 && due.id != 0 {
		return 0, false // what is empty lies in its bucket's value
	}
	end = uint64(pageHead + count*elementLen)
	if end > uint64(len(page)) {
		return 0, false
	}
	var last []byte
	for i := range count {
		at := pageHead + i*elementLen
		e := element{bytes: page[at : at+elementLen], leaf: flags == leafPage}
		begin, value := end, end+e.key()
		end = value + e.value()
		if uint64(at)+e.position() != begin || end > uint64(len(page)) {
			return 0, false
		}
		key := page[begin:value]
		if c := bytes.Compare(key, last); len(key) == 0 || i == 0 && bytes.Compare(key, due.from) < 0 || i > 0 && c <= 0 {
			return 0, false
		}
		last = key
		if !w.leads(e, due, key, page[value:end]) {
			return 0, false
		}
	}
	return end, due.below == nil || bytes.Compare(last, due.below) < 0
}

// leads notes where an element leads.
func (w *pageWalk) leads(e element, due pageDue, key, value []byte) (fits bool) {
	if !e.leaf {
		key = bytes.Clone(key)
		if n := len(w.todo); n > 0 && w.todo[n-1].parent == due.id {
			w.todo[n-1].below = key
		}
		w.todo = append(w.todo, pageDue{id: binary.LittleEndian.Uint64(e.bytes[8:]), parent: due.id, buckets: due.buckets, name: due.name, from: key, below: due.below})
		return true
	}
	flags := number4(e.bytes)
	if flags > bucketRow || (flags == bucketRow) != due.buckets {
		return false
	}
	return !due.buckets || w.bucket(key, value)
}

// element is one of a page's table.
type element struct {
	bytes []byte
	leaf  bool
}

func (e element) position() uint64 {
	if e.leaf {
		return number4(e.bytes[4:])
	}
	return number4(e.bytes)
}

func (e element) key() uint64 {
	if e.leaf {
		return number4(e.bytes[8:])
	}
	return number4(e.bytes[4:])
}

func (e element) value() uint64 {
	if e.leaf {
		return number4(e.bytes[12:])
	}
	return 0
}

func number4(b []byte) uint64 { return uint64(binary.LittleEndian.Uint32(b)) }

// bucket notes where a bucket leads, or looks at the leaf that lies in it.
func (w *pageWalk) bucket(name, value []byte) (fits bool) {
	if len(value) < bucketHead {
		return false
	}
	root := binary.LittleEndian.Uint64(value)
	if root != 0 {
		w.todo = append(w.todo, pageDue{id: root, name: string(name)})
		return true
	}
	leaf := value[bucketHead:]
	if len(leaf) < pageHead || binary.LittleEndian.Uint16(leaf[8:]) != leafPage || number4(leaf[12:]) != 0 {
		return false
	}
	end, fits := w.elements(leaf, pageDue{})
	return fits && end == uint64(len(leaf))
}
