package docs

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// ErrDocumentID says that an id is not one of a document.
var ErrDocumentID = fmt.Errorf("%w: its id", merge.ErrDocument)

// ErrNoBlob says that no blob has the bytes of an attachment.
var ErrNoBlob = errors.New("an attachment's bytes are not there")

// freeDatabase is a database of documents without record rules.
type freeDatabase struct {
	DatabaseInfo
	docStore
	blobs
	id      uint64
	unsized bool // the row is of format 6, which has no size
}

func newFreeDatabase(info DatabaseInfo, id uint64) *freeDatabase {
	ds := docStore{table.FreeDocuments(id)}
	return &freeDatabase{DatabaseInfo: info, docStore: ds, blobs: ds.blobs(), id: id}
}

// freeBuckets hold rows that begin with a database's id.
var freeBuckets = []engine.Bucket{table.FreeDocBucket, table.FreeBodyBucket, table.FreeLogBucket, table.FreeLocalBucket, table.FreeBlobBucket, table.FreeChunkBucket, table.FreeRefBucket, table.FreeLooseBucket}

// freeSweep is how many rows of a deleted database one operation removes.
const freeSweep = 500

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

func (db *freeDatabase) info() (DatabaseInfo, error) { return db.DatabaseInfo, nil }

func (db *freeDatabase) feed() table.FeedName { return table.FeedName{Free: db.Name} }

func (db *freeDatabase) localPrefix() []byte { return db.key() }

// maySee returns nil if p may read the database. A level below denomination was refused before the database was looked for.
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
	if err != nil || row == nil {
		return nil, table.OrNotFound(err)
	}
	return parseDatabase(name, row)
}

func parseDatabase(name string, row []byte) (*freeDatabase, error) {
	c := table.Cutter{Rest: row}
	db := newFreeDatabase(DatabaseInfo{Name: name}, c.Uvarint())
	db.Created = time.UnixMicro(int64(c.Uint64())).UTC()
	db.Docs, db.Deleted, db.Seq = int(c.Uvarint()), int(c.Uvarint()), c.Uvarint()
	if db.unsized = len(c.Rest) == 0; !db.unsized {
		db.Size = int64(c.Uvarint())
	}
	if c.Short || len(c.Rest) > 0 {
		return db, engine.ErrCorrupt
	}
	return db, nil
}

// putDatabase writes a database's row: id, created, live, deleted, sequence, size.
func putDatabase(w *engine.Tx, db *freeDatabase) {
	row := binary.AppendUvarint(nil, db.id)
	row = binary.BigEndian.AppendUint64(row, uint64(db.Created.UnixMicro()))
	row = binary.AppendUvarint(row, uint64(db.Docs))
	row = binary.AppendUvarint(row, uint64(db.Deleted))
	row = binary.AppendUvarint(row, db.Seq)
	w.Put(table.FreeBucket, []byte(db.Name), binary.AppendUvarint(row, uint64(db.Size)))
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

// write stores one revision and answers its name.
func (db *freeDatabase) write(o *table.Tx, p auth.Principal, in *merge.DocWrite) (rev.ID, error) {
	d, err := db.Load(o.View.View, in.ID)
	if err != nil {
		return rev.ID{}, err
	}
	path, leaf := in.Path, rev.Node{Deleted: in.Deleted, Held: true}
	if path == nil {
		leaf.At, leaf.Key = o.Stamp, p.Key()
		if path, err = in.EditOf(&d.Tree, hashed(in.Content, in.Attachments)); err != nil {
			return rev.ID{}, err
		}
	}
	if len(path) > 0 && !d.Tree.Has(path[0]) && !p.IsOperator() {
		if err := o.Store.Rules.Limits.MayBranch(&d.Tree, path); err != nil {
			return rev.ID{}, err
		}
	}
	isNew, err := db.add(o, &d, in, path, leaf)
	if err != nil {
		return rev.ID{}, err
	}
	if isNew {
		if err = db.place(o, in.ID, &d); err == nil {
			err = db.charge(o, db.quota(o, p, in.Deleted))
		}
	}
	return path[0], err
}

// upload writes a part of an upload, as far as the database has room.
func (db *freeDatabase) upload(o *table.Tx, p auth.Principal, up *upload, part []byte, last bool) (merge.Blob, error) {
	b, err := db.blobs.upload(o, up, part, last)
	if err != nil {
		return merge.Blob{}, err
	}
	return b, db.charge(o, db.quota(o, p, false))
}

// discard removes some of what an upload has written, and reports whether more may be left.
func (db *freeDatabase) discard(o *table.Tx, up *upload) (more bool, err error) {
	loose := db.looseKey(up.at, up.number)
	if row, err := o.Get(table.FreeLooseBucket, loose); err != nil || row == nil {
		return false, err
	}
	if more, err = db.sweepChunks(o, loose, up.number); err != nil {
		return false, err
	}
	return more, db.charge(o, math.MaxInt64)
}

// place puts a document's row, moves its row in the log to the end, and counts.
func (db *freeDatabase) place(o *table.Tx, id string, d *table.Document) error {
	seq, last, err := table.FreeCounters(o.View.View)
	if err != nil {
		return err
	}
	if d.Seq != 0 {
		db.count(d.Deleted, -1)
	}
	db.Seq = seq + 1
	db.Place(o, id, d, db.Seq)
	db.count(d.Deleted, 1)
	table.PutFreeCounters(o.Tx, db.Seq, last)
	o.Rung = append(o.Rung, table.FeedName{Free: db.Name})
	return db.sweepLoose(o)
}

// count counts a document in or out.
func (db *DatabaseInfo) count(deleted bool, n int) {
	if deleted {
		db.Deleted += n
	} else {
		db.Docs += n
	}
}

// Compact drops the bodies of all revisions of a free database's documents, except those of leaves. The names of the revisions
// stay known. In a database of records it does nothing, because merges need the bodies. It returns *Forbidden for a principal
// that may not delete databases, ErrNotFound, or the error of ctx.
func (db *Database) Compact(ctx context.Context) error {
	var free *freeDatabase
	p, err := viewAs(db, documents.mayWrite, func(_ *table.View, docs documents) error {
		free, _ = docs.(*freeDatabase)
		return nil
	})
	if err != nil || free == nil {
		return err
	}
	if err := p.CheckRule(); err != nil {
		return err
	}
	superseded := func(_ *table.View, _, row []byte) (bool, error) {
		d, err := table.ParseDocument(row)
		return len(table.TrimToLeaves(&d.Tree)) > 0, cmp.Or(err, ctx.Err())
	}
	return db.store.tables.DoEachRow(free.Rows, free.Prefix, superseded, func(o *table.Tx, key []byte) error {
		return db.store.standing.By(p, func(o *table.Tx) error { return compactFree(o, free, string(key[len(free.Prefix):])) })(o)
	})
}

// compactFree drops the bodies of a document's superseded revisions. It returns ErrNotFound if the database was deleted since it was found.
func compactFree(o *table.Tx, found *freeDatabase, id string) error {
	db, err := database(o.View.View, found.Name)
	if err != nil || db.id != found.id {
		return table.OrNotFound(err)
	}
	d, err := db.Load(o.View.View, id)
	if err != nil || d.Seq == 0 {
		return table.OrCorrupt(err)
	}
	if err := db.dropBodies(o, id, table.TrimToLeaves(&d.Tree)); err != nil {
		return err
	}
	db.Put(o, id, &d)
	return db.charge(o, math.MaxInt64)
}
