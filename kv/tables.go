package kv

import (
	"errors"
	"log/slog"
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

// tables is the store's file with what is derived from it, and what the store knows of itself.
type tables struct {
	dir      string
	engine   *engine.DB
	room     *disk.Room
	commits  commits
	clock    func() time.Time
	zone     *time.Location
	log      *slog.Logger
	built    time.Time
	identity identity
	epochs   atomic.Pointer[epochs]
	wall     wall
	limits   limits
	versions atomic.Pointer[[]*lists]
	seq      atomic.Uint64
	centre   atomic.Pointer[string] // what merges for this store; "" or nil = it is the root
	joined   atomic.Pointer[Upstream]
	releases atomic.Uint64           // see Releases
	bell     bell                    // rung when seq has grown
	bells    bells                   // of the single databases
	session  atomic.Pointer[session] // nil: no peer was told of it yet
	doubles  atomic.Int64            // double entries, of all events
	reads    reads
	recalls  recalls
	corrupt  prometheus.Counter
	rules    rules
	followed func([]listChange) // is told of each committed group
	damaged  int                // values, as was met when it was opened
	readOnly bool
}

// rules are what the rooms above the tables have to say of a change, while it is written.
type rules struct {
	leaves   func(o *op, k *record.Kind, before *stored, next [2]scopes.Scope) error // a *Forbidden: it must not be made here
	placed   func(o *op, k *record.Kind, before, next *stored)                       // the record's row was put; before nil: it is new
	ended    func(o *op, c change, t *rev.Tree) error                                // a deletion is about to end all leaves of a tree
	returned func(s *tables, node ulid.ULID) error                                   // a node goes on in another epoch than before
	settled  func(o *op, ticket record.ID) error                                     // a ticket may have changed its state, or is gone
}

func newTables(c Config, r rules) *tables {
	return &tables{
		dir: filepath.Clean(c.Dir), clock: c.Clock, zone: c.Zone, log: c.Logger, built: c.Built, limits: honest, rules: r,
		corrupt: prometheus.NewCounter(prometheus.CounterOpts{Name: "doorward_store_corrupt_reads_total", Help: "Reads that met a value whose checksum fails."}),
	}
}

// openTables opens the file, or makes it, and reads what is derived from it. Nothing is written before the engine is started.
func openTables(c Config, r rules) (*tables, error) {
	if err := makeFolderFor(c); err != nil {
		return nil, err
	}
	s := newTables(c, r)
	ec := c.engine()
	s.room = ec.Room
	var err error
	if s.engine, err = engine.Open(ec); err != nil {
		return nil, err
	}
	if err := s.engine.View(s.derive); err != nil {
		_ = s.engine.Close() // the first error is the one to tell
		return nil, err
	}
	s.readOnly = c.ReadOnly
	s.seq.Store(s.commits.state.seq)
	s.corrupt.Add(float64(s.damaged))
	return s, nil
}

// derive reads everything that is derived from the file.
func (s *tables) derive(r *engine.View) (err error) {
	if s.commits.state, err = readState(r); err != nil {
		return identified(stateKey, err)
	}
	if s.identity, err = s.readIdentity(r); err != nil {
		return err
	}
	var found damages
	clock, err := readStanding(r)
	if errors.Is(err, ErrCorrupt) {
		found.add(damagedRow(metaBucket, clockKey))
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

// close ends the writer after what it has begun and closes the file.
func (s *tables) close() error {
	s.reads.keeping.Wait()
	s.keepReads()
	return s.engine.Close()
}

// recalls are what operations tell of erasures.
type recalls struct {
	any       atomic.Bool               // there is an erasure: before, no read looks for one
	come      bell                      // rung when a peer has told of one
	told      atomic.Uint64             // how often
	concealed atomic.Pointer[concealed] // what is hidden until it is erased; nil: nothing
}
