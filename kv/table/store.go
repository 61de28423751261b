package table

import (
	"log/slog"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/disk"
)

// Config says where a store lies and what it lives among. Only Dir is needed.
type Config struct {
	Dir        string
	Clock      func() time.Time      // nil = time.Now
	Zone       *time.Location        // the congregation's timezone; nil = UTC
	Logger     *slog.Logger          // nil = silent
	Registerer prometheus.Registerer // nil = not registered
	Built      time.Time             // the clock is doubted before this moment
	ScanLimit  int                   // how many records a search looks at while its index is not ready; 0 = 100,000
	Machine    string                // what no two machines have in common; "" = not known
	Restored   bool                  // the file comes out of a backup and shall go on: a new epoch begins, ids move on
	Disk       *disk.RoomLimits      // nil = DefaultDiskLimits
	Free       func() (int64, error) // bytes that are free on the store's disk; nil = the system is asked
	Aside      bool                  // the file is a copy that is only looked at: that it lies elsewhere means nothing
	ReadOnly   bool                  // nothing is written to the folder: whatever would fails with ErrReadOnly, and who is to be erased is not shown
}

// Zone is the congregation's timezone.
func (s *Set) Zone() *time.Location { return s.ZoneOf }

// Now is the store's clock.
func (s *Set) Now() time.Time { return s.ClockNow() }

// Realm is the congregation's ULID.
func (s *Set) Realm() string { return s.Identity.Family.Load().Realm }

// Node is this store's ULID.
func (s *Set) Node() string { return s.Identity.Node }

// Writable answers nil while the store takes check-ins, otherwise what stopped it for good, or will at the next, or a *DiskFull.
func (s *Set) Writable() error {
	return s.Engine.Writable()
}

// Path is the store's file in a folder.
func Path(dir string) string { return filepath.Join(dir, "doorward.db") }

// keptVersions is how many published lists are kept: a reader that has just opened its View needs the one of that View.
const keptVersions = 8

func (s *Set) publish(l *lists) {
	var kept []*lists
	if old := s.versions.Load(); old != nil {
		kept = *old
	}
	next := append(make([]*lists, 0, keptVersions), l)
	next = append(next, kept[:min(len(kept), keptVersions-1)]...)
	s.versions.Store(&next)
}

// Current is the lists of the latest commit.
func (s *Set) Current() *lists { return (*s.versions.Load())[0] }

// listsOf finds the lists of a View by its number; nil if too many commits have passed since it was opened.
func (s *Set) listsOf(tx int) *lists {
	for _, l := range *s.versions.Load() {
		if l.Tx == tx {
			return l
		}
	}
	return nil
}
