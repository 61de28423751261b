package main

import (
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
	"os/exec"
	"path/filepath"
	"time"

	"doorward/kv"

	"github.com/spf13/cobra"
)

// restored is what a restore has done.
type restored struct {
	Realm string `json:"realm"`
	Node  string `json:"node"`
	Epoch string `json:"epoch"` // the new one
	Seq   uint64 `json:"seq"`   // of the latest change in the backup
	Kept  string `json:"kept"`  // the file that was replaced; "" = there was none

	Unsent *int `json:"unsent"` // changes of a laptop in that file which never reached its centre; nil = not known, or no file
}

func (m *Main) restoreCommand(set *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "restore FILE", Short: "Make a store of a backup", Args: words(1)}
	replace := cmd.Flags().Bool("replace", false, "put it in the place of the store that is there, which is kept beside it")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := m.mayRestore(set.data, *replace); err != nil {
			return err
		}
		done, err := m.restore(cmd.Context(), set, args[0], *replace)
		switch {
		case errors.Is(err, errStopped) && hasStore(set.data):
			return fmt.Errorf("%w; the store in the folder %s was not replaced", errStopped, set.data)
		case errors.Is(err, errStopped):
			return fmt.Errorf("%w; nothing was restored", errStopped)
		case err != nil:
			return err
		}
		if done.Kept != "" {
			if n, err := m.unsent(cmd.Context(), set, done.Kept); err == nil { // else the file is damaged, and may be why it was replaced
				done.Unsent = &n
			}
		}
		if *asJSON {
			return m.printJSON(done)
		}
		fmt.Fprintf(m.Stdout, "%s holds what %s held; a new epoch begins: %s\n", set.data, args[0], done.Epoch)
		if done.Kept != "" {
			fmt.Fprintf(m.Stdout, "the store before is kept as %s\n", done.Kept)
		}
		m.tellUnsent(set, &done)
		return nil
	}
	return cmd
}

// mayRestore refuses to take a store's place unasked.
func (m *Main) mayRestore(dir string, replace bool) error {
	if err := m.checkFolder(dir); err != nil {
		return err
	}
	if kv.ReadOnly(dir) {
		return errReadOnly(dir)
	}
	if hasStore(dir) && !replace {
		return holds(dir)
	}
	return nil
}

func holds(dir string) error {
	return fmt.Errorf("the folder %s holds a congregation; with --replace the backup takes its place, and the old file is kept beside it", dir)
}

// restore makes a whole store of a backup in a folder aside, then puts it in its place.
func (m *Main) restore(ctx context.Context, set *settings, file string, replace bool) (done restored, err error) {
	made := absentFolders(set.data)
	defer func() {
		if err != nil {
			removeEmpty(made)
		}
	}()
	if err := kv.MakeFolder(set.data); err != nil {
		return restored{}, err
	}
	if err := mayFetch(set, file); err != nil {
		return restored{}, err
	}
	tidy(set.data, m.logger(slog.LevelWarn))
	dir, away, err := kv.MakeWorkFolder(set.data, "restore")
	if err != nil {
		return restored{}, err
	}
	defer func() { err = errors.Join(err, away()) }()
	if err := m.fetch(ctx, file, dir); err != nil {
		return restored{}, err
	}
	if done, err = m.beginAgain(set, dir); err != nil {
		return restored{}, fmt.Errorf("%s: %w", file, err)
	}
	done.Kept, err = m.putInPlace(ctx, set, dir, done, replace)
	return done, err
}

// putInPlace has a server that runs take up the restored store, or does it where none runs. A congregation that was begun meanwhile stays,
// as one that was there before.
func (m *Main) putInPlace(ctx context.Context, set *settings, dir string, next restored, replace bool) (kept string, err error) {
	data := set.data
	if conn, err := dialSocket(ctx, data); err == nil {
		_ = conn.Close() // it only showed that somebody answers
		if !replace {
			return "", holds(data)
		}
		q := url.Values{"folder": {filepath.Base(dir)}, "realm": {next.Realm}, "node": {next.Node}}
		ask := request{method: http.MethodPost, path: restorePath, query: q}
		if kept, err := m.bequeath(ctx, bequest{data: data, dir: dir}, ask); !errors.Is(err, errGone) {
			return kept, err
		}
	}
	if ctx.Err() != nil {
		return "", errStopped // nobody was asked whether there is a server
	}
	seen, err := givingWay(data, next)
	if seen != nil && !replace {
		return "", holds(data)
	}
	if err == nil {
		kept, err = kv.ReplaceSeen(data, kv.Path(dir), seen, time.Now(), m.logger(slog.LevelWarn))
	}
	if errors.Is(err, kv.ErrInUse) {
		err = fmt.Errorf("another doorward is at work on the folder %s; try again when it is done", data)
	}
	return kept, err
}

