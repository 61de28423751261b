package kv

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/record"
)

// Use is what a write takes room on the disk for. As the disk fills up they are refused one after the other, in this order; the
// rest goes on, and each goes on by itself once there is room for it again.
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

// DiskLimits say how many bytes must be free for a use; 0 = it goes on for as long as check-ins do.
type DiskLimits struct{ Imports, Creates int64 }

// DefaultDiskLimits are those of a store that is told none.
var DefaultDiskLimits = DiskLimits{Imports: 1 << 30, Creates: 256 << 20}

// checkinReserve is what must be free for any commit, so that none fails halfway for want of room: nobody would know then what
// the disk holds, and writing would have to stop for good. A group of check-ins writes a fraction of it.
const checkinReserve = 16 << 20

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

// disk knows what must be free where the store lies. It is asked for each write, so what it says is never old.
type disk struct {
	free    func() (int64, error)
	limits  [numUses]int64
	log     *slog.Logger
	refuses [numUses]atomic.Bool // as when it was looked at last
}

func newDisk(c Config) *disk {
	limits := DefaultDiskLimits
	if c.Disk != nil {
		limits = *c.Disk
	}
	d := &disk{free: c.Free, log: c.Logger}
	if d.free == nil {
		d.free = func() (int64, error) { return freeBytes(c.Dir) }
	}
	for use, limit := range []int64{limits.Imports, limits.Creates, 0} {
		d.limits[use] = max(limit, checkinReserve)
	}
	return d
}

// room answers nil or a *DiskFull. Where the system does not say what is free nothing is refused.
func (d *disk) room(u Use) error {
	free, err := d.free()
	if err != nil {
		return nil
	}
	d.note(free)
	if free >= d.limits[u] {
		return nil
	}
	return &DiskFull{What: useNames[u], Need: d.limits[u], Free: free}
}

// roomFor answers nil or a *DiskFull: is there room for a file of so many bytes, without taking it from what people make?
func (d *disk) roomFor(what string, bytes int64) error {
	free, err := d.free()
	need := bytes + d.limits[Creates]
	if err != nil || free >= need {
		return nil
	}
	return &DiskFull{What: what, Need: need, Free: free}
}

// RoomBeside answers nil or a *DiskFull: has the disk of a folder's store room for so many bytes of what is written there by another
// than the store, without taking it from what people make?
func RoomBeside(c Config, what string, bytes int64) error {
	return newDisk(c).roomFor(what+" and what people go on making", bytes)
}

// note tells the log what is refused from now on, and what goes on.
func (d *disk) note(free int64) {
	for use, limit := range d.limits {
		low := free < limit
		if d.refuses[use].Swap(low) == low {
			continue
		}
		attrs := []any{slog.String("use", useNames[use]), slog.Int64("free", free), slog.Int64("needed", limit)}
		if low {
			d.log.Warn("the disk is nearly full: a use of it is refused", attrs...)
		} else {
			d.log.Info("the disk has room again: a use of it goes on", attrs...)
		}
	}
}

// Room answers nil, or a *DiskFull where a use is refused for want of room on the disk.
func (s *Store) Room(u Use) error { return s.disk.room(u) }

// Shortages are the uses that are refused for want of room on the disk, one *DiskFull each.
func (s *Store) Shortages() (all []*DiskFull) {
	for u := range numUses {
		var full *DiskFull
		if errors.As(s.disk.room(u), &full) {
			all = append(all, full)
		}
	}
	return all
}

// FreeBytes is the room on the disk that the store lies on; ok is false where the system does not say.
func (s *Store) FreeBytes() (free int64, ok bool) {
	free, err := s.disk.free()
	return free, err == nil
}

// gauges are the disk's figures.
func (d *disk) gauges() []prometheus.Collector {
	all := []prometheus.Collector{prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "doorward_store_disk_free_bytes", Help: "Room on the disk that the store lies on; NaN where the system does not say.",
	}, func() float64 {
		free, err := d.free()
		if err != nil {
			return math.NaN()
		}
		return float64(free)
	})}
	for u := range numUses {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "doorward_store_disk_refused", Help: "1 while a use of the disk is refused because it is nearly full.", ConstLabels: prometheus.Labels{"use": useNames[u]},
		}, func() float64 { return float64(flag(d.room(u) != nil)) }))
	}
	return all
}

// useOf is what documents of one operation take room for. Facts count as check-ins whoever brings them: a laptop pushes its own,
// and must learn of admissions elsewhere lest it admits again. What comes with them counts as they do: it cannot be taken in part.
func useOf(writes []DocWrite) Use {
	isFact := func(w DocWrite) bool {
		k, _, ok := record.ParseDocID(w.ID)
		return ok && k.Fact
	}
	switch {
	case slices.ContainsFunc(writes, isFact):
		return Checkins
	case len(writes) == 1:
		return Creates
	}
	return Imports
}
