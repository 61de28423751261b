package backup

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"time"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/table"
)

// Compacted tells how large a store's file was, and is.
type Compacted struct {
	Before int64
	Bytes  int64
}

// Compact writes the store's file again, without the free pages. No byte of what was deleted or erased before is left in it.
// The store can be read and written while Compact runs (engine.DB.Rewrite). If a row is damaged, the old file stays, with what
// can be read of it, and Compact returns *BadFile. It returns *Forbidden unless p administers the whole store.
func (kp *Keeper) Compact(ctx context.Context, p auth.Principal) (c Compacted, err error) {
	if err := p.CheckRule(); err != nil {
		return c, err
	}
	start, began := time.Now(), kp.tables.Clock.Now()
	c.Before = disk.Size(table.Path(kp.tables.Folder.Dir))
	err = kp.tables.Engine.Rewrite(ctx, func(w *engine.Tx) {
		w.Put(table.MetaBucket, table.CompactedKey, binary.BigEndian.AppendUint64(nil, uint64(began.UnixMicro())))
	})
	if err != nil {
		return c, fmt.Errorf("compact: %w", kp.tables.Blamed(err))
	}
	c.Bytes = disk.Size(table.Path(kp.tables.Folder.Dir))
	kp.tables.Log.Info("the store is compacted", slog.Int64("before", c.Before), slog.Int64("bytes", c.Bytes), slog.Duration("took", time.Since(start)))
	return c, nil
}
