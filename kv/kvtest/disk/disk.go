package disk

import (
	"io/fs"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Config says what goes wrong with a disk. Nothing does by itself.
type Config struct {
	// Sync is asked before each sync, with the names that lead there, and may take its time; what it answers is the sync's error.
	Sync func(path string) error
	// Take is asked before each write and answers how many of its n bytes, at least one, are written at once.
	Take func(path string, n int) int
	// Lacks says what the file system does not know.
	Lacks Lacks
}

// Lacks is what a file system lacks that those of a computer's own disks know: that of a stick, of another machine, of an encrypted folder.
type Lacks struct {
	FolderSync syscall.Errno // is the error of a folder's sync; 0 = folders are synced
	Chmod      syscall.Errno // is the error of a change of a mode
	Modes      bool          // all has the mode 0777, and a change of it does nothing
	Locks      bool          // no file can be locked
	Sockets    bool          // no socket can be made
	Room       bool          // the answer to a question for room is zeros
}

// Disk is a tree of files that notes what is done to it.
type Disk struct {
	config Config
	mu     sync.Mutex
	files  []*File // by inode; 0 is none
	events []event
	room   int64 // bytes for new blocks; less than 0 = any
	shown  int64 // what the answer to a question for room says
}

// File is a file, a folder or a socket.
type File struct {
	inode   int
	mode    fs.FileMode
	changed time.Time
	content content
	names   map[string]*File // of a folder
	links   int
	name    string // the one that it was given last
	folder  *File  // where that name stands
}

// New makes an empty disk.
func New(c Config) *Disk {
	d := &Disk{config: c, files: []*File{nil}, room: -1, shown: -1}
	d.add(fs.ModeDir | 0o700).links = 1
	return d
}

// Root is the folder that holds everything.
func (d *Disk) Root() *File { return d.files[1] }

// Position is how many things have been done: a place to cut the power at.
func (d *Disk) Position() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.events)
}

// SetRoom says how many bytes there are for new blocks, and how many the disk says there are: less than 0 for as many as one likes.
func (d *Disk) SetRoom(room, shown int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room, d.shown = room, shown
}

func (d *Disk) add(mode fs.FileMode) *File {
	f := &File{inode: len(d.files), mode: mode, changed: time.Now()}
	if mode.IsDir() {
		f.names = map[string]*File{}
	}
	d.files = append(d.files, f)
	d.events = append(d.events, event{Do: made, Inode: f.inode, Mode: mode})
	return f
}

// path is the names that lead to a file.
func (f *File) path() string {
	if f.folder == nil {
		return ""
	}
	if above := f.folder.path(); above != "" {
		return above + "/" + f.name
	}
	return f.name
}

// lookup finds a name in a folder; nil where there is none.
func (d *Disk) lookup(folder *File, name string) *File {
	d.mu.Lock()
	defer d.mu.Unlock()
	return folder.names[name]
}

// make makes a file, folder or socket.
func (d *Disk) make(folder *File, name string, mode fs.FileMode) (*File, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if folder.names[name] != nil {
		return nil, syscall.EEXIST
	}
	f := d.add(mode)
	d.bind(folder, name, f)
	d.note(binding{folder.inode, name, f.inode})
	return f, 0
}

// link gives a file a further name.
func (d *Disk) link(f, folder *File, name string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if folder.names[name] != nil {
		return syscall.EEXIST
	}
	d.bind(folder, name, f)
	d.note(binding{folder.inode, name, f.inode})
	return 0
}

// remove takes a name away.
func (d *Disk) remove(folder *File, name string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := folder.names[name]
	switch {
	case f == nil:
		return syscall.ENOENT
	case len(f.names) > 0:
		return syscall.ENOTEMPTY
	}
	d.bind(folder, name, nil)
	d.note(binding{folder.inode, name, 0})
	return 0
}

// rename moves a name, over whatever is there.
func (d *Disk) rename(folder *File, name string, to *File, next string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := folder.names[name]
	switch old := to.names[next]; {
	case f == nil:
		return syscall.ENOENT
	case old == f:
		return 0 // two names of one file: nothing happens
	case old != nil && len(old.names) > 0:
		return syscall.ENOTEMPTY
	}
	d.bind(to, next, f)
	d.bind(folder, name, nil)
	f.name, f.folder = next, to
	d.note(binding{to.inode, next, f.inode}, binding{folder.inode, name, 0})
	return 0
}

func (d *Disk) note(names ...binding) { d.events = append(d.events, event{Do: named, Names: names}) }

// bind has a name lead to a file, or to none.
func (d *Disk) bind(folder *File, name string, f *File) {
	if old := folder.names[name]; old != nil {
		if old.links--; old.links == 0 && d.room >= 0 {
			d.room += int64(len(old.content.blocks)) * blockSize
		}
	}
	if f == nil {
		delete(folder.names, name)
		return
	}
	folder.names[name] = f
	f.links++
	f.name, f.folder = name, folder
}

