package docs

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/merge"
	"doorward/kv/table"
)

// ErrDatabaseName says that a name is not one of a database: lower case, a letter first, as in CouchDB.
var ErrDatabaseName = errors.New("not a database name")

// ErrDocumentID says that an id is not one of a document.
var ErrDocumentID = fmt.Errorf("%w: its id", merge.ErrDocument)

// ErrNoBlob says that no blob has the bytes of an attachment.
var ErrNoBlob = errors.New("an attachment's bytes are not there")

// freeDatabase is a database of documents without record rules.
type freeDatabase struct {
	DatabaseInfo
	docStore
	blobs
	id uint64
}

func newFreeDatabase(info DatabaseInfo, id uint64) *freeDatabase {
	ds := docStore{table.FreeDocuments(id)}
	return &freeDatabase{info, ds, ds.blobs(), id}
}

var databaseName = regexp.MustCompile(`^[a-z][a-z0-9_$()+/-]{0,237}$`)

// freeBuckets hold rows that begin with a database's id.
var freeBuckets = []engine.Bucket{table.FreeDocBucket, table.FreeBodyBucket, table.FreeLogBucket, table.FreeLocalBucket, table.FreeBlobBucket, table.FreeChunkBucket, table.FreeRefBucket, table.FreeLooseBucket}

// freeSweep is how many rows of a deleted database one operation removes.
const freeSweep = 500

// freeName returns nil for a name that a free database may have, ErrDatabaseName for one that no database has, and a *Forbidden
// for one that belongs to a database with record rules.
func freeName(name string) error {
	switch {
	case !databaseName.MatchString(name):
		return ErrDatabaseName
	case name == "records", strings.HasPrefix(name, "reference"), strings.HasPrefix(name, "event-"), strings.HasPrefix(name, "church-"):
		return &auth.Forbidden{CurrentScopes: []string{}, Reason: "the name is reserved"}
	}
	return nil
}

// Free tells whether it is a database of documents without record rules.
func (d DatabaseInfo) Free() bool { return freeName(d.Name) == nil }

// CreateDatabase makes an empty database. It returns ErrDatabaseName, ErrConflict if the database exists, or *Forbidden.
func (ds *Set) CreateDatabase(p auth.Principal, name string) error {
	if err := p.CheckRule(); err != nil {
		return err
	}
	if err := freeName(name); err != nil {
		if there, failed := ds.reserved(name); there || failed != nil {
			err = errors.Join(failed, &table.Conflict{Reason: "the database is there already"})
		}
		return err
	}
	if err := ds.tables.Folder.Room.Check(disk.Creates); err != nil {
		return err
	}
	return ds.tables.Do(ds.standing.By(p, func(o *table.Tx) error {
		row, err := o.Get(table.FreeBucket, []byte(name))
		if err != nil {
			return err
		}
		if row != nil {
			return &table.Conflict{Reason: "the database is there already"}
		}
		seq, last, err := table.FreeCounters(o.View.View)
		if err != nil {
			return err
		}
		table.PutFreeCounters(o.Tx, seq, last+1)
		putDatabase(o.Tx, newFreeDatabase(DatabaseInfo{Name: name, Created: time.UnixMicro(o.Stamp)}, last+1))
		return nil
	}))
}

// DeleteDatabase deletes a database and what it holds. It is gone with the first operation; its rows go in further ones. If these fail, the
// database is not there any more: a second DeleteDatabase removes the rest, and returns ErrNotFound.
func (ds *Set) DeleteDatabase(p auth.Principal, name string) error {
	if err := p.CheckRule(); err != nil {
		return err
	}
	if err := freeName(name); err != nil {
		return err
	}
	err := ds.tables.Do(ds.standing.By(p, func(o *table.Tx) error {
		db, err := database(o.View.View, name)
		if err != nil {
			return err
		}
		o.Delete(table.FreeBucket, []byte(name))
		o.Put(table.FreeBucket, deadKey(db.id), nil)
		o.Rung = append(o.Rung, table.FeedName{Free: name})
		return nil
	}))
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return err
	}
	return cmp.Or(ds.sweep(context.Background()), err)
}

