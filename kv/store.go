package kv

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/engine"
	"doorward/kv/record"
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
	Disk       *DiskLimits           // nil = DefaultDiskLimits
	Free       func() (int64, error) // bytes that are free on the store's disk; nil = the system is asked
	Aside      bool                  // the file is a copy that is only looked at: that it lies elsewhere means nothing
	ReadOnly   bool                  // nothing is written to the folder: whatever would fails with ErrReadOnly, and who is to be erased is not shown
}

// Store is one congregation's records in one file.
type Store struct {
	*tables
	metrics   *metrics
	logins    atomic.Pointer[map[string]login]
	rekeyed   bell // rung when logins has changed, and when a person was erased
	search    *searching
	boards    boards
	decisions decisions
	erasures  erasures

	// What rooms are given of others (wire).
	standing    func(Principal) (Principal, error) // Standing
	keysFor     func(Principal) ([]int64, error)   // KeysFor
	erasedTimes func() uint64                      // how often erasures were finished since the start
	eraseNow    func() bool                        // carries out the erasures that are begun
}

// Open opens the store in a folder, or makes it: ErrInUse, ErrNewerFormat, ErrCorrupt.
func Open(c Config) (*Store, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Zone == nil {
		c.Zone = time.UTC
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.ScanLimit == 0 {
		c.ScanLimit = scanLimit
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	s, err := open(c)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", blamed(c, err))
	}
	return s, nil
}

// open is Open with its defaults set. A file that was cut short makes bbolt reach beyond its end, or say by a panic what it
// found: both are damage, and nothing has been written.
func open(c Config) (s *Store, err error) {
	defer func() {
		if found := recover(); found != nil {
			s, err = nil, engine.Broken(found)
		}
	}()
	opened, err := openTables(c, storeRules())
	if err != nil {
		return nil, err
	}
	s = &Store{tables: opened, search: newSearching(c.ScanLimit, c.Logger), decisions: newDecisions()}
	s.wire()
	if err := s.start(c); err != nil {
		_ = s.engine.Close() // the first error is the one to tell
		return nil, err
	}
	if err := s.arrive(c); err != nil {
		_ = s.Close() // the first error is the one to tell
		return nil, err
	}
	if err := s.takeUpErasures(c); err != nil {
		_ = s.Close() // the first error is the one to tell
		return nil, err
	}
	s.judgeClock(s.clock())
	return s, nil
}

// wire gives rooms what they need of others.
func (s *Store) wire() {
	s.followed = s.followKeys
	s.standing = s.Standing
	s.keysFor = s.KeysFor
	s.erasedTimes = s.erasures.done.Load
	s.erasures.rekey = s.rekeyed.ring
	s.eraseNow = s.eraseBegun
}

// storeRules are what the rooms above the tables say of each change.
func storeRules() rules {
	return rules{
		leaves: mayLeave,
		placed: func(o *op, k *record.Kind, before, next *stored) {
			if before != nil {
				noteFormer(o, k, before, next)
			}
			if next.deleted {
				forgetPulled(o, k, next.id)
			}
		},
		ended:    listLost,
		settled:  settleTicket,
		returned: followAllOf,
	}
}

// start brings up what rooms derive from the file, then the writer.
func (s *Store) start(c Config) error {
	if err := readCentre(s.tables); err != nil {
		return err
	}
	s.metrics = newMetrics(c.Registerer, s.collectors())
	if err := s.loadLogins(); err != nil {
		return err
	}
	s.engine.Start(s.hooks())
	return nil
}

// Close ends the writer after what it has begun and closes the file.
func (s *Store) Close() error {
	s.erasures.end()
	err := s.close()
	s.metrics.unregister()
	return err
}

// Zone is the congregation's timezone.
func (s *tables) Zone() *time.Location { return s.zone }

// Now is the store's clock.
func (s *tables) Now() time.Time { return s.clock() }

// Realm is the congregation's ULID.
func (s *tables) Realm() string { return s.identity.family.Load().realm }

// Node is this store's ULID.
func (s *tables) Node() string { return s.identity.node }

// Writable answers nil while the store takes check-ins, otherwise what stopped it for good, or will at the next, or a *DiskFull.
func (s *tables) Writable() error {
	return s.engine.Writable()
}

// Path is the store's file in a folder.
func Path(dir string) string { return filepath.Join(dir, "doorward.db") }

// keptVersions is how many published lists are kept: a reader that has just opened its View needs the one of that View.
const keptVersions = 8

func (s *tables) publish(l *lists) {
	var kept []*lists
	if old := s.versions.Load(); old != nil {
		kept = *old
	}
	next := append(make([]*lists, 0, keptVersions), l)
	next = append(next, kept[:min(len(kept), keptVersions-1)]...)
	s.versions.Store(&next)
}

// current is the lists of the latest commit.
func (s *tables) current() *lists { return (*s.versions.Load())[0] }

// listsOf finds the lists of a View by its number; nil if too many commits have passed since it was opened.
func (s *tables) listsOf(tx int) *lists {
	for _, l := range *s.versions.Load() {
		if l.tx == tx {
			return l
		}
	}
	return nil
}
