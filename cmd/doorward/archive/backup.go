package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/folder"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/backup"
	"doorward/kv/disk"
	"doorward/kv/table"
)

// Backup copies the store, checks the copy, and puts it in its place.
func Backup(ctx context.Context, o control.Opening, file string) (made backup.Manifest, err error) {
	real, err := checkTarget(o, file)
	if err != nil {
		return made, err
	}
	folder.Tidy(filepath.Dir(real), o.Console.Logger(slog.LevelWarn))
	doubt := ""
	err = onCopyFor(ctx, o, file, func(dir string, of backup.Manifest) error {
		made = of
		made.File = filepath.Base(real)
		var err error
		if made.SHA256, err = checkAndSum(ctx, o, dir); err != nil {
			return err
		}
		doubt, err = backup.Put(ctx, table.Path(dir), file, made)
		return console.Stopped(ctx, err)
	})
	if errors.Is(err, console.ErrStopped) {
		err = fmt.Errorf("%w: no backup was made", err)
	}
	if err != nil {
		return backup.Manifest{}, err
	}
	if doubt != "" {
		o.Console.Warn("%s", doubt)
	}
	if err := noteBackup(ctx, o, file); err != nil {
		o.Console.Warn("%s is made; only the store could not note where it lies, so that no erasure will name it: %v", file, err)
	}
	return made, nil
}

// checkAndSum checks a copy of the store and computes its SHA-256, both at the same time.
func checkAndSum(ctx context.Context, o control.Opening, dir string) (sum string, err error) {
	checked := make(chan error, 1)
	go func() { checked <- checkCopy(ctx, o, startBeside, dir, "--keep") }()
	sum, err = backup.Copy(ctx, io.Discard, table.Path(dir))
	err = cmp.Or(<-checked, err)
	switch {
	case ctx.Err() != nil:
		return "", console.ErrStopped // which says nothing about the file
	case errors.Is(err, errUnchecked):
		return "", fmt.Errorf("no backup was made: %w", err)
	case err != nil:
		return "", nameBackup(o, fmt.Errorf("the file %s cannot be backed up as it is: %w", table.Path(o.Dir), err))
	}
	NoteVerify(o, 0)
	return sum, nil
}

// onCopy copies the store within its folder, and removes the copy when do has ended.
func onCopy(ctx context.Context, o control.Opening, do func(dir string, of backup.Manifest) error) (err error) {
	var dir string
	done := func() error { return nil }
	defer func() { err = errors.Join(err, done()) }()
	var of backup.Manifest
	o.Need = control.Need{}
	err = control.With(ctx, o, func(l *control.Line) (err error) {
		folder.Tidy(o.Dir, o.Console.Logger(slog.LevelWarn))
		made, away, err := disk.MakeWorkFolder(o.Dir, "backup")
		if err != nil {
			return err
		}
		dir, done = made, away
		of, err = control.Ask[backup.Manifest](ctx, l, control.Post("/control/backup", url.Values{"folder": {filepath.Base(dir)}}))
		return err
	})
	if err != nil {
		return err
	}
	return do(dir, of)
}

// onCopyFor is onCopy for a backup. If the store's folder is read-only, or its disk has no room for a copy and the backup goes to another disk,
// the copy is made in the backup's folder.
func onCopyFor(ctx context.Context, o control.Opening, file string, do func(dir string, of backup.Manifest) error) (err error) {
	at, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return err
	}
	full := !disk.IsSame(o.Dir, at) && o.CheckRoom("a copy of the store", disk.Size(table.Path(o.Dir))) != nil
	if !disk.ReadOnly(o.Dir) && !full {
		return onCopy(ctx, o, do)
	}
	if err := o.CheckStore(); err != nil {
		return err
	}
	if err := folder.CheckWritable(at); err != nil {
		return err
	}
	dir, away, err := disk.MakeWorkFolder(at, "backup")
	if err != nil {
		return backup.Named(file, err)
	}
	defer func() { err = errors.Join(err, away()) }()
	of, err := copyInto(ctx, o, dir)
	if err != nil {
		return err
	}
	return do(dir, of)
}

