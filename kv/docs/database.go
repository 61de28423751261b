package docs

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"doorward/kv/auth"
	"doorward/kv/crash"
	"doorward/kv/disk"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// DocPage is the largest number of rows that a method of a database returns at once, and pageBytes about how many bytes of
// bodies.
const (
	DocPage   = 1000
	pageBytes = 4 << 20
)

// Set opens, makes and deletes databases of documents.
type Set struct {
	tables   *table.Set
	standing table.Standing
	close    context.CancelFunc // ends the sweep that Start has begun; nil = there is none
	sweeping sync.WaitGroup
}

func New(t *table.Set, standing table.Standing) *Set {
	return &Set{tables: t, standing: standing}
}

// Database is one database of documents as one principal uses it (sync.md §1). Each method checks again that the database
// exists and what the principal may do: it returns ErrNotFound or *Forbidden. A Database holds no state and may be used by
// several goroutines.
type Database struct {
	store     *Set
	principal auth.Principal
	name      string
}

// DatabaseInfo describes a database.
type DatabaseInfo struct {
	Name    string
	Docs    int       // documents with a winner that is not deleted
	Deleted int       // documents with a tombstone as winner
	Seq     uint64    // of its latest change; 0 = none
	Created time.Time // in microseconds; it is the same after a restart
	Size    int64     // bytes that the rows of a free database take in the file; 0 for a database of records
}

// documents is the content of a database, as one View or one transaction sees it. Its methods take the View to read from,
// because a database's row is valid only within its transaction. The principal is judged once, right after the database is
// found.
type documents interface {
	info() (DatabaseInfo, error)
	feed() table.FeedName // names the bell that its changes ring
	localPrefix() []byte  // of the keys of its local documents, those of all principals
	maySee(p auth.Principal) error
	mayWrite(p auth.Principal) error

	rows(v *table.View, f Feed, fn func(table.ScopeChange) (bool, error)) error // of the log, between the feed's bounds
	latest(v *table.View, id string) (table.ScopeChange, error)                 // of a document; Seq 0: it has none
	change(v *table.View, c table.ScopeChange, bodies bool) (DocChange, error)  // that a row of the log names
	list(v *table.View, r Range) (ids []string, err error)
	missing(v *table.View, asked merge.Revs) (MissingRevs, error)
	read(v *table.View, id string, ask Ask) (Doc, error)
	chunk(v *table.View, sum [32]byte, n uint64) (bytes []byte, more bool, err error)

	write(o *table.Tx, p auth.Principal, in *merge.DocWrite) (rev.ID, error)
	upload(o *table.Tx, p auth.Principal, up *upload, part []byte, last bool) (merge.Blob, error)
	discard(o *table.Tx, up *upload) (more bool, err error) // removes a part of an upload that will not be finished
}

// openDocuments finds a database by its name. It returns ErrNotFound if there is none, and *Forbidden for a name that is not reserved if p is
// below denomination level: p does not learn which free databases exist.
func openDocuments(v *table.View, p auth.Principal, name string) (documents, error) {
	if db := recordDatabase(v, name); db != nil {
		return db, nil
	}
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	db, err := database(v.View, name)
	if err != nil {
		return nil, err // a nil *freeDatabase would be no nil documents
	}
	return db, nil
}

// Database opens a database. It returns ErrDatabaseName, ErrNotFound if there is none of this name, or *Forbidden.
func (ds *Set) Database(p auth.Principal, name string) (*Database, error) {
	if !databaseName.MatchString(name) {
		return nil, ErrDatabaseName
	}
	db := &Database{store: ds, principal: p, name: name}
	return db, db.touch(func(*table.View, documents) error { return nil })
}

// Name is the database's name.
func (db *Database) Name() string { return db.name }

// Free tells whether it is a database of documents without record rules.
func (db *Database) Free() bool { return freeName(db.name) == nil }

// view reads the database in one View.
func (db *Database) view(fn func(*table.View, documents) error) error {
	_, err := viewAs(db, documents.maySee, fn)
	return err
}

// touch runs fn in one View for a principal that may read the database or write to it. fn reads only what a writer may know
// too.
func (db *Database) touch(fn func(*table.View, documents) error) error {
	_, err := viewAs(db, func(docs documents, p auth.Principal) error {
		err := docs.maySee(p)
		if err != nil && docs.mayWrite(p) == nil {
			return nil
		}
		return err
	}, fn)
	return err
}

// judge checks that the principal may write to the database, before the operation goes to the writer.
func (db *Database) judge() (p auth.Principal, err error) {
	return viewAs(db, documents.mayWrite, func(*table.View, documents) error { return nil })
}

