package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"doorward/kv"

	"github.com/spf13/cobra"
)

// manifest lies beside a backup, under its name and ".json", where no link leads any further. A backup without one can be restored too.
type manifest struct {
	File   string    `json:"file"` // the backup's name, without its folder
	Realm  string    `json:"realm"`
	Node   string    `json:"node"`
	Epoch  string    `json:"epoch"`
	Seq    uint64    `json:"seq"`
	At     time.Time `json:"at"`
	Bytes  int64     `json:"bytes"`
	SHA256 string    `json:"sha256"`
}

func manifestName(file string) string { return file + ".json" }

// manifestOf is where the manifest of a backup is looked for: beside the file that a link leads to, else beside the link.
func manifestOf(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil && exists(manifestName(real)) {
		return manifestName(real)
	}
	return manifestName(file)
}

func (m *Main) backupCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "backup FILE", Short: "Write a verified copy of the store, also while it is served", Args: words(1)}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		made, err := m.backup(cmd.Context(), set, args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return m.printJSON(made)
		}
		fmt.Fprintf(m.Stdout, "%s: %s bytes, as of %s\n", args[0], number(made.Bytes), made.At.In(set.zone).Format(time.DateTime))
		return nil
	}
	return cmd
}

// backup copies the store within its folder, so that writers wait for no slow disk, checks the copy, and ships that.
func (m *Main) backup(ctx context.Context, set *settings, file string) (made manifest, err error) {
	real, err := m.checkTarget(set.data, file)
	if err != nil {
		return manifest{}, err
	}
	err = m.onCopyFor(ctx, set, file, func(dir string, of manifest) error {
		made = of
		made.File = filepath.Base(real)
		var err error
		if made.SHA256, err = m.checkAndSum(ctx, set, dir); err != nil {
			return err
		}
		return ship(ctx, kv.Path(dir), file, made)
	})
	if errors.Is(err, errStopped) {
		err = fmt.Errorf("%w: no backup was made", err)
	}
	if err != nil {
		return manifest{}, err
	}
	if err := m.noteBackup(ctx, set, file); err != nil {
		fmt.Fprintf(m.Stderr, "doorward: %s is made; only the store could not note where it lies, so that no erasure will name it: %v\n", file, err)
	}
	return made, nil
}

// checkAndSum checks a copy of the store, and meanwhile sums it up.
func (m *Main) checkAndSum(ctx context.Context, set *settings, dir string) (sum string, err error) {
	checked := make(chan error, 1)
	go func() { checked <- m.verifyCopy(ctx, startIdle, dir) }()
	sum, err = copyFile(ctx, io.Discard, kv.Path(dir))
	err = cmp.Or(<-checked, err)
	switch {
	case ctx.Err() != nil:
		return "", errStopped // which says nothing of the file
	case errors.Is(err, errUnchecked):
		return "", fmt.Errorf("no backup was made: %w", err)
	case err != nil:
		return "", set.blamed(fmt.Errorf("the file %s cannot be backed up as it is: %w", kv.Path(set.data), err))
	}
	m.noteVerify(set.data, 0)
	return sum, nil
}

// onCopy copies the store within its folder, and takes the copy away when do has ended.
func (m *Main) onCopy(ctx context.Context, set *settings, do func(dir string, of manifest) error) (err error) {
	var dir string
	done := func() error { return nil }
	defer func() { err = errors.Join(err, done()) }()
	var of manifest
	err = m.on(ctx, opening{settings: set}, func(c *control) (err error) {
		tidy(set.data, m.logger(slog.LevelWarn))
		made, away, err := kv.MakeWorkFolder(set.data, "backup")
		if err != nil {
			return err
		}
		dir, done = made, away
		of, err = c.copyInto(ctx, filepath.Base(dir))
		return err
	})
	if err != nil {
		return err
	}
	return do(dir, of)
}

