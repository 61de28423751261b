package engine

import (
	"context"

	"doorward/kv/engine/wal"
)

// ErrGone is a sequence of which the log has no record any more.
var ErrGone = wal.ErrGone

// Follower reads the groups that are committed, in order. One goroutine uses it. It does not keep the log from being used again, so whoever reads too slowly
// gets ErrGone.
type Follower struct {
	wal *wal.Follower
}

// Record is a committed group: its sequence, which is the version that Views show with it, and the bytes of its rows.
type Record struct {
	Sequence int
	bytes    []byte
}

// Follow reads the groups that come after a sequence: ErrGone where the log does not have the next of them. A store that has not written since it was opened
// has no log: there is nothing to follow yet.
func (db *DB) Follow(after int) (*Follower, error) {
	db.commit.Lock()
	defer db.commit.Unlock()
	if db.journal == nil {
		return nil, ErrGone
	}
	f, err := db.journal.Follow(uint64(after))
	return &Follower{f}, err
}

// Next waits for the next group: ErrGone, or the context's error. The record is valid until the next call.
func (f *Follower) Next(ctx context.Context) (Record, error) {
	r, err := f.wal.Next(ctx)
	return Record{int(r.Sequence), r.Payload}, err
}

// Each calls fn with the rows of a record. The value of a row that was deleted is nil.
func (r Record) Each(fn func(b Bucket, key, value []byte)) error {
	return eachRow(r.bytes, func(b Bucket, it item) { fn(b, it.name(), it.plain()) })
}