// viewAs reads the database in one View, if may allows it to the principal as its key is now.
func viewAs(db *Database, may func(documents, auth.Principal) error, fn func(*table.View, documents) error) (p auth.Principal, err error) {
	err = db.store.tables.View(func(v *table.View) (err error) {
		// Once the View is taken: what was written after the key had ended is not for it.
		if p, err = db.store.standing(v, db.principal); err != nil {
			return err
		}
		docs, err := openDocuments(v, p, db.name)
		if err == nil {
			err = may(docs, p)
		}
		if err != nil {
			return err
		}
		return fn(v, docs)
	})
	return p, err
}

// MayRead returns nil if the principal may read the documents, not only write some of them.
func (db *Database) MayRead() error {
	return db.view(func(*table.View, documents) error { return nil })
}

// answer returns what fn reads of the database in one View.
func answer[T any](db *Database, fn func(*table.View, documents) (T, error)) (found T, err error) {
	err = db.view(func(v *table.View, docs documents) (err error) {
		found, err = fn(v, docs)
		return err
	})
	return found, err
}

// Info describes the database. A principal that only writes to it gets no info: the counts are for readers.
func (db *Database) Info() (DatabaseInfo, error) {
	return answer(db, func(_ *table.View, docs documents) (DatabaseInfo, error) { return docs.info() })
}

// Created is when the database was made, in microseconds. A principal that only writes to it may know.
func (db *Database) Created() (at time.Time, err error) {
	err = db.touch(func(_ *table.View, docs documents) error {
		info, err := docs.info()
		at = info.Created
		return err
	})
	return at, err
}

// Changes reads the database's log after a sequence, oldest first or newest first. more tells that the page ends before the log
// does.
func (db *Database) Changes(f Feed) (page []DocChange, more bool, err error) {
	err = db.view(func(v *table.View, docs documents) (err error) {
		page, more, err = readChanges(v, docs, f)
		return err
	})
	return page, more, err
}

// Pending is how many changes lie beyond a sequence: exactly up to 10,000, of more it may say too many.
func (db *Database) Pending(since uint64) (int, error) {
	return answer(db, func(v *table.View, docs documents) (int, error) { return pending(v, docs, since) })
}

// Await returns nil once the database has a change after a sequence; ErrNotFound once it is gone, or the error of ctx. Waiting
// costs nothing while other databases change.
func (db *Database) Await(ctx context.Context, since uint64) error {
	name, err := answer(db, func(_ *table.View, docs documents) (table.FeedName, error) { return docs.feed(), nil })
	for err == nil {
		heard, leave := db.store.tables.Commits.Bells.Hear(name)
		info, failed := db.Info() // after the ear is at the bell: what happens between the two rings
		if failed != nil || info.Seq > since {
			leave()
			return failed
		}
		select {
		case <-heard:
		case <-ctx.Done():
			err = ctx.Err()
		}
		leave()
	}
	return err
}

