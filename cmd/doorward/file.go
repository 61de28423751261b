package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"doorward/kv"
	"doorward/kv/crash"
)

// writeFile makes a file that is whole or not there, and replaces one that is there: a temporary name, fsync, rename, fsync of
// the folder. What is no file, as a pipe, is written to, until ctx ends: errStopped. Errors name the file as the caller does.
func writeFile(ctx context.Context, name string, write func(io.Writer) error) error {
	real, err := fileAt(name)
	switch {
	case err != nil:
		return err
	case real == "":
		return writeInto(ctx, name, write)
	}
	return named(name, replaceFile(real, write))
}

// fileAt is the name of the file that a name leads to or is to become; "" for what is there and no file, as a pipe.
func fileAt(name string) (real string, err error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it is to be made
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

// leadsTo follows links to a file that is not there, in a folder that is; a name that is no link leads to itself.
func leadsTo(name string) (string, error) {
	const links = 40 // as many as systems follow
	at := name
	for range links {
		to, err := os.Readlink(at)
		if err != nil {
			return at, nil // it is none
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

// notOwn refuses a file whose name, or that of a folder which it lies in, is one that a store keeps for itself where it lies: it would
// not stay. A backup that is named as a store has a manifest beside it.
func notOwn(file string) error {
	real, err := realPath(file)
	if err != nil {
		return named(file, err)
	}
	for at := real; at != filepath.Dir(at); at = filepath.Dir(at) {
		if !kept(filepath.Base(at)) || !keepsStore(filepath.Dir(at)) {
			continue
		}
		if at != real || at != kv.Path(filepath.Dir(at)) || !exists(manifestName(at)) {
			return usageError{fmt.Errorf("%s is a store's own file", file)}
		}
	}
	return nil
}

// realPath is the whole path of a file without links. The file, and its folder, need not be there.
func realPath(file string) (string, error) {
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

// keepsStore tells a folder that has a store, or has had one.
func keepsStore(dir string) bool { return hasStore(dir) || kv.Gone(dir, time.UTC) != nil }

// writeInto writes to what is no file, as a pipe, until ctx ends: errStopped.
func writeInto(ctx context.Context, name string, write func(io.Writer) error) error {
	f, err := openSink(ctx, name)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Now()) }) // its reader may have forgotten it
	defer stop()
	err = write(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil && ctx.Err() != nil {
		err = errStopped
	}
	return err
}

// openSink opens what is no file to be written to. A pipe is waited for until it has a reader, or ctx ends: errStopped.
func openSink(ctx context.Context, name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return os.OpenFile(name, os.O_WRONLY, 0)
	}
	for ctx.Err() == nil {
		f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.ENXIO) {
			return f, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(turnPause):
		}
	}
	return nil, errStopped
}

func replaceFile(name string, write func(io.Writer) error) error {
	tmp, err := prepareFile(filepath.Dir(name), write)
	if err != nil {
		return err
	}
	return putFile(tmp, name)
}

// prepareFile makes a file, synced, under a temporary name in a folder.
func prepareFile(dir string, write func(io.Writer) error) (name string, err error) {
	tmp, err := os.CreateTemp(dir, kv.OwnPrefix+"*")
	if err != nil {
		return "", err
	}
	if err = write(kv.Gently(tmp)); err == nil {
		err = tmp.Sync()
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // the first error is the one to tell
		return "", err
	}
	return tmp.Name(), nil
}

// putFile gives a file that was prepared its name, in the place of what has it, or takes it away.
func putFile(tmp, name string) error {
	crash.At(crash.BeforeFile)
	if err := os.Rename(tmp, name); err != nil {
		_ = os.Remove(tmp) // the first error is the one to tell
		return err
	}
	crash.At(crash.AfterFile)
	return syncFolder(filepath.Dir(name))
}

// syncFolder has a folder's names on the disk.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// named tells an error of the file system by the name that a person gave.
func named(name string, err error) error {
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
