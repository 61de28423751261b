package disk

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Image is what was found on a disk after a power cut: a file, or a folder of them. A file with two names is there twice.
type Image struct {
	mode    fs.FileMode
	content content
	names   map[string]*Image // of a folder
}

// Find is the file or folder that a path of names leads to; nil where there is none.
func (i *Image) Find(names ...string) *Image {
	for _, name := range names {
		if i == nil {
			return nil
		}
		i = i.names[name]
	}
	return i
}

// Names are those in a folder, in order.
func (i *Image) Names() []string { return slices.Sorted(maps.Keys(i.names)) }

// Bytes is what a file holds.
func (i *Image) Bytes() []byte {
	data := make([]byte, i.content.size)
	i.content.read(data, 0)
	return data
}

// Write makes plain files of an image below a folder that is not there yet. Sockets are left out.
func (i *Image) Write(path string) error { return i.write(path, map[*Image]string{}) }

func (i *Image) write(path string, written map[*Image]string) error {
	if i.names == nil {
		if i.mode.Type() != 0 {
			return nil
		}
		if first, ok := written[i]; ok {
			return os.Link(first, path)
		}
		written[i] = path
		return i.writeFile(path)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	for _, name := range i.Names() {
		if err := i.names[name].write(filepath.Join(path, name), written); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file with the holes that it has.
func (i *Image) writeFile(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for number, b := range i.content.blocks {
		at := number * blockSize
		if n := min(blockSize, i.content.size-at); n > 0 {
			if _, err := f.WriteAt(b[:n], at); err != nil {
				return err
			}
		}
	}
	return f.Truncate(i.content.size)
}

// Disk makes a disk that holds an image, durably, to go on from.
func (i *Image) Disk(c Config) *Disk {
	d := New(c)
	d.take(d.Root(), i, map[*Image]*File{})
	for _, f := range d.files[1:] {
		d.events = append(d.events, event{Do: synced, Inode: f.inode, Before: len(d.events)})
	}
	return d
}

func (d *Disk) take(folder *File, i *Image, known map[*Image]*File) {
	for _, name := range i.Names() {
		of := i.names[name]
		if f := known[of]; f != nil {
			d.link(f, folder, name)
			continue
		}
		f, _ := d.make(folder, name, of.mode) // there is none of that name
		known[of] = f
		if of.names != nil {
			d.take(f, of, known)
			continue
		}
		for _, number := range slices.Sorted(maps.Keys(of.content.blocks)) {
			d.put(f, of.content.blocks[number][:], number*blockSize)
		}
		d.resize(f, of.content.size)
	}
}

// Without is a folder without one of its names.
func (i *Image) Without(name string) *Image {
	rest := *i
	rest.names = maps.Clone(i.names)
	delete(rest.names, name)
	return &rest
}
