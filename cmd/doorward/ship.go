package main

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
	"time"

	"doorward/kv"
)

// ship brings a file, which is not needed any more, to where it is wanted, and its manifest beside it; through a link, to where that
// leads. Both are whole before they take the place of others, and at no moment lies a manifest beside the file that does not speak of it.
func ship(ctx context.Context, from, to string, made manifest) error {
	real, err := fileAt(to)
	switch {
	case err != nil:
		return err
	case real == "":
		return fmt.Errorf("%s is no regular file any more", to)
	}
	free, err := takeTurn(ctx, filepath.Dir(real))
	if err != nil {
		return named(to, err)
	}
	defer free()
	file, err := bringNear(ctx, from, filepath.Dir(real), made.SHA256)
	if err != nil {
		return named(to, err)
	}
	defer func() { _ = os.Remove(file) }() // it has its name by then, or is of no use
	text, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return err
	}
	note, err := prepareFile(filepath.Dir(real), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return named(manifestName(real), err)
	}
	defer func() { _ = os.Remove(note) }() // as above
	if err := removeManifests(to, real); err != nil {
		return err
	}
	if err := putFile(file, real); err != nil {
		return named(to, err)
	}
	return named(manifestName(real), putFile(note, manifestName(real)))
}

// removeManifests takes away for good what tells of a file that is about to be replaced: what lies beside it, and a manifest beside the link
// that led to it. What is no manifest there is somebody else's.
func removeManifests(link, real string) error {
	names := []string{manifestName(real)}
	if stray := manifestName(link); link != real && isManifest(stray) {
		names = append(names, stray)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := syncFolder(filepath.Dir(name)); err != nil {
			return err
		}
	}
	return nil
}

// isManifest tells a manifest itself: no link, and nothing else that has its name.
func isManifest(name string) bool {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	_, err = manifestIn(name)
	return err == nil
}

// bringNear has a file with this SHA-256 under a temporary name in a folder. Only to another disk it is copied once more.
func bringNear(ctx context.Context, from, dir, sum string) (near string, err error) {
	near, err = prepareFile(dir, func(io.Writer) error { return nil })
	if err != nil || os.Rename(from, near) == nil {
		return near, err
	}
	_ = os.Remove(near) // empty
	return prepareFile(dir, checked(ctx, from, sum))
}

// checked copies a file, which must have this SHA-256.
func checked(ctx context.Context, from, sum string) func(io.Writer) error {
	return func(w io.Writer) error {
		read, err := copyFile(ctx, w, from)
		if err == nil && read != sum {
			err = fmt.Errorf("%s: %w", from, errReadTwice)
		}
		return err
	}
}

var errReadTwice = errors.New("it was read twice, and was not the same: is the disk sound?")

// turnPause is how often is looked whether it is one's turn.
const turnPause = 50 * time.Millisecond

// takeTurn waits until nobody else puts a backup into a folder, and keeps others from it until free is called. Where a system has no
// locks nobody waits.
func takeTurn(ctx context.Context, dir string) (free func(), err error) {
	name := filepath.Join(dir, kv.OwnPrefix+"turn")
	for ctx.Err() == nil {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		free = func() {
			_ = os.Remove(name) // what stays is empty; while it is locked it is nobody else's
			_ = f.Close()
		}
		switch err := kv.Lock(f); {
		case errors.Is(err, errors.ErrUnsupported):
			return func() {}, errors.Join(f.Close(), os.Remove(name))
		case !errors.Is(err, kv.ErrInUse) && isNamed(f, name):
			return free, nil
		}
		_ = f.Close() // it was somebody else's
		select {
		case <-ctx.Done():
		case <-time.After(turnPause):
		}
	}
	return nil, errStopped
}

// isNamed tells whether an open file has a name still.
func isNamed(f *os.File, name string) bool {
	mine, err := f.Stat()
	there, failed := os.Stat(name)
	return err == nil && failed == nil && os.SameFile(mine, there)
}

// copyFile writes what a file holds until ctx ends, and answers its SHA-256.
func copyFile(ctx context.Context, w io.Writer, from string) (sum string, err error) {
	f, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, hash), stoppable{ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// stoppable is a reader that ends with its ctx.
type stoppable struct {
	ctx context.Context
	io.Reader
}

// Read reads, or answers errStopped.
func (e stoppable) Read(b []byte) (int, error) {
	if e.ctx.Err() != nil {
		return 0, errStopped
	}
	return e.Reader.Read(b)
}