// Why a store gives way to no backup: its ids, its erasures and its laptops would be taken for those of another congregation, or its
// keys and its records be missing, as a laptop has few of its centre's.
var (
	errOtherRealm = errors.New("the backup is of another congregation than the one in the folder, which stays; restore it into an empty folder")
	errOtherNode  = errors.New("the backup is of another node of this congregation, as a laptop or its centre, than the one in the folder, which stays; restore it into an empty folder")
)

// givesWay refuses to replace records of another congregation or node than a restored store's. Damage to them may be why they are replaced.
func givesWay(store *kv.Store, next restored) error {
	switch {
	case next.Realm == store.Realm() && next.Node == store.Node(), !errors.Is(store.MayJoin(""), kv.ErrOtherRealm):
		return nil
	case next.Realm != store.Realm():
		return errOtherRealm
	}
	return errOtherNode
}

// givingWay is givesWay for a folder's store that nobody serves, and answers its file as it is, also where that stays; nil where there is none.
// One that cannot be read gives way. ErrInUse.
func givingWay(dir string, next restored) (seen fs.FileInfo, err error) {
	path := kv.Path(dir)
	seen, err = os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !seen.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file, and so no store whose place a backup could take; move it away", path)
	}
	store, err := kv.Open(kv.Config{Dir: dir, Aside: true})
	switch {
	case errors.Is(err, kv.ErrInUse):
		return nil, err
	case err != nil:
		return seen, nil
	}
	defer func() { _ = store.Close() }() // what is wrong with it goes with it
	if err := givesWay(store, next); err != nil {
		return seen, err
	}
	return os.Stat(path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// mayFetch refuses what has no end, as a pipe, and what would take the room that a server beside it needs.
func mayFetch(set *settings, file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return named(file, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file, and so no backup", file)
	}
	if info, err := os.Stat(manifestOf(file)); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file, and so no manifest of a backup", manifestOf(file))
	}
	return set.roomBeside("a copy of the backup", info.Size())
}

// fetch copies a backup into a folder, and refuses one that is not what was written, or is damaged.
func (m *Main) fetch(ctx context.Context, file, dir string) error {
	want, err := readManifest(file)
	if err != nil {
		return err
	}
	var sum string
	err = replaceFile(kv.Path(dir), func(w io.Writer) (err error) {
		sum, err = copyFile(ctx, w, file)
		return err
	})
	switch {
	case err != nil:
		return named(file, err)
	case want != nil && want.SHA256 != sum:
		return fmt.Errorf("%s is not what %s tells of: it was changed or cut short", file, filepath.Base(manifestOf(file)))
	}
	err = m.verifyCopy(ctx, (*exec.Cmd).Start, dir)
	switch {
	case errors.Is(err, errUnchecked):
		return fmt.Errorf("%s was not restored: %w", file, err)
	case err != nil:
		return fmt.Errorf("%s cannot be restored: %w", file, err)
	}
	return nil
}

// readManifest reads what was written beside a backup; nil where there is nothing.
func readManifest(file string) (*manifest, error) { return manifestIn(manifestOf(file)) }

// manifestIn reads a manifest; nil where there is no file.
func manifestIn(name string) (*manifest, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, named(name, err)
	}
	made := &manifest{}
	if err := json.Unmarshal(text, made); err != nil || made.SHA256 == "" {
		return nil, fmt.Errorf("%s is no manifest of a backup", name)
	}
	return made, nil
}

// beginAgain begins a new epoch in a restored copy.
func (m *Main) beginAgain(set *settings, dir string) (done restored, err error) {
	store, err := kv.Open(kv.Config{Dir: dir, Zone: set.zone, Built: buildTime(), Logger: m.logger(slog.LevelError), Restored: true})
	if err != nil {
		return restored{}, err
	}
	done = restored{Realm: store.Realm(), Node: store.Node(), Epoch: store.Epoch(), Seq: store.Seq()}
	return done, store.Close()
}