// Databases lists the databases that p may read, in order of their names.
func (ds *Set) Databases(p auth.Principal) (all []DatabaseInfo, err error) {
	err = ds.tables.View(func(v *table.View) error {
		if p, err = ds.standing(v, p); err != nil {
			return err
		}
		if err := p.Check("sync", "GET"); err != nil {
			return err
		}
		if all, err = scopesOf(v, p); err != nil {
			return err
		}
		return v.Scan(table.FreeBucket, nil, []byte("a"), func(key, row []byte) (bool, error) {
			db, err := parseDatabase(string(key), row)
			if err == nil {
				all = append(all, db.DatabaseInfo)
			}
			return true, err
		})
	})
	slices.SortFunc(all, func(a, b DatabaseInfo) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

func (db *freeDatabase) info() (DatabaseInfo, error) { return db.DatabaseInfo, nil }

func (db *freeDatabase) feed() table.FeedName { return table.FeedName{Free: db.Name} }

func (db *freeDatabase) localPrefix() []byte { return db.key() }

func (db *freeDatabase) maySee(p auth.Principal) error { return p.Check("sync", "GET") }

func (db *freeDatabase) mayWrite(p auth.Principal) error {
	if err := db.maySee(p); err != nil {
		return err
	}
	return p.Check("sync", "POST")
}

// database reads a database's row. It returns ErrNotFound if there is none.
func database(r *engine.View, name string) (*freeDatabase, error) {
	if name == "" || name[0] < 'a' {
		return nil, table.ErrNotFound
	}
	row, err := r.Get(table.FreeBucket, []byte(name))
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, table.ErrNotFound
	}
	return parseDatabase(name, row)
}

func parseDatabase(name string, row []byte) (*freeDatabase, error) {
	c := table.Cutter{Rest: row}
	db := newFreeDatabase(DatabaseInfo{Name: name}, c.Uvarint())
	db.Created = time.UnixMicro(int64(c.Uint64())).UTC()
	db.Docs, db.Deleted, db.Seq = int(c.Uvarint()), int(c.Uvarint()), c.Uvarint()
	if c.Short || len(c.Rest) > 0 {
		return db, engine.ErrCorrupt
	}
	return db, nil
}

// putDatabase writes a database's row: id, created, live, deleted, sequence.
func putDatabase(w *engine.Tx, db *freeDatabase) {
	row := binary.AppendUvarint(nil, db.id)
	row = binary.BigEndian.AppendUint64(row, uint64(db.Created.UnixMicro()))
	row = binary.AppendUvarint(row, uint64(db.Docs))
	row = binary.AppendUvarint(row, uint64(db.Deleted))
	w.Put(table.FreeBucket, []byte(db.Name), binary.AppendUvarint(row, db.Seq))
}

// deadKey is the key of a deleted database of which some rows are left. No name begins with its first byte.
func deadKey(id uint64) []byte { return binary.AppendUvarint([]byte{0}, id) }

// sweepAgain is how long a sweep waits that the writer or the disk has no room for.
const sweepAgain = time.Minute

// Start removes what is left of databases of which a crash or a full disk has interrupted the deletion, beside serving. Close ends that.
func (ds *Set) Start() {
	var dead [][]byte
	err := ds.tables.Glance(func(v *table.View) (err error) {
		dead, err = table.FirstKeys(v.View, table.FreeBucket, []byte{0}, 1)
		return err
	})
	if err == nil && len(dead) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ds.close = cancel
	ds.sweeping.Go(func() { ds.sweepLeft(ctx) })
}

// Close ends the goroutine that Start has started, and waits for it.
func (ds *Set) Close() {
	if ds.close != nil {
		ds.close()
	}
	ds.sweeping.Wait()
}

// sweepLeft sweeps until nothing is left, ctx ends, or the file cannot be read.
func (ds *Set) sweepLeft(ctx context.Context) {
	for {
		err := ds.sweep(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case !errors.Is(err, engine.ErrBusy) && !errors.Is(err, disk.ErrFull):
			ds.tables.Log.Warn("the rest of a deleted database cannot be removed; the next start tries again", slog.Any("cause", err))
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepAgain):
		}
	}
}

// sweep removes the rows of all deleted databases, until ctx ends.
func (ds *Set) sweep(ctx context.Context) error {
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := ds.tables.Do(func(o *table.Tx) (err error) {
			more, err = sweepDead(o)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sweepDead removes some rows of a deleted database, and tells whether more may be left.
func sweepDead(o *table.Tx) (more bool, err error) {
	dead, err := table.FirstKeys(o.View.View, table.FreeBucket, []byte{0}, 1)
	if err != nil || len(dead) == 0 {
		return false, err
	}
	for _, b := range freeBuckets {
		keys, err := table.FirstKeys(o.View.View, b, dead[0][1:], freeSweep)
		if err != nil {
			return false, err
		}
		for _, key := range keys {
			o.Delete(b, key)
		}
		if len(keys) > 0 {
			return true, nil
		}
	}
	o.Delete(table.FreeBucket, dead[0])
	return true, nil
}
