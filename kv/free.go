package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"doorward/kv/engine"
)

// The methods of databases return these errors besides the store's other errors.
var (
	ErrDatabaseName = errors.New("not a database name") // as CouchDB has them: lower case, a letter first
	ErrDocument     = errors.New("not a document")      // its id, its body or its path of revisions
	ErrDocumentID   = fmt.Errorf("%w: its id", ErrDocument)
	ErrRevision     = errors.New("not a revision of a record") // its hash is always 32 hex digits
	ErrTooLarge     = errors.New("the document is too large")
	ErrNoBlob       = errors.New("an attachment's bytes are not there")
)

// freeDatabase is a database of documents without record rules.
type freeDatabase struct {
	DatabaseInfo
	id uint64
}

var (
	databaseName = regexp.MustCompile(`^[a-z][a-z0-9_$()+/-]{0,237}$`)
	freeKey      = []byte("free") // in meta: sequence uv, largest database id uv
)

// freeBuckets hold rows that begin with a database's id.
var freeBuckets = []bucket{freeDocBucket, freeBodyBucket, freeLogBucket, freeLocalBucket, freeBlobBucket, freeChunkBucket, freeRefBucket, freeLooseBucket}

// freeSweep is how many rows of a deleted database one operation removes.
const freeSweep = 500

// freeName returns nil for a name that a free database may have, ErrDatabaseName for one that no database has, and a *Forbidden
// for one that belongs to a database with record rules.
func freeName(name string) error {
	switch {
	case !databaseName.MatchString(name):
		return ErrDatabaseName
	case name == "records", strings.HasPrefix(name, "reference"), strings.HasPrefix(name, "event-"), strings.HasPrefix(name, "church-"):
		return &Forbidden{CurrentScopes: []string{}, Reason: "the name is reserved"}
	}
	return nil
}

// Free tells whether it is a database of documents without record rules.
func (d DatabaseInfo) Free() bool { return freeName(d.Name) == nil }

// CreateDatabase makes an empty database. It returns ErrDatabaseName, ErrConflict if the database exists, or *Forbidden.
func (s *Store) CreateDatabase(p Principal, name string) error {
	if err := p.CheckRule(); err != nil {
		return err
	}
	if err := freeName(name); err != nil {
		if there, failed := s.reserved(name); there || failed != nil {
			err = errors.Join(failed, &Conflict{Reason: "the database is there already"})
		}
		return err
	}
	if err := s.Room(Creates); err != nil {
		return err
	}
	return s.do(false, func(o *op) error {
		row, err := o.Get(freeBucket, []byte(name))
		if err != nil {
			return err
		}
		if row != nil {
			return &Conflict{Reason: "the database is there already"}
		}
		seq, last, err := freeCounters(o.sight.View)
		if err != nil {
			return err
		}
		putFreeCounters(o.tx, seq, last+1)
		putDatabase(o.tx, &freeDatabase{DatabaseInfo{Name: name, Created: time.UnixMicro(o.stamp)}, last + 1})
		return nil
	})
}

// DeleteDatabase deletes a database and what it holds. It is gone with the first operation; its rows go in further ones.
func (s *Store) DeleteDatabase(p Principal, name string) error {
	if err := p.CheckRule(); err != nil {
		return err
	}
	if err := freeName(name); err != nil {
		return err
	}
	err := s.do(false, func(o *op) error {
		db, err := database(o.sight.View, name)
		if err != nil {
			return err
		}
		o.delete(freeBucket, []byte(name))
		o.put(freeBucket, deadKey(db.id), nil)
		o.rung = append(o.rung, feedName{free: name})
		return nil
	})
	for more := true; more && err == nil; {
		err = s.do(false, func(o *op) (err error) {
			more, err = sweepDead(o)
			return err
		})
	}
	return err
}

