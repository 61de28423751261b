package table

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
)

// Set is the open store: its file, the lists derived from it, and what the store knows of itself.
type Set struct {
	Engine   *engine.DB
	Log      *slog.Logger
	Rules    Rules
	Folder   Folder
	Clock    Clock
	Identity Identity
	Epochs   Epochs
	Lists    Lists
	Commits  Commits
	Reads    readCounter
	Recalls  Recalls
	Damage   damageReport
}

// Rules are the rules of the rooms above the tables. Each is asked inside the write transaction.
type Rules struct {
	Leaves  func(o *Tx, k *record.Kind, before *Stored, next [2]scopes.Scope) error // may the record leave its databases? *Forbidden: no
	Deleted func(o *Tx, k *record.Kind, id record.ID)                               // after a tombstone is written in a record's row
	Ended   func(o *Tx, c Edit, t *rev.Tree) error                                  // before a deletion ends all leaves of a tree
	Settled func(o *Tx, ticket record.ID) error                                     // after a ticket's state changed, or it was deleted
	Limits  Limits                                                                  // Open sets them
}

func newSet(c Config, r Rules) *Set {
	s := &Set{
		Log: c.Logger, Rules: r, Damage: newDamageReport(c.Logger),
		Folder: Folder{Dir: filepath.Clean(c.Dir), Room: c.Room(), ReadOnly: c.ReadOnly},
		Clock:  Clock{now: c.Clock, zone: c.Zone, built: c.Built},
	}
	s.Rules.Limits = honest
	s.Clock.tables, s.Epochs.tables, s.Commits.tables, s.Reads.tables = s, s, s, s
	return s
}

// Open opens the file, or makes it, and derives the lists from it. Nothing is written before Start.
func Open(c Config, r Rules) (*Set, error) {
	if err := makeFolderFor(c); err != nil {
		return nil, err
	}
	s := newSet(c, r)
	ec := c.engine(s.Folder.Room)
	ec.Derive = s.derive
	var err error
	if s.Engine, err = engine.Open(ec); err != nil {
		return nil, err
	}
	return s, nil
}

// derive reads everything that is derived from the file.
func (s *Set) derive(r *engine.View) error {
	if err := s.Commits.read(r); err != nil {
		return err
	}
	if err := errors.Join(s.Identity.read(r), s.Epochs.read(r)); err != nil {
		return err
	}
	var found damages
	if err := s.Clock.read(r, &found); err != nil {
		return err
	}
	if err := s.Lists.read(r, &found); err != nil {
		return err
	}
	s.Damage.tell(found)
	return nil
}

// Start starts the writer. followed gets the changes of each committed group.
func (s *Set) Start(followed func([]ListChange)) {
	s.Commits.followed = followed
	s.Engine.Start(s.Commits.hooks())
}

// Close stops the writer after its present group and closes the file.
func (s *Set) Close() error {
	s.Reads.keeping.Wait()
	s.Reads.keep()
	return s.Engine.Close()
}

// Config says where a store lies and what it uses. Only Dir is needed.
type Config struct {
	Dir        string
	Clock      func() time.Time      // nil = time.Now
	Zone       *time.Location        // the congregation's timezone; nil = UTC
	Logger     *slog.Logger          // nil = silent
	Registerer prometheus.Registerer // nil = not registered
	Built      time.Time             // the clock is doubted before this moment
	ScanLimit  int                   // how many records a search looks at while its index is not ready; 0 = 100,000
	Machine    string                // an id that no other machine has; "" = not known
	Restored   bool                  // the file comes from a backup: a new epoch begins, ids move on
	Disk       *disk.RoomLimits      // nil = disk.DefaultRoomLimits
	Free       func() (int64, error) // bytes that are free on the store's disk; nil = the system is asked
	Aside      bool                  // the file is a copy for reading: its place begins no epoch
	ReadOnly   bool                  // nothing is written to the folder: a write returns ErrReadOnly; persons to be erased are hidden
}

// Recalls are the signals between operations and the erasures that they ask for.
type Recalls struct {
	Any       atomic.Bool               // the store has an erasure; if not, reads skip the check
	Come      Bell                      // rings when a peer asks for one
	Told      atomic.Uint64             // how many times
	Concealed atomic.Pointer[Concealed] // the records that are hidden until they are erased; nil = none
}

// The store returns one of these when it does not do what was asked.
var (
	ErrNotFound    = errors.New("no such record")                            // missing, or outside the principal's scope
	ErrBadLogin    = errors.New("invalid api credentials")                   // unknown key, wrong secret, revoked, expired
	ErrConflict    = errors.New("conflicts with another record")             // the concrete error is a *Conflict
	ErrKeyReused   = errors.New("idempotency key was used for another body") // also a nonce used for another code
	ErrNewerFormat = errors.New("the store was written by a newer version")
)

// ErrRevoked is the ErrBadLogin of a revoked key, for a caller that has the key's secret.
var ErrRevoked = fmt.Errorf("%w: the key is revoked", ErrBadLogin)

// Conflict says which fact a write collides with.
type Conflict struct {
	Reason string         // one sentence
	Field  string         // the field that collides; "" = no field
	Counts map[string]int // on delete: kind → how many records refer to this one; otherwise nil
}

func (c *Conflict) Error() string { return fmt.Sprintf("%v: %s", ErrConflict, c.Reason) }

// Is makes a Conflict an ErrConflict.
func (c *Conflict) Is(target error) bool { return target == ErrConflict }

// Refused is a *Forbidden about one document.
func Refused(reason string) error {
	return &auth.Forbidden{CurrentScopes: []string{}, Reason: reason}
}
