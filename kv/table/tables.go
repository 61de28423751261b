package table

import (
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

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
	Leaves  func(o *Tx, k *record.Kind, before *Stored, next [2]scopes.Scope) error // a *Forbidden: it must not be made here
	Placed  func(o *Tx, k *record.Kind, before, next *Stored)                       // the record's row was put; before nil: it is new
	Ended   func(o *Tx, c Edit, t *rev.Tree) error                                  // a deletion is about to end all leaves of a tree
	Settled func(o *Tx, ticket record.ID) error                                     // a ticket may have changed its state, or is gone
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
