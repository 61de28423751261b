package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	bolterrors "go.etcd.io/bbolt/errors"
)

// The errors of an engine.
var (
	ErrStopped  = errors.New("the store has stopped taking writes")
	ErrBusy     = errors.New("the store is busy") // too much waits, or too many files are open; nothing was done, try again
	ErrCorrupt  = errors.New("a stored value fails its checksum")
	ErrPanicked = errors.New("the operation panicked")
	ErrReadOnly = errors.New("nothing can be written there")
	ErrTooLong  = errors.New("a key is longer than the file takes")
)

// BadFile is a file that cannot be opened as it is. Nothing was changed in it.
type BadFile struct {
	Path   string
	Reason string // what is wrong with the file, as "is empty"; nothing of what is stored
	Backup string // where the newest backup lies, as a sentence of its own; "" = none is known
}

func (b *BadFile) Error() string {
	text := fmt.Sprintf("the file %s %s", b.Path, b.Reason)
	if b.Backup != "" {
		text += "; " + b.Backup
	}
	return text
}

// Is makes a BadFile an ErrCorrupt.
func (b *BadFile) Is(target error) bool { return target == ErrCorrupt }

// named gives a *BadFile that does not say which file it is the file's path.
func named(path string, err error) error {
	var bad *BadFile
	if errors.As(err, &bad) && bad.Path == "" {
		bad.Path = path
	}
	return err
}

// Blamed is an error of the file at a path in words for its owner: damage comes as a *BadFile, a file that this process may not use names
// its mode.
func Blamed(path string, err error) error {
	var bad *BadFile
	switch {
	case errors.As(err, &bad):
		return bad
	case errors.Is(err, ErrCorrupt), errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum):
		return &BadFile{Path: path, Reason: fmt.Sprintf("is damaged: %v", err)}
	case errors.Is(err, fs.ErrPermission):
		return barred(err)
	}
	return err
}

// barred is an error of a file that this process may not use as it must.
func barred(err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err
	}
	wants := "whoever runs doorward must be able to read and write it"
	if info, err := os.Stat(path.Path); err == nil {
		wants += fmt.Sprintf(", and its mode is %04o", info.Mode().Perm())
	}
	return fmt.Errorf("the file %s: %w: %s", path.Path, path.Err, wants)
}

// Broken is the error of a panic that met a broken file. bbolt's own words may hold keys, so they are left out.
func Broken(found any) error {
	if fault, ok := found.(runtime.Error); ok {
		return fmt.Errorf("%w: its structure is broken: %w", ErrCorrupt, fault)
	}
	return fmt.Errorf("%w: its structure is broken", ErrCorrupt)
}
