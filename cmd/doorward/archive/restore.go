package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/folder"
	"doorward/kv"
	"doorward/kv/backup"
	"doorward/kv/disk"
	"doorward/kv/laptop"
	"doorward/kv/table"
	"doorward/sync/venue"
)

// Restored is what a restore has done.
type Restored struct {
	Realm string `json:"realm"`
	Node  string `json:"node"`
	Epoch string `json:"epoch"` // the new one
	Seq   uint64 `json:"seq"`   // of the latest change in the backup
	Kept  string `json:"kept"`  // the file that was replaced; "" = there was none

	Unsent *int `json:"unsent"` // changes of a laptop in that file that never reached its centre; nil = not known, or no file
}

// A restore while serve runs is one request to the server: POST RestorePath?folder=…&realm=…&node=…. It is answered with Replaced when the
// server serves the restored store. folder is a work folder of RestorePurpose in the store's folder; realm and node are those of the store
// in it.
const (
	RestorePath    = "/control/restore"
	RestorePurpose = "restore"
)

// Replaced is the answer to the request.
type Replaced struct {
	Kept string `json:"kept"` // the file that was replaced
}

// Restore makes a whole store of a backup in a work folder, then puts it in place. A store that is there is replaced only on demand.
func Restore(ctx context.Context, o control.Opening, file string, replace bool) (done Restored, err error) {
	if err := checkRestore(o, replace); err != nil {
		return done, err
	}
	done, err = restore(ctx, o, file, replace)
	switch {
	case errors.Is(err, console.ErrStopped) && o.HasStore():
		return done, fmt.Errorf("%w; the store in the folder %s was not replaced", console.ErrStopped, o.Dir)
	case errors.Is(err, console.ErrStopped):
		return done, fmt.Errorf("%w; nothing was restored", console.ErrStopped)
	case err != nil:
		return done, err
	}
	if done.Kept != "" {
		if n, _, err := unsent(ctx, o.Folder, done.Kept); err == nil { // a damaged file may be the reason to restore
			done.Unsent = &n
		}
	}
	return done, nil
}

// checkRestore refuses to replace a store without the flag for that.
func checkRestore(o control.Opening, replace bool) error {
	if err := o.Check(); err != nil {
		return err
	}
	if err := folder.CheckWritable(o.Dir); err != nil {
		return err
	}
	if o.HasStore() && !replace {
		return errHolds(o.Dir)
	}
	return nil
}

func errHolds(dir string) error {
	return fmt.Errorf("the folder %s holds a congregation; with --replace the backup takes its place, and the old file is kept beside it", dir)
}

func restore(ctx context.Context, o control.Opening, file string, replace bool) (done Restored, err error) {
	missing := folder.Missing(o.Dir)
	defer func() {
		if err != nil {
			folder.RemoveEmpty(missing)
		}
	}()
	if err := disk.MakeFolder(o.Dir); err != nil {
		return done, err
	}
	if err := checkSource(o, file); err != nil {
		return done, err
	}
	folder.Tidy(o.Dir, o.Console.Logger(slog.LevelWarn))
	dir, away, err := disk.MakeWorkFolder(o.Dir, RestorePurpose)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, away()) }()
	if err := fetch(ctx, o, file, dir); err != nil {
		return done, err
	}
	if done, err = beginEpoch(o, dir); err != nil {
		return Restored{}, fmt.Errorf("%s: %w", file, err)
	}
	done.Kept, err = place(ctx, o, dir, placing{done, replace})
	return done, err
}

// checkSource refuses a file without an end, as a pipe, and a file so large that a server beside it would lack room.
func checkSource(o control.Opening, file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return backup.Named(file, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file, and so no backup", file)
	}
	name := backup.ManifestOf(file)
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file, and so no manifest of a backup", name)
	}
	return o.CheckRoom("a copy of the backup", info.Size())
}

