package kv

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"time"

	"doorward/kv/disk"
	"doorward/kv/engine"
)

// Compacted tells how large a store's file was, and is.
type Compacted struct {
	Before int64
	Bytes  int64
}

// Compact writes the store's file again, without the free pages. No byte of what was deleted or erased before is left in it.
// The store can be read and written while Compact runs (engine.DB.Rewrite). If a row is damaged, the old file stays, with what
// can be read of it, and Compact returns *BadFile. It returns *Forbidden unless p administers the whole store.
func (s *Store) Compact(ctx context.Context, p Principal) (c Compacted, err error) {
	if err := p.CheckRule(); err != nil {
		return c, err
	}
	start, began := time.Now(), s.clock()
	c.Before = disk.Size(Path(s.dir))
	err = s.engine.Rewrite(ctx, func(w *engine.Tx) {
		w.Put(metaBucket, compactedKey, binary.BigEndian.AppendUint64(nil, uint64(began.UnixMicro())))
	})
	if err != nil {
		return c, fmt.Errorf("compact: %w", s.Blamed(err))
	}
	c.Bytes = disk.Size(Path(s.dir))
	s.log.Info("the store is compacted", slog.Int64("before", c.Before), slog.Int64("bytes", c.Bytes), slog.Duration("took", time.Since(start)))
	return c, nil
}

var compactedKey = []byte("compacted") // in meta: of when everything is that the file holds at all, microseconds 8

func compactedAt(v *sight) (int64, error) {
	row, err := v.Get(metaBucket, compactedKey)
	if err != nil || len(row) != 8 {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(row)), nil
}
