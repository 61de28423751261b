package engine

import (
	"errors"
	"io"
	"os"
	"unsafe"

	"go.etcd.io/bbolt"

	"doorward/kv/disk"
	"doorward/kv/engine/wal"
)

// CopyTo folds what is committed and writes the file to f, as a file that stands alone: it names no log. It syncs nothing: that is the caller's part.
// about is given the View that is copied. CopyTo holds the View while it writes, so pages that are freed are not used again, and no fold can
// map a larger file: f must lie on a disk that is as fast as the file's own. Where nothing can be folded, because the file is only read, writing has stopped or
// the disk is full, what lies above the file is written into the copy, for which f must be an *os.File.
func (db *DB) CopyTo(f disk.SyncWriter, about func(*View) error) (n int64, err error) {
	var tx *bbolt.Tx
	var at *state
	begin := func() (err error) { tx, at, err = db.snapshot(); return err }
	folds := !db.readOnly && db.folding.foldThen(begin) == nil // its error is kept where it matters
	if !folds {
		if err := begin(); err != nil {
			return 0, err
		}
	}
	defer func() { _ = tx.Rollback() }() // it was only read
	v := db.view(tx, at, &cache{})
	if folds {
		v.tables = nil // what came after the fold is not copied
	}
	if err := about(v); err != nil {
		return 0, err
	}
	w, err := alone(at.file.DB, tx, db.turn.Throttle(f))
	if err != nil {
		return 0, err
	}
	n, err = tx.WriteTo(w)
	if err != nil || len(v.tables) == 0 || at.rows() == 0 && at.gathered == nil {
		return n, err
	}
	return v.mergeInto(f, at)
}

// mergeInto writes what lies above the file in a state into a copy of the file.
func (v *View) mergeInto(f disk.SyncWriter, at *state) (n int64, err error) {
	file, ok := f.(*os.File)
	if !ok {
		return 0, errors.New("only a file can take in a log")
	}
	next, err := bbolt.Open(file.Name(), 0o600, options(disk.Size(file.Name())))
	if err != nil {
		return 0, err
	}
	err = next.Update(func(tx *bbolt.Tx) error {
		to := View{tx: tx, schema: v.schema, cache: &cache{}}
		for i := range at.tables {
			if err := to.write(at.tables[len(at.tables)-1-i]); err != nil {
				return err
			}
		}
		if err := dropGathered(tx); err != nil {
			return err
		}
		return mark{term: at.mark.term, Position: wal.Position{Sequence: uint64(at.sequence)}}.put(tx)
	})
	err = errors.Join(err, next.Close())
	return disk.Size(file.Name()), err
}

// alone writes a file with another mark than it has: one that names no log. The mark lies whole in one page, and a page has no checksum.
func alone(db *bbolt.DB, tx *bbolt.Tx, w io.Writer) (io.Writer, error) {
	m, err := readMark(tx)
	if err != nil {
		return nil, err
	}
	m.log = wal.ID{}
	row := tx.Bucket(ownBucket).Get(markKey)
	at := int64(uintptr(unsafe.Pointer(unsafe.SliceData(row))) - db.Info().Data)
	return &patched{w: w, at: at, bytes: m.encode()}, nil
}

// patched is a writer of a file of which a few bytes are others.
type patched struct {
	w     io.Writer
	at    int64 // where the bytes belong, from here on
	bytes []byte
}

func (p *patched) Write(b []byte) (int, error) {
	end := p.at + int64(len(p.bytes))
	if p.at < int64(len(b)) && end > 0 {
		b = append([]byte(nil), b...)
		copy(b[max(p.at, 0):], p.bytes[max(-p.at, 0):])
	}
	p.at -= int64(len(b))
	return p.w.Write(b)
}
