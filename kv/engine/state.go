package engine

import (
	"errors"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// state is what readers see: the file, and above it the tables with what was committed since. It is never changed; the next one takes its place.
type state struct {
	file     *file
	tx       int      // of bbolt: the tables hold all that the file does not show in this transaction or a later one
	tables   []*table // the one that is written to, and behind it the one that is being folded
	sequence int      // of the latest commit
}

// active is the table that is written to.
func (s *state) active() *table { return s.tables[0] }

// frozen is the table that is being folded; nil = none is.
func (s *state) frozen() *table {
	if len(s.tables) == 1 {
		return nil
	}
	return s.tables[1]
}

// bytes is the memory of the tables.
func (s *state) bytes() (n int) {
	for _, t := range s.tables {
		n += t.bytes
	}
	return n
}

// rows is how many rows the tables have.
func (s *state) rows() (n int) {
	for _, t := range s.tables {
		n += t.rows
	}
	return n
}

// snapshot is a transaction of the file and a state above it that show one moment together. The transaction begins first: what it shows
// was committed before, so the state has it. Where a fold has taken rows out of the tables that the transaction does not show
// yet, it is done again.
func (db *DB) snapshot() (*bbolt.Tx, *state, error) {
	return db.snapshotBy(func(f *file) (*bbolt.Tx, error) { return f.Begin(false) })
}

// snapshotBy is snapshot with another way to begin a transaction that reads.
func (db *DB) snapshotBy(begin func(*file) (*bbolt.Tx, error)) (*bbolt.Tx, *state, error) {
	for {
		f := db.state.Load().file
		tx, err := begin(f)
		if errors.Is(err, bolterrors.ErrDatabaseNotOpen) && db.state.Load().file != f {
			continue // another took its place just now
		}
		if err != nil {
			return nil, nil, err
		}
		s := db.state.Load()
		if s.file == f && (tx.ID() == s.tx || tx.ID() > s.tx && !db.unlogged) {
			return tx, s, nil
		}
		if err := tx.Rollback(); err != nil {
			return nil, nil, err
		}
	}
}

// view is the View of a state.
func (db *DB) view(tx *bbolt.Tx, s *state, c *cache) *View {
	return &View{tx: tx, schema: db.schema, cache: c, tables: s.tables, version: s.sequence}
}
