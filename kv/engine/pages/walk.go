package pages

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"slices"

	"doorward/kv/disk"
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

// Walk looks at every page that a file's head leads to. bbolt follows a branch that leads in a circle until no memory is left, and reads beyond the
// end of the file; where it has to find the free pages itself it ends the process over keys that are out of order. And it
// believes a count that is too small: the rows beyond it are gone without a word, and no checksum of a row can show that.
//
// All this but a wrong count in a leaf shows in the branches and in the list of free pages, which are one page in a hundred. They
// can be looked at before bbolt opens the file, and the leaves beside what the caller reads then (Branches, Leaves).
type Walk struct {
	file  *os.File
	head  Head
	met   []bool // pages that a page leads to, and free ones
	page  []byte // the page that was looked at last
	ahead []byte // pages in a row that were read together
	first uint64 // of them
	whole bool   // they are all pages, mapped
	todo  []pageDue
	later bool                                    // branches above leaves are put off: they go into twigs
	twigs []pageDue                               // their leaves are still to be looked at
	bad   func(page uint64, reason string)        // is told of each damaged page, and the walk goes on; nil = it ends at the first
	row   func(bucket string, key, sealed []byte) // is told of each row of a sound page; nil = rows are not told of
}

// pageDue is a page that has still to be looked at.
type pageDue struct {
	id      uint64
	more    uint64 // pages that it goes on for; known once it was looked at
	parent  uint64 // the branch that leads to it
	buckets bool   // it belongs to the tree of buckets
	name    string // of the bucket that it belongs to otherwise
	from    []byte // its keys are no smaller
	below   []byte // and smaller than this; nil = the last page has any
}

// New makes the walk through the pages that a head leads to.
func New(h Head) *Walk {
	return &Walk{head: h, met: make([]bool, h.pages), todo: []pageDue{{id: h.root, buckets: true}}}
}

// Size is how many bytes of the file hold pages.
func (w *Walk) Size() int64 { return w.head.Size() }

// HasFreelist tells whether the file has a list of free pages. Without it bbolt looks at all pages.
func (w *Walk) HasFreelist() bool { return w.head.hasFreelist() }

// Branches looks at the list of free pages and at all pages but leaves, and answers what does not fit; "" = all does. In a file without the list it
// looks at the leaves too, since bbolt does.
func (w *Walk) Branches(f *os.File) (reason string, err error) {
	w.file = f
	if w.later = w.head.hasFreelist(); w.later {
		if ok, err := w.free(w.take); err != nil || !ok {
			return fmt.Sprintf(fileFaults[unsound], w.head.freelist), err
		}
	}
	return w.run()
}

// Leaves looks at what Branches has put off, and answers what does not fit; "" = all does. It maps the file where the system can: the caller turns a
// fault of the mapped memory into an error. Where the file has another head by now the error is disk.ErrInUse.
func (w *Walk) Leaves(path string) (reason string, err error) {
	if len(w.twigs) == 0 {
		return "", nil
	}
	f, err := disk.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	h, _, _, err := ReadHead(f)
	if err == nil && h != w.head {
		err = disk.ErrInUse // another process has written since Branches looked
	}
	if err != nil {
		return "", err
	}
	w.file, w.later, w.first, w.ahead = f, false, 0, nil
	if all, unmap, err := disk.Map(f, h.Size()); err == nil { // otherwise it is read
		w.ahead, w.whole = all, true
		defer func() { _ = unmap() }() // it was only read
	}
	return w.visitTwigs()
}

// visitTwigs looks at the leaves of the branches that were put off.
func (w *Walk) visitTwigs() (reason string, err error) {
	for _, due := range w.twigs {
		clear(w.met[due.id : due.id+due.more+1])
		if wrong, err := w.visit(due); err != nil || wrong != fits {
			return fmt.Sprintf(fileFaults[wrong], due.id), err
		}
		for _, leaf := range w.todo {
			w.met[leaf.id] = false // this branch alone leads to it
		}
		if reason, err = w.run(); err != nil || reason != "" {
			return reason, err
		}
	}
	return "", nil
}

// All looks at all pages, tells bad of each that is damaged, and met of each row of a sound page.
func (w *Walk) All(f *os.File, bad func(page uint64, reason string), met func(bucket string, key, sealed []byte)) {
	w.file, w.bad, w.row = f, bad, met
	_, _ = w.run() // each error was told
	if !w.head.hasFreelist() {
		return
	}
	if ok, err := w.free(func(id uint64) bool { return !w.met[id] }); err != nil || !ok {
		w.bad(w.head.freelist, pageFaults[unsound])
	}
}