// fetch copies a backup into a folder. It refuses a backup that differs from its manifest, or is damaged.
func fetch(ctx context.Context, o control.Opening, file, dir string) error {
	name := backup.ManifestOf(file)
	want, err := backup.ReadManifest(name)
	if err != nil {
		return err
	}
	var sum string
	err = backup.Replace(table.Path(dir), func(w io.Writer) (err error) {
		sum, err = backup.Copy(ctx, w, file)
		return err
	})
	switch {
	case err != nil:
		return console.Stopped(ctx, backup.Named(file, err))
	case want != nil && want.SHA256 != sum:
		return fmt.Errorf("%s is not what %s tells of: it was changed or cut short", file, filepath.Base(name))
	}
	err = checkCopy(ctx, o, startChild, dir)
	switch {
	case errors.Is(err, console.ErrStopped):
		return err
	case errors.Is(err, errUnchecked):
		return fmt.Errorf("%s was not restored: %w", file, err)
	case err != nil: // it may name the copy, which is gone by now
		return fmt.Errorf("%s cannot be restored: %s", file, strings.ReplaceAll(err.Error(), table.Path(dir), file))
	}
	return nil
}

// beginEpoch begins a new epoch in a restored copy.
func beginEpoch(o control.Opening, dir string) (done Restored, err error) {
	store, err := kv.Open(kv.Config{Dir: dir, Zone: o.Zone, Built: o.Built, Logger: o.Console.Logger(slog.LevelError), Restored: true})
	if err != nil {
		return done, err
	}
	done = Restored{Realm: store.Tables.Identity.Realm(), Node: store.Tables.Identity.Node(), Epoch: store.Tables.Epochs.Present(), Seq: store.Tables.Commits.Seq()}
	return done, store.Close()
}

// placing is a restored store on its way to its place.
type placing struct {
	next    Restored
	replace bool // a store that is there gives way
}

// place has the server put the restored store in its place, or does it where no server runs. A store that was made since the restore began
// is a store that is there.
func place(ctx context.Context, o control.Opening, dir string, p placing) (kept string, err error) {
	if control.Answers(ctx, o.Dir) {
		if !p.replace {
			return "", errHolds(o.Dir)
		}
		return askServer(ctx, o, dir, p.next)
	}
	if ctx.Err() != nil {
		return "", console.ErrStopped // a server may run all the same
	}
	seen, err := checkPlace(o.Dir, p.next)
	if seen != nil && !p.replace {
		return "", errHolds(o.Dir)
	}
	if err == nil {
		kept, err = backup.ReplaceSeen(o.Dir, table.Path(dir), seen, time.Now(), o.Console.Logger(slog.LevelWarn))
	}
	if errors.Is(err, disk.ErrInUse) {
		err = folder.Busy(o.Dir)
	}
	return kept, err
}

var errEnded = errors.New("the server ended before the backup could take the store's place: the store was not replaced and goes on; try again")

// askServer asks the server to put a restored store in the place of its own. The server, the command or both may end at any moment: the
// restored file leaves its work folder in one step, and that alone says whether the store was replaced.
func askServer(ctx context.Context, o control.Opening, dir string, next Restored) (kept string, err error) {
	older, _ := o.Replaced() // without the right to read the folder none is named
	l := control.ViaSocket(o)
	defer func() { err = errors.Join(err, l.Close()) }()
	q := url.Values{"folder": {filepath.Base(dir)}, "realm": {next.Realm}, "node": {next.Node}}
	done, err := control.Ask[Replaced](ctx, l, control.Post(RestorePath, q))
	if err == nil {
		return done.Kept, nil
	}
	silent := errors.Is(err, control.ErrNoAnswer) || errors.Is(err, console.ErrStopped)
	replaced, failed := withdraw(dir)
	switch {
	case failed != nil:
		return "", errors.Join(err, failed)
	case replaced && silent:
		return newestKept(o.Folder, older), nil
	case errors.Is(err, control.ErrNoAnswer):
		return "", errEnded
	}
	return "", err
}

// withdraw takes the restored store from the server, unless the server was faster. The whole folder is moved: a server that is just at it
// could make a file in it again.
func withdraw(dir string) (replaced bool, err error) {
	aside := dir + "-withdrawn"
	if err := os.Rename(dir, aside); err != nil {
		return false, fmt.Errorf("the backup cannot be taken back, and may take the store's place yet: %w", err)
	}
	return !folder.Exists(table.Path(aside)), disk.RemoveAll(aside)
}

