package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"doorward/kv/crash"
	"doorward/kv/disk"
)

// ErrReadTwice is a copy that differs from its source.
var ErrReadTwice = errors.New("it was read twice, and was not the same: is the disk sound?")

// Put moves a synced file to its place, and writes its manifest beside it. If to is a link, the place is where it leads. Both files are whole
// before they replace others. If the place is on another disk, Put copies the file; it returns ErrReadTwice if the copy has another SHA-256. If
// the file cannot be put, an older one keeps its manifest. doubt is what the disk does not keep, as one sentence; "" = it keeps all.
func Put(ctx context.Context, from, to string, m Manifest) (doubt string, err error) {
	real, err := Target(to)
	switch {
	case err != nil:
		return "", err
	case real == "":
		return "", fmt.Errorf("%s is no regular file any more", to)
	}
	free, err := takeTurn(ctx, filepath.Dir(real))
	if err != nil {
		return "", Named(to, err)
	}
	defer free()
	file, err := bring(ctx, from, real, m.SHA256)
	if err != nil {
		return "", Named(to, err)
	}
	defer file.drop()
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return "", err
	}
	note, err := prepare(ManifestName(real), written(func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	}))
	if err != nil {
		return "", Named(ManifestName(real), err)
	}
	defer note.drop()
	older := &manifests{}
	if err := older.away(to, real); err != nil {
		return "", errors.Join(err, older.back())
	}
	if err := file.put(); err != nil && !file.named {
		return "", errors.Join(Named(to, err), older.back())
	} else if err != nil {
		return "", errors.Join(Named(to, err), older.remove())
	}
	if err := errors.Join(Named(ManifestName(real), note.put()), older.remove()); err != nil {
		return "", err
	}
	return file.doubt(to), nil
}

// manifests are those of a file that is about to be replaced, under other names.
type manifests struct{ names, aside []string }

// away takes from a file, durably, its manifest, and a manifest beside the link that leads to the file. Another file beside the link stays.
func (m *manifests) away(link, real string) error {
	names := []string{ManifestName(real)}
	if stray := ManifestName(link); link != real && isManifest(stray) {
		names = append(names, stray)
	}
	for _, name := range names {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		at, err := os.CreateTemp(filepath.Dir(name), disk.OwnPrefix+"manifest-*")
		if err != nil {
			return err
		}
		if err := errors.Join(at.Close(), os.Rename(name, at.Name())); err != nil {
			return errors.Join(err, os.Remove(at.Name()))
		}
		m.names, m.aside = append(m.names, name), append(m.aside, at.Name())
		if err := disk.SyncDir(filepath.Dir(name)); err != nil && !errors.Is(err, disk.ErrUnfit) {
			return err
		}
	}
	return nil
}

// back gives the manifests their names again.
func (m *manifests) back() (err error) {
	for i, name := range m.names {
		err = errors.Join(err, os.Rename(m.aside[i], name))
	}
	return err
}