// run looks at the pages that are due, and at those that they lead to.
func (w *Walk) run() (reason string, err error) {
	for len(w.todo) > 0 {
		due := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		first := len(w.todo)
		wrong, err := w.visit(due)
		if w.later && err == nil && wrong == fits && !due.buckets && first < len(w.todo) {
			wrong, err = w.putOff(due, first)
		}
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

// putOff has a branch looked at later, where the pages that it leads to are leaves: all are if the first is one. That no branch leads to them, and
// that they are not free, is certain now.
func (w *Walk) putOff(due pageDue, first int) (misfit, error) {
	children := w.todo[first:]
	if child := children[0].id; child < w.head.pages {
		kind := make([]byte, 2)
		if _, err := w.file.ReadAt(kind, int64(child)*Size+8); err != nil || binary.LittleEndian.Uint16(kind) != leafPage {
			return fits, err
		}
	}
	for _, c := range children {
		switch {
		case c.id >= w.head.pages:
			return outside, nil
		case !w.take(c.id):
			return twice, nil
		}
	}
	due.more, w.todo = number4(w.page[12:]), w.todo[:first]
	w.twigs = append(w.twigs, due)
	return fits, nil
}

// take notes that a page is led to. It tells whether that is the first time.
func (w *Walk) take(id uint64) (first bool) {
	first = !w.met[id]
	w.met[id] = true
	return first
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
func (w *Walk) visit(due pageDue) (wrong misfit, err error) {
	if due.id < 2 || due.id >= w.head.pages {
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
func (w *Walk) look(due pageDue) (fits bool, err error) {
	if w.page, err = w.read(due.id); err != nil {
		return false, err
	}
	more := number4(w.page[12:])
	if due.id+more >= w.head.pages {
		return false, nil
	}
	size := (more + 1) * Size
	switch {
	case more == 0:
	case w.whole:
		w.page = w.ahead[due.id*Size : due.id*Size+size]
	default:
		w.page = make([]byte, size)
		if _, err := w.file.ReadAt(w.page, int64(due.id)*Size); err != nil {
			return false, err
		}
	}
	if slices.Contains(w.met[due.id+1:due.id+more+1], true) {
		return false, nil
	}
	first := len(w.todo)
	end, fits := w.elements(w.page[:size], due)
	if !fits || (end-1)/Size != more {
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

// readAhead is how many pages are read together at most.
const readAhead = 32

// read reads a page, together with those behind it where they are due next. The memory is good until the next call.
func (w *Walk) read(id uint64) ([]byte, error) {
	if id < w.first || id-w.first >= uint64(len(w.ahead))/Size {
		n := uint64(1)
		for i := len(w.todo) - 1; i >= 0 && n < readAhead && w.todo[i].id == id+n && id+n < w.head.pages; i-- {
			n++
		}
		if err := w.readRow(id, n); err != nil && w.readRow(id, 1) != nil { // of several another may be the one that cannot be read
			return nil, err
		}
	}
	at := (id - w.first) * Size
	return w.ahead[at : at+Size], nil
}

// readRow reads pages that lie in a row.
func (w *Walk) readRow(first, n uint64) error {
	if cap(w.ahead) == 0 {
		w.ahead = make([]byte, 0, readAhead*Size)
	}
	w.first, w.ahead = first, w.ahead[:n*Size]
	_, err := w.file.ReadAt(w.ahead, int64(first)*Size)
	if err != nil {
		w.ahead = w.ahead[:0]
	}
	return err
}

// tell tells of the rows of a page that is of a piece, and of those of the buckets that lie in it.
func (w *Walk) tell(page []byte, due pageDue) {
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
func (w *Walk) elements(page []byte, due pageDue) (end uint64, fits bool) {
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
func (w *Walk) leads(e element, due pageDue, key, value []byte) (fits bool) {
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
func (w *Walk) bucket(name, value []byte) (fits bool) {
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

// free calls fn with the number of each page that the list of free pages takes or names, in order, and answers whether the list is of a piece, and fn has
// found each to be free. A list is a page with flags 16: behind its head the numbers of free pages, 8 each, rising. Where there are more than 65,534
// the count says 65,535, and the first number is how many follow.
func (w *Walk) free(fn func(id uint64) bool) (fits bool, err error) {
	const listPage, many = 16, 0xffff
	at, pages := w.head.freelist, w.head.pages
	head := make([]byte, pageHead+8)
	if at < 2 || at >= pages {
		return false, nil
	}
	if _, err := w.file.ReadAt(head, int64(at)*Size); err != nil {
		return false, err
	}
	more, n, begin := number4(head[12:]), uint64(binary.LittleEndian.Uint16(head[10:])), uint64(pageHead)
	if n == many {
		n, begin = binary.LittleEndian.Uint64(head[pageHead:]), pageHead+8
	}
	if binary.LittleEndian.Uint64(head) != at || binary.LittleEndian.Uint16(head[8:]) != listPage || at+more >= pages || n > pages || begin+8*n > (more+1)*Size {
		return false, nil
	}
	numbers := make([]byte, 8*n)
	if _, err := w.file.ReadAt(numbers, int64(at*Size+begin)); err != nil {
		return false, err
	}
	for id := at; id <= at+more; id++ {
		if !fn(id) {
			return false, nil
		}
	}
	for last := uint64(1); len(numbers) > 0; numbers = numbers[8:] {
		id := binary.LittleEndian.Uint64(numbers)
		if id <= last || id >= pages || !fn(id) {
			return false, nil
		}
		last = id
	}
	return true, nil
}
