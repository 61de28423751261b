package disk

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
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

// ErrFull is a disk with too little room; the concrete error is a *Full.
var ErrFull = errors.New("the disk is nearly full")

// useNames are what the uses are called in texts and metrics.
var useNames = [numUses]string{"imports", "creates", "checkins"}

// RoomLimits say how many bytes must be free for a use; 0 = it goes on for as long as check-ins do.
type RoomLimits struct{ Imports, Creates int64 }

// DefaultRoomLimits are those of a Room that is given none.
var DefaultRoomLimits = RoomLimits{Imports: 1 << 30, Creates: 256 << 20}

// commitReserve is what must be free for any commit, so that none fails halfway for want of room: what the disk holds would not be known then,
// and writing would have to stop for good. A group of check-ins writes a fraction of it.
const commitReserve = 16 << 20

// Full is the ErrFull of a use that finds too little room.
type Full struct {
	What       string // that needs it
	Need, Free int64  // bytes
}

func (d *Full) Error() string {
	return fmt.Sprintf("%v: %s need %s free, and %s are", ErrFull, d.What, mebibytes(d.Need), mebibytes(d.Free))
}

// Is makes a Full an ErrFull.
func (d *Full) Is(target error) bool { return target == ErrFull }

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// Room knows what must be free on the disk of a folder. It is asked for each write, so what it says is never old.
type Room struct {
	free    func() (int64, error)
	limits  [numUses]int64
	log     *slog.Logger
	refuses [numUses]atomic.Bool // as when it was looked at last
	promise atomic.Int64         // see Reserve
}

// RoomConfig says where the folder is and what must be free there.
type RoomConfig struct {
	Dir    string
	Limits *RoomLimits           // nil = DefaultRoomLimits
	Free   func() (int64, error) // bytes that are free; nil = the system is asked
	Logger *slog.Logger          // nil = silent
}

// NewRoom makes a Room.
func NewRoom(c RoomConfig) *Room {
	limits := DefaultRoomLimits
	if c.Limits != nil {
		limits = *c.Limits
	}
	r := &Room{free: c.Free, log: cmp.Or(c.Logger, slog.New(slog.DiscardHandler))}
	if r.free == nil {
		r.free = func() (int64, error) { return freeBytes(c.Dir) }
	}
	for use, limit := range []int64{limits.Imports, limits.Creates, 0} {
		r.limits[use] = max(limit, commitReserve)
	}
	return r
}

// Reserve keeps so many bytes for what has to be written later, out of what is kept for commits, and more where that is not enough. It takes the place
// of what was kept before.
func (r *Room) Reserve(bytes int64) { r.promise.Store(bytes) }

// limit is how much must be free for a use now.
func (r *Room) limit(u Use) int64 {
	if promise := r.promise.Load(); promise > 0 {
		return max(r.limits[u], promise+commitReserve/4)
	}
	return r.limits[u]
}

// Check returns nil, or a *Full where a use is refused. Where the system does not say what is free nothing is refused.
func (r *Room) Check(u Use) error {
	free, err := r.free()
	if err != nil {
		return nil
	}
	r.note(free)
	if free >= r.limit(u) {
		return nil
	}
	return &Full{What: useNames[u], Need: r.limit(u), Free: free}
}

// CheckFile returns nil, or a *Full where there is no room for a file of so many bytes besides what people go on making.
func (r *Room) CheckFile(what string, bytes int64) error {
	free, err := r.free()
	need := bytes + r.limits[Creates]
	if err != nil || free >= need {
		return nil
	}
	return &Full{What: what + " and what people go on making", Need: need, Free: free}
}

// Addresses is how many of so many bytes of addresses a file that uses used may take: all, or half of what this process may still have, so that
// the other half is left for its memory.
func Addresses(wanted, used int64) int64 {
	limit := AddressLimit()
	if limit == 0 {
		return wanted
	}
	return min(wanted, max((limit-addressesTaken())/2, used))
}

// note tells the log what is refused from now on, and what goes on.
func (r *Room) note(free int64) {
	for use := range numUses {
		limit := r.limit(use)
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

// Shortages are the uses that are refused, one *Full each.
func (r *Room) Shortages() (all []*Full) {
	for u := range numUses {
		var full *Full
		if errors.As(r.Check(u), &full) {
			all = append(all, full)
		}
	}
	return all
}

// Free is how many bytes are free; ok is false where the system does not say.
func (r *Room) Free() (free int64, ok bool) {
	free, err := r.free()
	return free, err == nil
}

// Collectors are the disk's figures.
func (r *Room) Collectors() []prometheus.Collector {
	all := []prometheus.Collector{prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "doorward_store_disk_free_bytes", Help: "Room on the disk that the store lies on; NaN where the system does not say.",
	}, func() float64 {
		free, err := r.free()
		if err != nil {
			return math.NaN()
		}
		return float64(free)
	})}
	for u := range numUses {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "doorward_store_disk_refused", Help: "1 while a use of the disk is refused because it is nearly full.", ConstLabels: prometheus.Labels{"use": useNames[u]},
		}, func() float64 {
			if r.Check(u) != nil {
				return 1
			}
			return 0
		}))
	}
	return all
}