// remove removes the manifests.
func (m *manifests) remove() (err error) {
	for _, name := range m.aside {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// bring moves a file with this SHA-256 beside its place, or copies it there from another disk.
func bring(ctx context.Context, from, to, sum string) (*pending, error) {
	if p, err := prepare(to, func(whole string) error { return os.Rename(from, whole) }); err == nil {
		return p, nil
	}
	return prepare(to, written(func(w io.Writer) error {
		read, err := Copy(ctx, w, from)
		if err == nil && read != sum {
			err = fmt.Errorf("%s: %w", from, ErrReadTwice)
		}
		return err
	}))
}

// Copy writes the bytes of a file until ctx ends, and returns their SHA-256.
func Copy(ctx context.Context, w io.Writer, from string) (sum string, err error) {
	f, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, hash), reader{ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// reader reads until its context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

// Read reads, or returns the context's error.
func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// Write writes a file that is whole or not there, and replaces a file that is there. A name that leads to a pipe or another device is
// written to directly, until ctx ends. Errors name the file as the caller does. doubt is what the disk does not keep, as one sentence; "" = it keeps all.
func Write(ctx context.Context, name string, write func(io.Writer) error) (doubt string, err error) {
	real, err := Target(name)
	switch {
	case err != nil:
		return "", err
	case real == "":
		return "", writeInto(ctx, name, write)
	}
	p, err := prepare(real, written(write))
	if err != nil {
		return "", Named(name, err)
	}
	defer p.drop()
	if err := p.put(); err != nil {
		return "", Named(name, err)
	}
	return p.doubt(name), nil
}

// Replace writes a regular file of a store's folder, in the place of another one or where there is none.
func Replace(name string, write func(io.Writer) error) error {
	p, err := prepare(name, written(write))
	if err != nil {
		return err
	}
	defer p.drop()
	if err := p.put(); err != nil {
		return err
	}
	return p.unsure
}

// pending is a whole and synced file in a work folder beside its place. Its name there is short, because its own may be as long as a name
// can be.
type pending struct {
	path, whole string
	away        func() error // removes the work folder
	replaced    disk.Leaving // the file that had the name
	named       bool         // the file has its name
	placed      bool         // durably
	unsure      error        // a disk.ErrUnfit: whether durably is not known
}

// prepare makes a work folder beside a file's place, and calls fill to put the whole and synced file there.
func prepare(name string, fill func(whole string) error) (*pending, error) {
	dir, away, err := disk.MakeWorkFolder(filepath.Dir(name), "put")
	if err != nil {
		return nil, err
	}
	p := &pending{path: name, whole: filepath.Join(dir, "whole"), away: away}
	if err := fill(p.whole); err != nil {
		p.drop()
		return nil, err
	}
	return p, nil
}

// written is a fill of prepare that writes and syncs the file.
func written(write func(io.Writer) error) func(whole string) error {
	return func(whole string) error {
		temp, err := newTemp(whole)
		if err != nil {
			return err
		}
		if err := write(disk.Throttle(temp.File)); err != nil {
			_ = temp.Cleanup() // the first error is the one to report
			return err
		}
		return temp.CloseAtomicallyReplace()
	}
}

// put gives the file its name, durably. A disk that syncs no folders leaves it unsure.
func (p *pending) put() error {
	crash.At(crash.BeforeFile)
	p.replaced = disk.Leave(p.path)
	if err := os.Rename(p.whole, p.path); err != nil {
		return err
	}
	p.named = true
	crash.At(crash.AfterFile)
	err := disk.SyncDir(filepath.Dir(p.path))
	if errors.Is(err, disk.ErrUnfit) {
		p.unsure, err = err, nil
	}
	p.placed = err == nil && p.unsure == nil
	return err
}

// doubt is a sentence about what the disk of the file does not keep, "" = it keeps all.
func (p *pending) doubt(name string) string {
	var lacks []string
	if p.unsure != nil {
		lacks = append(lacks, "does not confirm names (eject it before you unplug it)")
	}
	if info, err := os.Stat(p.path); err == nil && disk.OthersRead(info) {
		lacks = append(lacks, "keeps no modes (others who reach the disk can read the file)")
	}
	if lacks == nil {
		return ""
	}
	return fmt.Sprintf("%s is written, to a disk that %s", name, strings.Join(lacks, " and "))
}

// drop removes the work folder, and frees the file that was replaced. It does nothing to a file that was put.
func (p *pending) drop() {
	_ = p.away() // the first error is the one to report
	p.replaced.Free(p.placed)
}

// Target is the name of the file that a name leads to, or is to become; "" for a pipe or another device.
func Target(name string) (real string, err error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist): // the file is to be made
		return leadsTo(name)
	case err != nil:
		return name, nil
	case info.IsDir():
		return "", fmt.Errorf("%s is a folder", name)
	case !info.Mode().IsRegular():
		return "", nil
	}
	return filepath.EvalSymlinks(name)
}

// leadsTo follows links to a file that is not there, in a folder that is. A name that is no link leads to itself.
func leadsTo(name string) (string, error) {
	const links = 40 // as many as systems follow
	at := name
	for range links {
		to, err := os.Readlink(at)
		if err != nil {
			return at, nil // it is no link
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(at))
		if err != nil {
			return "", err
		}
		if at = to; !filepath.IsAbs(to) {
			at = filepath.Join(dir, to)
		}
		if _, err := os.Stat(filepath.Dir(at)); err != nil {
			return "", fmt.Errorf("%s is a link to %s, and that folder is not there", name, at)
		}
	}
	return "", fmt.Errorf("%s is a link that leads nowhere", name)
}

// Real is the whole path of a file without links. The file and its folder need not be there.
func Real(file string) (string, error) {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		return filepath.Abs(real)
	}
	file, err := leadsTo(file)
	if err != nil {
		return "", err
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		file = filepath.Join(dir, filepath.Base(file))
	}
	return filepath.Abs(file)
}

// writeInto writes to a pipe or another device, until ctx ends.
func writeInto(ctx context.Context, name string, write func(io.Writer) error) error {
	f, err := openDevice(ctx, name)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Now()) }) // the reader of a pipe may read no more
	defer stop()
	err = write(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return err
}

// openDevice opens a pipe or another device for writing. It waits until a pipe has a reader, or ctx ends.
func openDevice(ctx context.Context, name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return os.OpenFile(name, os.O_WRONLY, 0)
	}
	for ctx.Err() == nil {
		f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.ENXIO) {
			return f, err
		}
		pause(ctx)
	}
	return nil, ctx.Err()
}

// Named puts the name that a person gave into an error of the file system.
func Named(name string, err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return fmt.Errorf("%s: %w", name, path.Err)
	case errors.As(err, &link):
		return fmt.Errorf("%s: %w", name, link.Err)
	}
	return err
}