// onCopyFor is onCopy for a backup. Where nothing can be written in the store's folder, and so no server has it open, the copy is made in the
// backup's.
func (m *Main) onCopyFor(ctx context.Context, set *settings, file string, do func(dir string, of manifest) error) (err error) {
	if !kv.ReadOnly(set.data) {
		return m.onCopy(ctx, set, do)
	}
	if err := kv.Gone(set.data, set.zone); err != nil {
		return err
	}
	if kv.ReadOnly(filepath.Dir(file)) {
		return errReadOnly(filepath.Dir(file))
	}
	store, err := kv.Open(kv.Config{Dir: set.data, Zone: set.zone, Built: buildTime(), Logger: m.logger(slog.LevelError), Aside: true, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	dir, away, err := kv.MakeWorkFolder(filepath.Dir(file), "backup")
	if err != nil {
		return named(file, err)
	}
	defer func() { err = errors.Join(err, away()) }()
	of, err := store.CopyTo(kv.Operator(), kv.Path(dir))
	if err != nil {
		return err
	}
	return do(dir, manifest{Realm: of.Realm, Node: of.Node, Epoch: of.Epoch, Seq: of.Seq, At: of.At, Bytes: of.Bytes})
}

// noteBackup tells the store where its backup lies, so that who erases somebody is told of it.
func (m *Main) noteBackup(ctx context.Context, set *settings, file string) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	return m.on(ctx, opening{settings: set}, func(c *control) error {
		_, err := c.call(ctx, request{method: http.MethodPost, path: "/control/backup/note", query: url.Values{"file": {path}}})
		return err
	})
}

// checkTarget refuses to write a backup where it would do harm, or cannot be, and answers where that is, as fileAt does.
func (m *Main) checkTarget(dir, file string) (real string, err error) {
	if file == "" || file == "-" {
		return "", usageError{errors.New("a file's name is wanted: a backup has its manifest beside it, and is read again")}
	}
	if err := m.checkFolder(dir); err != nil {
		return "", err
	}
	target, missing := os.Stat(file)
	switch {
	case missing == nil && target.IsDir():
		return "", usageError{fmt.Errorf("%s is a folder", file)}
	case missing == nil && !target.Mode().IsRegular():
		return "", usageError{fmt.Errorf("%s is no regular file: a backup has its manifest beside it, and is read again", file)}
	}
	if real, err = fileAt(file); err != nil {
		return "", usageError{err}
	}
	if err := mayHaveManifest(real); err != nil {
		return "", usageError{err}
	}
	if store, err := os.Stat(kv.Path(dir)); missing == nil && err == nil && os.SameFile(store, target) {
		return "", usageError{fmt.Errorf("%s is the store itself", file)}
	}
	if err := notOwn(file); err != nil {
		return "", err
	}
	if errors.Is(missing, fs.ErrNotExist) {
		_, missing = os.Stat(filepath.Dir(file))
	}
	return real, named(file, missing)
}

// mayHaveManifest refuses a backup whose manifest would take the place of something else.
func mayHaveManifest(file string) error {
	name := manifestName(file)
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fmt.Errorf("%s: that name is too long for a backup, whose manifest is named so with .json behind it", file)
	case err != nil:
		return nil
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file, and a backup's manifest would lie there", name)
	}
	if _, err := manifestIn(name); err != nil {
		return fmt.Errorf("%w, and one would take its place", err)
	}
	return nil
}

// copyInto has the store copied to a folder within its own.
func (c *control) copyInto(ctx context.Context, folder string) (made manifest, err error) {
	answer, err := c.call(ctx, request{method: http.MethodPost, path: "/control/backup", query: url.Values{"folder": {folder}}})
	if err != nil {
		return manifest{}, err
	}
	if err := json.Unmarshal(answer, &made); err != nil {
		return manifest{}, fmt.Errorf("the server's answer: %w", err)
	}
	return made, nil
}