// Missing returns the result of _revs_diff, one for each document in the same order.
func (db *Database) Missing(asked []merge.Revs) (answers []MissingRevs, err error) {
	for part := range slices.Chunk(asked, DocPage) {
		err = db.touch(func(v *table.View, docs documents) error {
			for _, a := range part {
				m, err := docs.missing(v, a)
				if err != nil {
					return err
				}
				answers = append(answers, m)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// Read reads a document, deleted or not. It returns ErrNotFound if there is none.
func (db *Database) Read(id string, ask Ask) (Doc, error) {
	return answer(db, func(v *table.View, docs documents) (Doc, error) { return docs.read(v, id, ask) })
}

// List lists the ids of the live documents in the order of their bytes. Fewer than Limit are the last.
func (db *Database) List(r Range) ([]string, error) {
	return answer(db, func(v *table.View, docs documents) ([]string, error) { return docs.list(v, r) })
}

// Write stores up to MaxRows revisions, each on its own: a bad one blocks none. One that is known already changes nothing.
// The error is the store's own, or *Forbidden.
func (db *Database) Write(writes []merge.DocWrite) ([]DocResult, error) {
	if len(writes) > table.MaxRows {
		return nil, errors.New("too many documents for one operation")
	}
	p, err := db.judge()
	if err != nil {
		return nil, err
	}
	if err := db.store.tables.Folder.Room.Check(useOf(writes)); err != nil {
		return nil, err // the whole write fails: a client never sends a document again that was refused alone
	}
	results := make([]DocResult, len(writes))
	runs := make([]func(*table.Tx) error, len(writes))
	for i := range writes {
		db.store.tables.Yield()
		in, err := prepareDoc(writes[i])
		if err == nil && table.OfRecords(db.name) {
			err = in.OpenRecord()
		}
		runs[i] = db.store.standing.By(p, func(o *table.Tx) error {
			if err != nil {
				return err
			}
			docs, err := openDocuments(o.View, p, db.name)
			if err != nil {
				return err
			}
			results[i].Revision, err = docs.write(o, p, in)
			return err
		})
	}
	errs, err := db.store.tables.DoAll(runs)
	if err != nil {
		return nil, err
	}
	for i, err := range errs {
		if errors.Is(err, table.ErrBadLogin) || errors.Is(err, ErrQuota) {
			return nil, err // as above
		}
		if err != nil {
			results[i] = DocResult{Err: err}
		}
	}
	return results, keepRefused(db, p, writes, results)
}

// useOf returns the use that the documents of one transaction need disk room for. Facts count as check-ins, from any source: a
// laptop must store admissions of other doors, or it would admit again. All documents of a transaction count the same, because
// a transaction is not stored in part.
func useOf(writes []merge.DocWrite) disk.Use {
	isFact := func(w merge.DocWrite) bool {
		k, _, ok := record.ParseDocID(w.ID)
		return ok && k.Fact
	}
	switch {
	case slices.ContainsFunc(writes, isFact):
		return disk.Checkins
	case len(writes) == 1:
		return disk.Creates
	}
	return disk.Imports
}

// PutBlob stores the bytes of an attachment. A document must name them within the hour. It stores them in several operations,
// so that they are never in memory as a whole. It returns ErrNotFound, *Forbidden, or the error of reading the bytes.
func (db *Database) PutBlob(content io.Reader) (merge.Blob, error) {
	p, err := db.judge()
	if err != nil {
		return merge.Blob{}, err
	}
	up := &upload{sha: sha256.New(), md5: md5.New()}
	content = io.TeeReader(content, io.MultiWriter(up.sha, up.md5))
	part := make([]byte, blobChunk) // most are small
	for {
		if err := db.store.tables.Folder.Room.Check(disk.Imports); err != nil {
			return merge.Blob{}, err
		}
		n, last, err := fill(content, part)
		if err != nil {
			return merge.Blob{}, err
		}
		var b merge.Blob
		err = db.store.tables.Do(db.store.standing.By(p, func(o *table.Tx) error {
			docs, err := openDocuments(o.View, p, db.name)
			if err == nil {
				b, err = docs.upload(o, p, up, part[:n], last)
			}
			return err
		}))
		if errors.Is(err, ErrQuota) {
			err = errors.Join(err, db.discard(p, up)) // else it would keep the room for an hour
		}
		if err != nil {
			return merge.Blob{}, err
		}
		if last {
			crash.At(crash.AfterBlob)
			return b, nil
		}
		crash.At(crash.AfterChunk)
		if len(part) == blobChunk {
			part = make([]byte, uploadChunks*blobChunk)
		}
	}
}

// discard removes what an upload has written.
func (db *Database) discard(p auth.Principal, up *upload) error {
	for more := up.number != 0; more; {
		err := db.store.tables.Do(func(o *table.Tx) error {
			docs, err := openDocuments(o.View, p, db.name)
			if err == nil {
				more, err = docs.discard(o, up)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fill reads as much as there is room for; last tells that the content ends there. Of content that breaks off nothing is taken:
// io.ReadFull would not tell the two apart.
func fill(content io.Reader, part []byte) (n int, last bool, err error) {
	for n < len(part) && err == nil {
		var more int
		more, err = content.Read(part[n:])
		n += more
	}
	if errors.Is(err, io.EOF) {
		return n, true, nil
	}
	return n, false, err
}

// Blob writes a blob's bytes to w. No transaction is held while w takes them. It returns ErrNotFound, also if the blob is
// deleted before all its bytes are written.
func (db *Database) Blob(sum [32]byte, w io.Writer) error {
	for n, more := uint64(0), true; more; n++ {
		var part []byte
		err := db.view(func(v *table.View, docs documents) (err error) {
			part, more, err = docs.chunk(v, sum, n)
			return err
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// localKey names a local document: it belongs to one key in one database, is not replicated and has no history.
func localKey(docs documents, p auth.Principal, id string) []byte {
	return append(binary.AppendUvarint(docs.localPrefix(), uint64(p.Key())), id...)
}

// Local reads the principal's own local document and how often it was written. It returns ErrNotFound if there is none.
func (db *Database) Local(id string) (body []byte, written uint64, err error) {
	err = db.touch(func(v *table.View, docs documents) error {
		row, err := v.Get(table.FreeLocalBucket, localKey(docs, db.principal, id))
		if err != nil || row == nil {
			return table.OrNotFound(err)
		}
		c := table.Cutter{Rest: row}
		written, body = c.Uvarint(), bytes.Clone(c.Rest)
		return nil
	})
	return body, written, err
}

// Whatever is what PutLocal takes for a document that may have been written as often as it likes.
const Whatever = math.MaxUint64

// PutLocal sets the principal's own local document and returns how often it was written. A nil body deletes it. A principal
// that may read or write a database may keep a checkpoint in it. PutLocal returns ErrConflict if the document was not written
// as often as before says, unless that is Whatever. It returns ErrNotFound if there is nothing to delete, or ErrDocument,
// ErrTooLarge, ErrQuota.
func (db *Database) PutLocal(id string, body []byte, before uint64) (written uint64, err error) {
	if err := CheckDocID("l" + id); err != nil || id == "" { // one that begins with "_" is as good as any
		return 0, errors.Join(err, merge.ErrDocument)
	}
	if body != nil {
		if body, err = canonicalDoc(body); err != nil {
			return 0, err
		}
	}
	if err := db.touch(func(*table.View, documents) error { return nil }); err != nil {
		return 0, err
	}
	err = db.store.tables.Do(db.store.standing.By(db.principal, func(o *table.Tx) error {
		docs, err := openDocuments(o.View, db.principal, db.name)
		if err != nil {
			return err
		}
		key := localKey(docs, db.principal, id)
		row, err := o.Get(table.FreeLocalBucket, key)
		c := table.Cutter{Rest: row}
		if row != nil {
			written = c.Uvarint()
		}
		switch {
		case err != nil:
			return err
		case body == nil && row == nil:
			return table.ErrNotFound
		case before != Whatever && before != written:
			return &table.Conflict{Reason: "the local document has another revision"}
		case body == nil:
			o.Delete(table.FreeLocalBucket, key)
			return chargeLocal(o, db.principal, docs)
		case row == nil:
			err := table.Fewer(o.View, table.FreeLocalBucket, localKey(docs, db.principal, ""), o.Store.Rules.Limits.Locals, "the key has too many local documents here")
			if err != nil {
				return err
			}
		}
		written++
		o.Put(table.FreeLocalBucket, key, append(binary.AppendUvarint(nil, written), body...))
		return chargeLocal(o, db.principal, docs)
	}))
	return written, err
}

// chargeLocal charges a free database for the local document that the operation has written.
func chargeLocal(o *table.Tx, p auth.Principal, docs documents) error {
	free, ok := docs.(*freeDatabase)
	if !ok {
		return nil
	}
	return free.charge(o, free.quota(o, p, true))
}

// freeName returns nil for a name that a free database may have, ErrDatabaseName for one that no database has, and a *Forbidden
// for one that belongs to a database with record rules.
func freeName(name string) error {
	switch {
	case !databaseName.MatchString(name):
		return ErrDatabaseName
	case name == "records", strings.HasPrefix(name, "reference"), strings.HasPrefix(name, "event-"), strings.HasPrefix(name, "church-"):
		return table.Refused("the name is reserved")
	}
	return nil
}

// Free tells whether it is a database of documents without record rules.
func (d DatabaseInfo) Free() bool { return freeName(d.Name) == nil }

// Databases lists the databases that p may read, in order of their names.
func (ds *Set) Databases(p auth.Principal) (all []DatabaseInfo, err error) {
	err = ds.tables.View(func(v *table.View) error {
		if p, err = ds.standing(v, p); err != nil {
			return err
		}
		if err := p.Check("sync", "GET"); err != nil {
			return err
		}
		if all, err = scopesOf(v, p); err != nil || !p.IsWhole() {
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

// prepareDoc checks what a document is without looking at the store.
func prepareDoc(in merge.DocWrite) (*merge.DocWrite, error) {
	if in.Wrong != nil {
		return nil, in.Wrong
	}
	if err := CheckDocID(in.ID); err != nil {
		return nil, err
	}
	var err error
	switch {
	case in.Canonical:
		in.Content = in.Body
	case in.Body == nil:
		in.Content = []byte("{}")
	default:
		in.Content, err = canonicalDoc(in.Body)
	}
	if err != nil {
		return nil, err
	}
	in.Attachments = slices.Clone(in.Attachments)
	slices.SortFunc(in.Attachments, func(a, b merge.Attachment) int { return strings.Compare(a.Name, b.Name) })
	for i, a := range in.Attachments {
		again := i > 0 && in.Attachments[i-1].Name == a.Name
		if again || a.Name == "" || a.Name[0] == '_' || len(a.Name) > maxName || len(a.Type) > maxName || !utf8.ValidString(a.Name+a.Type) {
			return nil, fmt.Errorf("%w: the name or type of an attachment", merge.ErrDocument)
		}
	}
	return &in, nil
}

// ErrDatabaseName says that a name is not one of a database: lower case, a letter first, as in CouchDB.
var ErrDatabaseName = errors.New("not a database name")

var databaseName = regexp.MustCompile(`^[a-z][a-z0-9_$()+/-]{0,237}$`)
