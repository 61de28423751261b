package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
)

// Set is the store's file with what is derived from it, and what the store knows of itself.
type Set struct {
	Folder       string
	Engine       *engine.DB
	DiskRoom     *disk.Room
	Commits      commits
	ClockNow     func() time.Time
	ZoneOf       *time.Location
	Log          *slog.Logger
	built        time.Time
	Identity     identity
	epochs       atomic.Pointer[epochs]
	wall         wall
	Limits       limits
	versions     atomic.Pointer[[]*lists]
	seq          atomic.Uint64
	CentreID     atomic.Pointer[string] // what merges for this store; "" or nil = it is the root
	Joined       atomic.Pointer[Upstream]
	ReleaseCount atomic.Uint64           // see Releases
	Bell         Bell                    // rung when seq has grown
	Bells        bells                   // of the single databases
	Session      atomic.Pointer[Session] // nil: no peer was told of it yet
	Doubles      atomic.Int64            // double entries, of all events
	Reads        reads
	Recalls      recalls
	Corrupt      prometheus.Counter
	Rules        Rules
	followed     func([]ListChange) // is told of each committed group
	damaged      int                // values, as was met when it was opened
	ReadOnly     bool
}

// Rules are what the rooms above the tables have to say of a change, while it is written.
type Rules struct {
	Leaves   func(o *Tx, k *record.Kind, before *Stored, next [2]scopes.Scope) error // a *Forbidden: it must not be made here
	Placed   func(o *Tx, k *record.Kind, before, next *Stored)                       // the record's row was put; before nil: it is new
	Ended    func(o *Tx, c Edit, t *rev.Tree) error                                  // a deletion is about to end all leaves of a tree
	Returned func(s *Set, node ulid.ULID) error                                      // a node goes on in another epoch than before
	Settled  func(o *Tx, ticket record.ID) error                                     // a ticket may have changed its state, or is gone
}

func newSet(c Config, r Rules) *Set {
	return &Set{
		Folder: filepath.Clean(c.Dir), ClockNow: c.Clock, ZoneOf: c.Zone, Log: c.Logger, built: c.Built, Limits: honest, Rules: r,
		Corrupt: prometheus.NewCounter(prometheus.CounterOpts{Name: "doorward_store_corrupt_reads_total", Help: "Reads that met a value whose checksum fails."}),
	}
}

// Open opens the file, or makes it, and reads what is derived from it. Nothing is written before the engine is started.
func Open(c Config, r Rules) (*Set, error) {
	if err := makeFolderFor(c); err != nil {
		return nil, err
	}
	s := newSet(c, r)
	ec := c.engine()
	s.DiskRoom = ec.Room
	var err error
	if s.Engine, err = engine.Open(ec); err != nil {
		return nil, err
	}
	if err := s.Engine.View(s.derive); err != nil {
		_ = s.Engine.Close() // the first error is the one to tell
		return nil, err
	}
	s.ReadOnly = c.ReadOnly
	s.seq.Store(s.Commits.state.Seq)
	s.Corrupt.Add(float64(s.damaged))
	return s, nil
}

// derive reads everything that is derived from the file.
func (s *Set) derive(r *engine.View) (err error) {
	if s.Commits.state, err = ReadState(r); err != nil {
		return Identified(StateKey, err)
	}
	if s.Identity, err = s.readIdentity(r); err != nil {
		return err
	}
	var found damages
	clock, err := readStanding(r)
	if errors.Is(err, engine.ErrCorrupt) {
		found.add(DamagedRow(MetaBucket, clockKey))
		clock, err = &standing{lost: true}, nil
	}
	if err != nil {
		return err
	}
	s.wall.standing.Store(clock)
	l, err := buildLists(r, &found)
	if err != nil {
		return err
	}
	s.countDoubles(r, &found)
	s.publish(l)
	s.tellDamage(found)
	return nil
}

// Start begins to write. followed is told of each committed group.
func (s *Set) Start(followed func([]ListChange)) {
	s.followed = followed
	s.Engine.Start(s.hooks())
}

// Abandon closes the file of tables that were not started.
func (s *Set) Abandon() error { return s.Engine.Close() }

// Close ends the writer after what it has begun and closes the file.
func (s *Set) Close() error {
	s.Reads.keeping.Wait()
	s.keepReads()
	return s.Engine.Close()
}

// recalls are what operations tell of erasures.
type recalls struct {
	Any       atomic.Bool               // there is an erasure: before, no read looks for one
	Come      Bell                      // rung when a peer has told of one
	Told      atomic.Uint64             // how often
	Concealed atomic.Pointer[Concealed] // what is hidden until it is erased; nil: nothing
}

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

var CentreKey = []byte("centre") // in meta: the node of this store's centre

// Centre is the node of this store's centre; "" where it is the root.
func (s *Set) Centre() string { return *s.CentreID.Load() }

func (s *Set) IsLeaf() bool { return s.Centre() != "" }

