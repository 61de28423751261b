package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"doorward/kv"
	"doorward/sync/dial"
	"doorward/sync/replicate"
	"doorward/sync/venue"
)

// isStoreFile tells a store's file that lies by itself, as one that a restore has kept, from a folder.
func isStoreFile(place string) bool {
	info, err := os.Stat(place)
	return err == nil && info.Mode().IsRegular() && strings.HasSuffix(place, ".db")
}

// besideFile makes a folder with a store's file in it; done takes the folder away, and leaves the file.
func besideFile(ctx context.Context, file string) (dir string, done func() error, err error) {
	dir, done, err = kv.MakeWorkFolder(filepath.Dir(file), "look")
	if err != nil {
		return "", nil, err
	}
	if err := os.Link(file, kv.Path(dir)); err != nil { // some file systems have no links
		if err := copyStore(ctx, file, kv.Path(dir)); err != nil {
			return "", nil, errors.Join(err, done())
		}
	}
	return dir, done, nil
}

func copyStore(ctx context.Context, from, to string) error {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = copyFile(ctx, out, from)
	return errors.Join(err, out.Close())
}

// storeFileEnd opens a store's file to be copied from.
func (m *Main) storeFileEnd(ctx context.Context, c *copying, file string) (*endOfCopy, error) {
	dir, done, err := besideFile(ctx, file)
	if err != nil {
		return nil, err
	}
	set := *c.settings
	set.data = dir
	line, err := m.inProcess(opening{settings: &set, aside: true})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", file, err), done())
	}
	end := line.close
	line.close = func() error { return errors.Join(end(), done()) }
	return &endOfCopy{base: "http://doorward/sync", set: &set, line: line, config: replicate.RemoteConfig{Config: dial.Config{Client: line.client}, Plain: c.plain}}, nil
}

// unsent is how many changes of a laptop's store file its centre has not said that it has; 0 for a store that has joined none.
func (m *Main) unsent(ctx context.Context, set *settings, file string) (n int, err error) {
	dir, done, err := besideFile(ctx, file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, done()) }()
	store, err := kv.Open(kv.Config{Dir: dir, Zone: set.zone, Built: buildTime(), Machine: m.machine(), Aside: true})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return venue.Unsent(store)
}

// tellUnsent says what the store that was replaced holds for the centre, and how it gets there: through the store that has taken its place.
func (m *Main) tellUnsent(set *settings, done *restored) {
	switch {
	case done.Kept == "":
	case done.Unsent == nil:
		fmt.Fprintln(m.Stdout, "the store before cannot be read: whether it holds anything that never reached the centre is not known")
	case *done.Unsent > 0:
		fmt.Fprintf(m.Stdout, "the store before holds %s that never reached the centre; this takes them up, and serve sends them:\n  %s\n",
			number(int64(*done.Unsent))+plural(*done.Unsent, " change", " changes"), shell([]string{m.Name, "replicate", done.Kept, set.data}))
	}
}