// Databases lists the databases that p may read, in order of their names.
func (s *Store) Databases(p Principal) (all []DatabaseInfo, err error) {
	if p, err = s.standing(p); err != nil {
		return nil, err
	}
	if err := p.Check("sync", "GET"); err != nil {
		return nil, err
	}
	err = s.view(func(v *sight) error {
		if all, err = scopesOf(v, p); err != nil {
			return err
		}
		return v.Scan(freeBucket, nil, []byte("a"), func(key, row []byte) (bool, error) {
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
func (db *freeDatabase) feed() feedName              { return feedName{free: db.Name} }
func (db *freeDatabase) localPrefix() []byte         { return db.key() }
func (db *freeDatabase) maySee(p Principal) error    { return p.Check("sync", "GET") }
func (db *freeDatabase) mayWrite(p Principal) error {
	if err := db.maySee(p); err != nil {
		return err
	}
	return p.Check("sync", "POST")
}

// database reads a database's row. It returns ErrNotFound if there is none.
func database(r *engine.View, name string) (*freeDatabase, error) {
	if name == "" || name[0] < 'a' {
		return nil, ErrNotFound
	}
	row, err := r.Get(freeBucket, []byte(name))
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, ErrNotFound
	}
	return parseDatabase(name, row)
}

func parseDatabase(name string, row []byte) (*freeDatabase, error) {
	c := cutter{rest: row}
	db := &freeDatabase{DatabaseInfo{Name: name}, c.uvarint()}
	db.Created = time.UnixMicro(int64(c.uint64())).UTC()
	db.Docs, db.Deleted, db.Seq = int(c.uvarint()), int(c.uvarint()), c.uvarint()
	if c.short || len(c.rest) > 0 {
		return db, ErrCorrupt
	}
	return db, nil
}

// putDatabase writes a database's row: id, created, live, deleted, sequence.
func putDatabase(w *engine.Tx, db *freeDatabase) {
	row := binary.AppendUvarint(nil, db.id)
	row = binary.BigEndian.AppendUint64(row, uint64(db.Created.UnixMicro()))
	row = binary.AppendUvarint(row, uint64(db.Docs))
	row = binary.AppendUvarint(row, uint64(db.Deleted))
	w.Put(freeBucket, []byte(db.Name), binary.AppendUvarint(row, db.Seq))
}

// freeCounters are the sequence of the latest change of all free databases, and the largest id that a database or an upload had:
// a database that is made again begins beyond every cursor into the one before.
func freeCounters(r *engine.View) (seq, last uint64, err error) {
	row, err := r.Get(metaBucket, freeKey)
	if err != nil || row == nil {
		return 0, 0, err
	}
	c := cutter{rest: row}
	if seq, last = c.uvarint(), c.uvarint(); c.short {
		err = ErrCorrupt
	}
	return seq, last, err
}

func putFreeCounters(w *engine.Tx, seq, last uint64) {
	w.Put(metaBucket, freeKey, binary.AppendUvarint(binary.AppendUvarint(nil, seq), last))
}

// deadKey is the key of a deleted database of which some rows are left. No name begins with its first byte.
func deadKey(id uint64) []byte { return binary.AppendUvarint([]byte{0}, id) }

// key is a key that begins with the database's id.
func (db *freeDatabase) key(parts ...string) []byte {
	key := binary.AppendUvarint(nil, db.id)
	for _, part := range parts {
		key = append(key, part...)
	}
	return key
}

// sweepDead removes some rows of a deleted database, and tells whether more may be left.
func sweepDead(o *op) (more bool, err error) {
	dead, err := firstKeys(o.sight.View, freeBucket, []byte{0}, 1)
	if err != nil || len(dead) == 0 {
		return false, err
	}
	for _, b := range freeBuckets {
		keys, err := firstKeys(o.sight.View, b, dead[0][1:], freeSweep)
		if err != nil {
			return false, err
		}
		for _, key := range keys {
			o.delete(b, key)
		}
		if len(keys) > 0 {
			return true, nil
		}
	}
	o.delete(freeBucket, dead[0])
	return true, nil
}

// firstKeys are the first keys with a prefix, at most n of them.
func firstKeys(r *engine.View, b bucket, prefix []byte, n int) (keys [][]byte, err error) {
	err = r.Scan(b, prefix, nil, func(key, _ []byte) (bool, error) {
		if len(keys) == n {
			return false, nil
		}
		keys = append(keys, append([]byte(nil), key...))
		return true, nil
	})
	return keys, err
}