// IsRevoked tells whether its centre has revoked this laptop. A revoked laptop sells and edits nothing more, and marks its check-ins for review.
func (s *Set) IsRevoked() bool { return s.IsLeaf() && s.Joined.Load().Revoked }

// Upstream is the centre that a store has joined, and what the store is known by there.
type Upstream struct {
	URL      string              `json:"url"` // of the centre's site, without a slash at its end
	Insecure bool                `json:"insecure,omitempty"`
	Node     string              `json:"node"`  // the centre's
	Epoch    string              `json:"epoch"` // the centre's when it was last met
	ID       int64               `json:"id"`    // of this laptop among those that are enrolled there
	Name     string              `json:"name"`
	Key      string              `json:"key"`
	Secret   string              `json:"secret"`
	Ends     time.Time           `json:"ends"`
	Pushes   []string            `json:"pushes,omitempty"`  // the databases that the centre takes from here
	Pulls    []string            `json:"pulls,omitempty"`   // those that it gives
	Guest    []string            `json:"guest,omitempty"`   // of Pushes those where it takes back only what was made here
	Over     []string            `json:"over,omitempty"`    // databases of events that are over: it takes nothing more of them
	Drops    map[int64]time.Time `json:"drops,omitempty"`   // by event that is over, from when on it may be dropped here, as was announced
	Chosen   bool                `json:"chosen,omitempty"`  // of its churches' events the laptop takes along only those that were named
	Revoked  bool                `json:"revoked,omitempty"` // it takes nothing from here but facts
	Erased   string              `json:"erased,omitempty"`  // its sequence up to which it has sent what was erased
	Unkeyed  bool                `json:"unkeyed,omitempty"` // the key that the realm hashes with is not known here
}

var UpstreamKey = []byte("upstream") // in meta: an Upstream as JSON

// ReadUpstream is the zero Upstream where the store has joined none.
func ReadUpstream(v *View) (u Upstream, err error) {
	row, err := v.Get(MetaBucket, UpstreamKey)
	if err == nil && len(row) > 0 && json.Unmarshal(row, &u) != nil {
		err = fmt.Errorf("%w: meta row upstream", engine.ErrCorrupt)
	}
	return u, err
}

// IsUnkeyed tells whether the store was filled from a file. Until it joins, it cannot tell which person an erasure is about.
func (s *Set) IsUnkeyed() bool { return s.Joined.Load().Unkeyed }

// Session is one start of a store, as far as it has told peers of it.
type Session struct {
	Id     string   // ULID
	Before []string // the sessions before, the latest first, back to the last that a peer has answered to; or else the epoch
	Met    atomic.Bool
}

var SessionKey = []byte("session") // in meta: n × the ULID of a session, the latest first, as in session.before

// Room returns nil, or a *DiskFull where a use is refused for want of room on the disk.
func (s *Set) Room(u disk.Use) error { return s.DiskRoom.Check(u) }

// Shortages are the uses that are refused for want of room on the disk, one *DiskFull each.
func (s *Set) Shortages() []*disk.Full { return s.DiskRoom.Shortages() }

// FreeBytes is the room on the disk that the store lies on; ok is false where the system does not say.
func (s *Set) FreeBytes() (free int64, ok bool) { return s.DiskRoom.Free() }

// FileBytes is the size of the store's file.
func (s *Set) FileBytes() int64 { return disk.Size(Path(s.Folder)) }

// Dir is the store's folder.
func (s *Set) Dir() string { return s.Folder }

// countDoubles reads how many double entries there are. One that is damaged is left out of the number.
func (s *Set) countDoubles(r *engine.View, found *damages) {
	n := int64(0)
	Sound(r, AdmissionBucket, []byte{ByDouble}, func(_, _ []byte) { n++ }, func(key []byte) { found.add(DamagedRow(AdmissionBucket, key)) })
	s.Doubles.Store(n)
}

// Live is how many live records of a kind there are.
func (s *Set) Live(k *record.Kind) int { return s.Current().Kind(k).All.Len() }

func DamagedGauge(s *Set) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_store_damaged_values", Help: "Values that the store found damaged when it was opened, and serves to nobody."}, func() float64 {
		return float64(s.damaged)
	})
}

func SeqGauge(s *Set) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_store_sequence", Help: "Sequence of the latest change."}, func() float64 {
		return float64(s.seq.Load())
	})
}

func RecordsGauge(s *Set, k *record.Kind) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "doorward_store_records", Help: "Live records by kind.", ConstLabels: prometheus.Labels{"kind": k.Name},
	}, func() float64 { return float64(s.Live(k)) })
}

func ClockGauges(s *Set) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_clock_doubted", Help: "1 while the machine's clock is not believed."}, func() float64 {
			return float64(Flag(s.Clock().Doubt != ""))
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "doorward_clock_offset_seconds", Help: "How far a peer's clock was ahead when last measured; NaN before."}, func() float64 {
			if c := s.Clock(); !c.Measured.IsZero() {
				return c.Offset.Seconds()
			}
			return math.NaN()
		}),
	}
}
