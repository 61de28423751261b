package disk

import (
	"io/fs"
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