// write writes to a file, as much as Take lets it and there is room for.
func (d *Disk) write(f *File, data []byte, at int64) (int, syscall.Errno) {
	if len(data) == 0 {
		return 0, 0
	}
	if d.config.Take != nil {
		data = data[:d.config.Take(d.pathOf(f), len(data))]
	}
	if n := d.put(f, data, at); n > 0 {
		return n, 0
	}
	return 0, syscall.ENOSPC
}

// put writes as much as there is room for.
func (d *Disk) put(f *File, data []byte, at int64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := f.content.write(data, at, &d.room)
	if n == 0 {
		return 0
	}
	f.changed = time.Now()
	d.events = append(d.events, event{Do: written, Inode: f.inode, At: at, Data: slices.Clone(data[:n])})
	return n
}

func (d *Disk) pathOf(f *File) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return f.path()
}

func (d *Disk) read(f *File, data []byte, at int64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return f.content.read(data, at)
}

// resize sets a file's size.
func (d *Disk) resize(f *File, size int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.content.cut(size)
	f.changed = time.Now()
	d.events = append(d.events, event{Do: cutTo, Inode: f.inode, At: size})
}

// sync makes durable what was done to a file, or a folder's names, before it.
func (d *Disk) sync(f *File) (err error) {
	before := d.Position()
	if d.config.Sync != nil {
		err = d.config.Sync(d.pathOf(f))
	}
	done := synced
	if err != nil {
		done = syncFailed
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, event{Do: done, Inode: f.inode, Before: before})
	return err
}

// deed is what was done.
type deed byte

const (
	made       deed = iota // a file, folder or socket, which has no name yet
	written                // data at an offset
	cutTo                  // a file's size was set
	named                  // names lead elsewhere now, all at once
	synced                 // a file or folder, with what was done to it before event Before
	syncFailed             // the same, in vain
)

// event is one thing that was done to a disk. Its fields are those of its deed.
type event struct {
	Do     deed
	Inode  int
	Mode   fs.FileMode
	At     int64 // offset, or size
	Data   []byte
	Names  []binding
	Before int
}

// binding is a name in a folder and the inode it leads to; 0 = none any more.
type binding struct {
	Folder int
	Name   string
	Inode  int
}

// blockSize is how much of a file has room of its own; SectorSize is what a disk writes whole or not at all.
const (
	blockSize  = 4096
	SectorSize = 512
)

type block = [blockSize]byte

// content is what a file holds. What was never written is zeros and takes no room. Copies share their blocks, which are
// therefore never changed.
type content struct {
	size   int64
	blocks map[int64]*block
}

func (c *content) clone() content { return content{c.size, maps.Clone(c.blocks)} }

// write puts data at an offset, and answers how many bytes the room for new blocks, less than 0 for any, was enough for.
func (c *content) write(data []byte, at int64, room *int64) (n int) {
	for n < len(data) {
		number, within := (at+int64(n))/blockSize, (at+int64(n))%blockSize
		old := c.blocks[number]
		if old == nil && !take(room) {
			break
		}
		next := new(block)
		if old != nil {
			*next = *old
		}
		n += copy(next[within:], data[n:])
		if c.blocks == nil {
			c.blocks = map[int64]*block{}
		}
		c.blocks[number] = next
	}
	if n > 0 {
		c.size = max(c.size, at+int64(n))
	}
	return n
}

// take takes room for a block.
func take(room *int64) bool {
	switch {
	case room == nil || *room < 0:
		return true
	case *room < blockSize:
		return false
	}
	*room -= blockSize
	return true
}

// read fills data from an offset on, and answers how much there was.
func (c *content) read(data []byte, at int64) (n int) {
	if at >= c.size {
		return 0
	}
	data = data[:min(int64(len(data)), c.size-at)]
	clear(data)
	for n < len(data) {
		number, within := (at+int64(n))/blockSize, (at+int64(n))%blockSize
		step := min(blockSize-int(within), len(data)-n)
		if b := c.blocks[number]; b != nil {
			copy(data[n:n+step], b[within:])
		}
		n += step
	}
	return n
}

// cut makes the file as long as size: what is beyond is gone, and zeros if the file grows again.
func (c *content) cut(size int64) {
	if size < c.size {
		for number := range c.blocks {
			if number*blockSize >= size {
				delete(c.blocks, number)
			}
		}
		if b := c.blocks[size/blockSize]; b != nil {
			next := *b
			clear(next[size%blockSize:])
			c.blocks[size/blockSize] = &next
		}
	}
	c.size = size
}
