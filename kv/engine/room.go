package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
)

// Use is what a write takes room on the disk for. As the disk fills up they are refused one after the other, in this order; the rest goes on,
// and each goes on by itself once there is room for it again.
type Use int

// The uses.
const (
	Imports  Use = iota // imports, what replication brings in bulk, attachments, the search index
	Creates             // what else people and programs make or change
	Checkins            // check-ins, and what the store must note to go on; also what takes something away
	numUses
)

// useNames are what the uses are called in texts and metrics.
var useNames = [numUses]string{"imports", "creates", "checkins"}

// RoomLimits say how many bytes must be free for a use; 0 = it goes on for as long as check-ins do.
type RoomLimits struct{ Imports, Creates int64 }

// DefaultRoomLimits are those of a file that is given none.
var DefaultRoomLimits = RoomLimits{Imports: 1 << 30, Creates: 256 << 20}

// commitReserve is what must be free for any commit, so that none fails halfway for want of room: what the disk holds would not be known then,
// and writing would have to stop for good. A group of check-ins writes a fraction of it.
const commitReserve = 16 << 20

// DiskFull is the ErrDiskFull of a use that finds too little room.
type DiskFull struct {
	What       string // that needs it
	Need, Free int64  // bytes
}

func (d *DiskFull) Error() string {
	return fmt.Sprintf("%v: %s need %s free, and %s are", ErrDiskFull, d.What, mebibytes(d.Need), mebibytes(d.Free))
}

// Is makes a DiskFull an ErrDiskFull.
func (d *DiskFull) Is(target error) bool { return target == ErrDiskFull }

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// room knows what must be free where the file lies. It is asked for each write, so what it says is never old.
type room struct {
	free    func() (int64, error)
	limits  [numUses]int64
	log     *slog.Logger
	refuses [numUses]atomic.Bool // as when it was looked at last
}

func newRoom(c Config) *room {
	limits := DefaultRoomLimits
	if c.Limits != nil {
		limits = *c.Limits
	}
	r := &room{free: c.Free, log: c.Logger}
	if r.free == nil {
		r.free = func() (int64, error) { return freeBytes(filepath.Dir(c.Path)) }
	}
	for use, limit := range []int64{limits.Imports, limits.Creates, 0} {
		r.limits[use] = max(limit, commitReserve)
	}
	return r
}

// check returns nil or a *DiskFull. Where the system does not say what is free nothing is refused.
func (r *room) check(u Use) error {
	free, err := r.free()
	if err != nil {
		return nil
	}
	r.note(free)
	if free >= r.limits[u] {
		return nil
	}
	return &DiskFull{What: useNames[u], Need: r.limits[u], Free: free}
}

// checkFile returns nil or a *DiskFull: is there room for a file of so many bytes, without taking it from what people make?
func (r *room) checkFile(what string, bytes int64) error {
	free, err := r.free()
	need := bytes + r.limits[Creates]
	if err != nil || free >= need {
		return nil
	}
	return &DiskFull{What: what + " and what people go on making", Need: need, Free: free}
}

// RoomBeside returns nil or a *DiskFull: has the disk of a file room for so many bytes of what another than its writer writes there, without
// taking it from what people make?
func RoomBeside(c Config, what string, bytes int64) error { return newRoom(c).checkFile(what, bytes) }

// note tells the log what is refused from now on, and what goes on.
func (r *room) note(free int64) {
	for use, limit := range r.limits {
		low := free < limit
		if r.refuses[use].Swap(low) == low {
			continue
		}
		attrs := []any{slog.String("use", useNames[use]), slog.Int64("free", free), slog.Int64("needed", limit)}
		if low {
			r.log.Warn("the disk is nearly full: a use of it is refused", attrs...)
		} else {
			r.log.Info("the disk has room again: a use of it goes on", attrs...)
		}
	}
}

// Room returns nil, or a *DiskFull where a use is refused for want of room on the disk.
func (db *DB) Room(u Use) error { return db.room.check(u) }

// RoomFor returns nil, or a *DiskFull where the disk has no room for a file of so many bytes besides what people go on making.
func (db *DB) RoomFor(what string, bytes int64) error { return db.room.checkFile(what, bytes) }

// Shortages are the uses that are refused for want of room on the disk, one *DiskFull each.
func (db *DB) Shortages() (all []*DiskFull) {
	for u := range numUses {
		var full *DiskFull
		if errors.As(db.room.check(u), &full) {
			all = append(all, full)
		}
	}
	return all
}

// FreeBytes is the room on the disk of the file; ok is false where the system does not say.
func (db *DB) FreeBytes() (free int64, ok bool) {
	free, err := db.room.free()
	return free, err == nil
}