// newestKept is the store that was kept when another replaced it, where the server cannot be asked.
func newestKept(f *folder.Folder, older []string) string {
	names, _ := f.Replaced() // as above
	for _, name := range names {
		if filepath.Ext(name) == ".db" && !slices.Contains(older, name) { // a log was set aside with it
			return filepath.Join(f.Dir, name)
		}
	}
	return ""
}

// Why a store is not replaced: its ids, erasures and laptops would be taken for those of another congregation, or its keys and records would
// be missing, as a laptop has few of its centre's.
var (
	errOtherRealm = errors.New("the backup is of another congregation than the one in the folder, which stays; restore it into an empty folder")
	errOtherNode  = errors.New("the backup is of another node of this congregation, as a laptop or its centre, than the one in the folder, which stays; restore it into an empty folder")
)

// CheckReplace refuses to replace the records of another congregation or node than those of the restored store. Damaged records may be the
// reason to replace them.
func CheckReplace(store *kv.Store, realm, node string) error {
	switch {
	case realm == store.Tables.Identity.Realm() && node == store.Tables.Identity.Node(), !errors.Is(store.Laptop.MayJoin(), laptop.ErrOtherRealm):
		return nil
	case realm != store.Tables.Identity.Realm():
		return errOtherRealm
	}
	return errOtherNode
}

// checkPlace is CheckReplace for a folder without a server. It returns the store's file as it is, also after an error; nil where there is
// none. A store that cannot be read may be replaced. It returns disk.ErrInUse while another process has the store open.
func checkPlace(dir string, next Restored) (seen fs.FileInfo, err error) {
	path := table.Path(dir)
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
	case errors.Is(err, disk.ErrInUse):
		return nil, err
	case err != nil:
		return seen, nil
	}
	err = CheckReplace(store, next.Realm, next.Node)
	_ = store.Close() // its faults go with it
	if err != nil {
		return seen, err
	}
	return os.Stat(path) // to close it may change it
}

// unsent is how many changes of a laptop's store file its centre lacks, as far as is known; 0 for a store without a centre. laptop tells whether it has one.
func unsent(ctx context.Context, f *folder.Folder, file string) (n int, laptop bool, err error) {
	dir, done, err := OpenFile(ctx, file)
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, done()) }()
	store, err := kv.Open(kv.Config{Dir: dir, Zone: f.Zone, Built: f.Built, Machine: f.Machine, Aside: true})
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	n, _, err = venue.Backlog(store)
	return n, store.Tables.Identity.IsLeaf(), err
}

// Wipe clears the folder of a laptop. It keeps each replaced store that may hold changes which never reached the centre, and returns their names. A store
// that cannot be read or names no centre, and a log that was set aside, are kept too.
func Wipe(ctx context.Context, f *folder.Folder) (kept []string, err error) {
	replaced, err := f.Replaced()
	if err != nil {
		return nil, err
	}
	for _, name := range replaced {
		if n, laptop, err := unsent(ctx, f, filepath.Join(f.Dir, name)); err != nil || !laptop || n > 0 { // a log is no store: an error
			kept = append(kept, name)
		}
	}
	return kept, folder.Clear(f.Dir, kept...)
}

// OpenFile makes a folder with the store's file in it. done removes the folder, and leaves the file.
func OpenFile(ctx context.Context, file string) (dir string, done func() error, err error) {
	dir, done, err = disk.MakeWorkFolder(filepath.Dir(file), "look")
	if err != nil {
		return "", nil, err
	}
	if err := os.Link(file, table.Path(dir)); err != nil { // some file systems have no links
		err = backup.Replace(table.Path(dir), func(w io.Writer) error {
			_, err := backup.Copy(ctx, w, file)
			return err
		})
		if err != nil && !errors.Is(err, disk.ErrUnfit) { // it is only looked at
			return "", nil, errors.Join(console.Stopped(ctx, err), done())
		}
	}
	return dir, done, nil
}
