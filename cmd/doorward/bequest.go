package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"doorward/kv"
)

// bequest is a restored store that a server shall put in the place of its own. The server may end at any moment, and another be started:
// whether the store was replaced is seen from the heir's folder alone, which its file leaves in one step.
type bequest struct {
	data  string   // the store's folder
	dir   string   // the heir's
	older []string // the stores that were kept in data before
}

// Why a server has not taken up an heir.
var (
	errEnded = errors.New("the server ended before the backup could take the store's place: the store was not replaced and goes on; try again")
	errGone  = errors.New("the server has ended, and nobody serves the folder")
	errAway  = errors.New("the server has not come back; its log says why")
)

// bequeath has a server put a restored store in the place of its own, and waits until it serves that: errGone where nobody is left to do
// so. After any other error the store is not replaced any more, but for errAway, which says so.
func (m *Main) bequeath(ctx context.Context, b bequest, ask request) (kept string, err error) {
	c := m.viaSocket(b.data)
	defer func() { err = errors.Join(err, c.close()) }()
	b.older = keptIn(b.data)
	last, err := m.succeeded(ctx, c, b, ask)
	switch {
	case err == nil && last.Folder == filepath.Base(b.dir) && last.Error == "":
		return last.Kept, nil
	case err == nil && last.Folder == filepath.Base(b.dir):
		return "", fmt.Errorf("the store before goes on: %s", last.Error)
	case err == nil:
		err = errEnded
	case errors.Is(err, errGone):
		m.logger(slog.LevelWarn).Warn("the server has ended meanwhile")
		if exists(kv.Path(b.dir)) {
			return "", err
		}
	}
	taken, failed := b.withdraw()
	switch {
	case !taken && errors.Is(err, errAway):
		return "", errors.Join(fmt.Errorf("%w; the store was not replaced", err), failed)
	case !taken:
		return "", errors.Join(err, failed)
	case errors.Is(err, errAway):
		return "", fmt.Errorf("the backup has taken the store's place, but %w", err)
	}
	return b.kept(), nil
}

// succeeded asks a server to take up an heir, and waits until one says that it waits for none: errGone, errAway.
func (m *Main) succeeded(ctx context.Context, c *control, b bequest, ask request) (last succession, err error) {
	if _, err := c.call(ctx, ask); err != nil {
		return last, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 10*drain, errAway)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	heard := time.Now()
	for {
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errAway) {
				return last, errAway
			}
			return last, errStopped
		case <-tick.C:
		}
		switch last, ok := c.succession(ctx); {
		case ok && !last.Pending:
			return last, nil
		case ok:
			heard = time.Now()
		case time.Since(heard) < cmp.Or(m.Drain, drain)/3: // between two stores nobody answers for a moment
		case !isOpen(b.data):
			return last, errGone
		}
	}
}

// succession asks a server what became of the heir; ok is false while nobody answers.
func (c *control) succession(ctx context.Context) (last succession, ok bool) {
	answer, err := c.call(ctx, request{method: http.MethodGet, path: restorePath})
	if err != nil {
		return last, false
	}
	return last, json.Unmarshal(answer, &last) == nil
}

// isOpen tells whether a process has a folder's store open.
func isOpen(dir string) bool {
	if !hasStore(dir) {
		return false
	}
	store, err := kv.Open(kv.Config{Dir: dir, Aside: true})
	if err == nil {
		_ = store.Close() // it was only looked at
	}
	return errors.Is(err, kv.ErrInUse)
}

// withdraw takes the heir back, unless it has been taken: no server finds it from then on. The whole folder is moved, in which a server
// that is just at it could make a file again.
func (b bequest) withdraw() (taken bool, err error) {
	aside := b.dir + "-withdrawn"
	if err := os.Rename(b.dir, aside); err != nil {
		return false, fmt.Errorf("the backup cannot be taken back, and may take the store's place yet: %w", err)
	}
	_, err = os.Stat(kv.Path(aside))
	return errors.Is(err, fs.ErrNotExist), os.RemoveAll(aside)
}

// kept is the store that was kept when the heir took its place, where the server that did it cannot be asked.
func (b bequest) kept() string {
	for _, path := range keptIn(b.data) {
		if !slices.Contains(b.older, path) {
			return path
		}
	}
	return ""
}

// keptIn are the stores in a folder whose place others took.
func keptIn(dir string) (paths []string) {
	entries, _ := os.ReadDir(dir) // where it cannot be read none is named
	for _, e := range entries {
		if ok, err := filepath.Match("doorward-*.db", e.Name()); ok && err == nil {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}
