package api

import (
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"doorward/api/load"
	"doorward/kv/disk"
	"doorward/kv/table"
)

// copied is the wire form of a backup.Copied.
type copied struct {
	Realm string    `json:"realm"`
	Node  string    `json:"node"`
	Epoch string    `json:"epoch"`
	Seq   uint64    `json:"seq"`
	At    time.Time `json:"at"`
	Bytes int64     `json:"bytes"`
}

// controlBackup copies the store into a folder within its own. The client makes the folder and removes it.
func controlBackup(x *exchange, r *http.Request) error {
	name := r.URL.Query().Get("folder")
	if !disk.IsWorkFolder(name, "backup") {
		return fmt.Errorf("%w: folder: .doorward-backup- and a number are wanted", load.ErrUsage)
	}
	c, err := x.store().Files.CopyTo(x.caller, table.Path(filepath.Join(x.store().Tables.Folder.Dir, name)))
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, copied(c))
}

// compacted is the wire form of a backup.Compacted.
type compacted struct {
	Before int64 `json:"bytes_before"`
	Bytes  int64 `json:"bytes"`
}

// controlCompact writes the store's file again, without its free pages.
func controlCompact(x *exchange, r *http.Request) error {
	c, err := x.store().Files.Compact(r.Context(), x.caller)
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, compacted(c))
}

// trusted is the state of the clock after a person has trusted it.
type trusted struct {
	Now     time.Time `json:"now"`
	Doubted bool      `json:"doubted"`
	Offset  *int64    `json:"clock_offset_ms"` // how far a peer's clock was ahead when last measured; null = never
}

// controlTrust ends every doubt of the clock.
func controlTrust(x *exchange, _ *http.Request) error {
	c, err := x.store().Tables.Clock.Trust(x.caller)
	if err != nil {
		return err
	}
	t := trusted{Now: x.store().Tables.Clock.Now().UTC(), Doubted: c.Doubt != ""}
	if !c.Measured.IsZero() {
		ms := c.Offset.Milliseconds()
		t.Offset = &ms
	}
	return x.answer(http.StatusOK, t)
}