// copyInto copies the store into a folder on another disk. A server that runs makes the copy, or else this process does, which opens the store
// for reading alone.
func copyInto(ctx context.Context, o control.Opening, dir string) (made backup.Manifest, err error) {
	if !control.Answers(ctx, o.Dir) {
		return copyUnserved(o, dir)
	}
	err = control.With(ctx, o, func(l *control.Line) (err error) {
		made, err = control.Ask[backup.Manifest](ctx, l, control.Post("/control/backup", url.Values{"folder": {dir}}))
		return err
	})
	return made, err
}

// OnCopy copies the store within its folder, and removes the copy when do has ended. The store is only read: a server that runs makes the
// copy, or else this process does, which opens the store for reading alone.
func OnCopy(ctx context.Context, o control.Opening, do func(dir string) error) (err error) {
	if err := o.CheckStore(); err != nil {
		return err
	}
	if !o.HasStore() {
		return fmt.Errorf("the folder %s holds no congregation", o.Dir)
	}
	if err := folder.CheckWritable(o.Dir); err != nil {
		return err
	}
	if control.Answers(ctx, o.Dir) {
		return onCopy(ctx, o, func(dir string, _ backup.Manifest) error { return do(dir) })
	}
	if err := o.CheckRoom("a copy of the store", disk.Size(table.Path(o.Dir))); err != nil {
		return err
	}
	dir, away, err := disk.MakeWorkFolder(o.Dir, "backup")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, away()) }()
	if _, err := copyUnserved(o, dir); err != nil {
		return err
	}
	return do(dir)
}

// copyUnserved copies a store that no other process has open.
func copyUnserved(o control.Opening, dir string) (made backup.Manifest, err error) {
	c := o.StoreConfig()
	c.Logger, c.Machine, c.Disk, c.Aside, c.ReadOnly = o.Console.Logger(slog.LevelError), "", nil, true, true
	store, err := kv.Open(c)
	if errors.Is(err, disk.ErrInUse) {
		return made, folder.Busy(o.Dir)
	} else if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	made.Copied, err = store.Files.CopyTo(auth.Operator(), table.Path(dir))
	return made, err
}

// noteBackup notes in the store where its backup lies, so that an erasure can name the file.
func noteBackup(ctx context.Context, o control.Opening, file string) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	return control.With(ctx, o, func(l *control.Line) error {
		_, err := l.Call(ctx, control.Post("/control/backup/note", url.Values{"file": {path}}))
		return err
	})
}

// checkTarget refuses a name at which a backup would do harm or cannot lie. It returns the name of the file there, as backup.Target does.
func checkTarget(o control.Opening, file string) (real string, err error) {
	if file == "" || file == "-" {
		return "", console.Usage(errors.New("a file's name is wanted: a backup has its manifest beside it, and is read again"))
	}
	if err := o.Check(); err != nil {
		return "", err
	}
	target, missing := os.Stat(file)
	switch {
	case missing == nil && target.IsDir():
		return "", console.Usage(fmt.Errorf("%s is a folder", file))
	case missing == nil && !target.Mode().IsRegular():
		return "", console.Usage(fmt.Errorf("%s is no regular file: a backup has its manifest beside it, and is read again", file))
	}
	if real, err = backup.Target(file); err != nil {
		return "", console.Usage(err)
	}
	if err := backup.CheckManifest(real); err != nil {
		return "", console.Usage(err)
	}
	if store, err := os.Stat(table.Path(o.Dir)); missing == nil && err == nil && os.SameFile(store, target) {
		return "", console.Usage(fmt.Errorf("%s is the store itself", file))
	}
	if err := folder.CheckOutput(file); err != nil {
		return "", err
	}
	if errors.Is(missing, fs.ErrNotExist) {
		_, missing = os.Stat(filepath.Dir(file))
	}
	return real, backup.Named(file, missing)
}
