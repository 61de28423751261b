package kv

import (
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

// recalls are what operations tell of erasures.
type recalls struct {
	any       atomic.Bool               // there is an erasure: before, no read looks for one
	come      bell                      // rung when a peer has told of one
	told      atomic.Uint64             // how often
	concealed atomic.Pointer[concealed] // what is hidden until it is erased; nil: nothing
}
