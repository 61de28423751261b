package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"doorward/kv"
)

// folderMode is the folder's: nobody but its owner may look into it.
const folderMode = 0o700

// checkFolder refuses a folder of another user, or one that is closed to ourselves, with the command to use instead, and closes one of
// ours to everybody else.
func (m *Main) checkFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usageError{fmt.Errorf("--data %w", named(dir, err))}
	case !info.IsDir():
		return usageError{fmt.Errorf("--data %s: that is no folder", dir)}
	}
	if owner, ok := foreign(info); ok {
		return usageError{fmt.Errorf("the folder %s belongs to user %s; use: sudo -u %s %s %s",
			dir, owner, shell([]string{owner}), shell([]string{m.Name}), shell(m.Args))}
	}
	if closed(info) && !kv.ReadOnly(dir) {
		return errClosed(dir, info)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 && !hasStore(dir) {
		return err // not ours alone: somebody's home, say
	}
	if kv.ReadOnly(dir) {
		return nil // it stays as it is
	}
	return os.Chmod(dir, folderMode)
}

// errClosed is what a command says of a folder of ours that is closed to ourselves.
func errClosed(dir string, info fs.FileInfo) error {
	return fmt.Errorf("the folder %s: permission denied: its mode is %04o; use: chmod 700 %s", dir, info.Mode().Perm(), shell([]string{dir}))
}

// errReadOnly is what a command says that would write in a folder where nothing can be written.
func errReadOnly(dir string) error {
	if info, err := os.Stat(dir); err == nil && closed(info) {
		return errClosed(dir, info)
	}
	return fmt.Errorf("the folder %s lies on a disk that is read-only: there verify, export, and backup to another disk, work, and nothing else", dir)
}

// checkStore is checkFolder for whoever uses the folder's store, or makes one: it refuses a folder whose store is gone.
func (m *Main) checkStore(s *settings) error {
	if err := m.checkFolder(s.data); err != nil {
		return err
	}
	return kv.Gone(s.data, s.zone)
}

func hasStore(dir string) bool {
	_, err := os.Stat(kv.Path(dir))
	return err == nil
}

// shell writes arguments as a shell reads them.
func shell(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$&|;<>()*?[]#~!`{}") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
