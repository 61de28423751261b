package backup

import (
	"context"
	"crypto/sha256"
	"doorward/kv/disk"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrReadTwice is a copy that differs from its source.
var ErrReadTwice = errors.New("it was read twice, and was not the same: is the disk sound?")

// Put moves a synced file to its place, and writes its manifest beside it. If to is a link, the place is where it leads. Both files are whole
// before they replace others. If the place is on another disk, Put copies the file; it returns ErrReadTwice if the copy has another SHA-256.
func Put(ctx context.Context, from, to string, m Manifest) error {
	real, err := Target(to)
	switch {
	case err != nil:
		return err
	case real == "":
		return fmt.Errorf("%s is no regular file any more", to)
	}
	free, err := takeTurn(ctx, filepath.Dir(real))
	if err != nil {
		return Named(to, err)
	}
	defer free()
	file, err := bring(ctx, from, real, m.SHA256)
	if err != nil {
		return Named(to, err)
	}
	defer file.drop()
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	note, err := prepare(ManifestName(real), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return Named(ManifestName(real), err)
	}
	defer note.drop()
	if err := removeManifests(to, real); err != nil {
		return err
	}
	if err := file.put(); err != nil {
		return Named(to, err)
	}
	return Named(ManifestName(real), note.put())
}

// removeManifests removes, durably, the manifest of a file that is about to be replaced, and a manifest beside the link that leads to the
// file. Another file beside the link stays.
func removeManifests(link, real string) error {
	names := []string{ManifestName(real)}
	if stray := ManifestName(link); link != real && isManifest(stray) {
		names = append(names, stray)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := disk.SyncDir(filepath.Dir(name)); err != nil {
			return err
		}
	}
	return nil
}

// bring moves a file with this SHA-256 beside its place, or copies it there from another disk.
func bring(ctx context.Context, from, to, sum string) (*pending, error) {
	if p, err := move(from, to); err == nil {
		return p, nil
	}
	return prepare(to, func(w io.Writer) error {
		read, err := Copy(ctx, w, from)
		if err == nil && read != sum {
			err = fmt.Errorf("%s: %w", from, ErrReadTwice)
		}
		return err
	})
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
