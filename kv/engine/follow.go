package engine

import (
	"context"

	"doorward/kv/engine/wal"
)

// Change is one row of a committed group: it was put, or, where its value is nil, deleted.
type Change struct {
	Bucket     Bucket
	Key, Value []byte
}

// Follow reads the groups that are committed after a sequence, in order, and those that come, until fn or the context ends it. fn gets a group's sequence, which
// is the version that Views show with it, and its rows, which are valid until fn returns. Follow does not keep the log from being used again: where the log
// does not have the next group any more, because fn was too slow or the file was opened again, the error is wal.ErrGone. The log begins with the first
// group that is written after the file was opened.
func (db *DB) Follow(ctx context.Context, after int, fn func(sequence int, changes []Change) error) error {
	log := db.journal.wal.Load()
	if log == nil {
		return wal.ErrGone
	}
	f, err := log.Follow(uint64(after))
	if err != nil {
		return err
	}
	var changes []Change
	for {
		r, err := f.Next(ctx)
		if err != nil {
			return err
		}
		changes = changes[:0]
		err = eachRow(r.Payload, func(b Bucket, it item) { changes = append(changes, Change{b, it.name(), it.plain()}) })
		if err == nil {
			err = fn(int(r.Sequence), changes)
		}
		if err != nil {
			return err
		}
	}
}
