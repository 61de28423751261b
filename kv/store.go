package kv

import (
	"cmp"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/auth"
	"doorward/kv/backup"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/door"
	"doorward/kv/engine"
	"doorward/kv/erase"
	"doorward/kv/feed"
	"doorward/kv/inbox"
	"doorward/kv/keys"
	"doorward/kv/laptop"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/table"
	"doorward/kv/upkeep"
)

// Config says where a store lies and what it lives among. Only Dir is needed.
type Config = table.Config

// Store is one congregation's records in one file, and the desks that serve them.
type Store struct {
	Tables   *table.Set      // the file, and what the store knows of itself
	Keys     *keys.Ring      // api keys and sessions
	Desk     *desk.Desk      // records of the congregation
	Log      *feed.Log       // all changes, in order
	Door     *door.Desk      // check-ins
	Inbox    *inbox.Box      // what is waiting for staff
	Venues   *office.Desk    // a centre's laptops
	Laptop   *laptop.Laptop  // a laptop's side of its centre
	Docs     *docs.Set       // databases of documents
	Erasures *erase.Register // erased people
	Figures  *upkeep.Figures // what an operator wants to know
	Files    *backup.Keeper  // the file: check, copy, compact
	forget   func()          // lets another store of the same process take the names of the metrics
}

// Open opens the store in a folder, or makes it: ErrInUse, ErrNewerFormat, ErrOlderFormat, ErrCorrupt.
func Open(c table.Config) (*Store, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.Zone, c.ScanLimit = cmp.Or(c.Zone, time.UTC), cmp.Or(c.ScanLimit, desk.ScanLimit)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	s, err := open(c)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", table.Blamed(c, err))
	}
	return s, nil
}

// open is Open with its defaults set. A file that was cut short makes bbolt reach beyond its end, or say by a panic what it
// found: both are damage, and nothing has been written.
func open(c table.Config) (s *Store, err error) {
	defer func() {
		if found := recover(); found != nil {
			s, err = nil, engine.Broken(found)
		}
	}()
	t, err := table.Open(c, storeRules())
	if err != nil {
		return nil, err
	}
	s = assemble(t, c)
	if err := s.load(); err != nil {
		_ = t.Engine.Close() // the first error is the one to tell
		return nil, err
	}
	s.forget = s.register(c.Registerer)
	if err := s.start(c); err != nil {
		_ = s.Close() // the first error is the one to tell
		return nil, err
	}
	return s, nil
}

// load reads what rooms derive from the file.
func (s *Store) load() error {
	if err := office.ReadCentre(s.Tables); err != nil {
		return err
	}
	return s.Keys.LoadLogins()
}

// assemble makes the desks, and gives each what it needs of others.
func assemble(t *table.Set, c table.Config) *Store {
	s := &Store{Tables: t}
	finder := desk.NewSearching(c.ScanLimit, c.Logger)
	s.Keys = keys.New(t, func(p auth.Principal) ([]int64, error) { return s.Venues.KeysFor(p) }, func() uint64 { return s.Erasures.Finished() })
	s.Desk = desk.New(t, finder, s.Keys.StandingIn)
	s.Log = feed.New(t)
	s.Door = door.New(t, finder, s.Keys.StandingIn)
	s.Inbox = inbox.New(t, s.Keys.StandingIn)
	s.Venues = office.New(t, s.Keys.StandingIn)
	s.Laptop = laptop.New(t, s.Venues, func() bool { return s.Erasures.ErasePending() })
	s.Docs = docs.New(t, s.Keys.StandingIn)
	s.Erasures = erase.New(t, s.Keys.StandingIn, s.Keys.Rekey)
	s.Figures = upkeep.New(t, s.Keys)
	s.Files = backup.New(t)
	return s
}

// storeRules are what the rooms above the tables say of each change.
func storeRules() table.Rules {
	return table.Rules{
		Leaves:  docs.MayLeave,
		Deleted: laptop.ForgetPulled,
		Ended:   merge.ListLost,
	}
}

// start begins to write, and finishes what a crash has left undone.
func (s *Store) start(c table.Config) error {
	s.Tables.Start(s.Keys.FollowKeys)
	if err := s.Tables.Arrive(c); err != nil {
		return err
	}
	if err := s.Erasures.Start(c); err != nil {
		return err
	}
	if !c.Aside && !c.ReadOnly {
		s.Docs.Start()
	}
	s.Tables.Clock.Judge(s.Tables.Clock.Now())
	return nil
}

// Close ends the writer after what it has begun and closes the file.
func (s *Store) Close() error {
	s.Docs.Close()
	s.Erasures.Close()
	err := s.Tables.Close()
	s.forget()
	return err
}

// register registers the metrics of all rooms, and returns what unregisters them. Without a registerer it does neither.
func (s *Store) register(reg prometheus.Registerer) (forget func()) {
	if reg == nil {
		return func() {}
	}
	own := []prometheus.Collector{s.Door.Decisions, s.Tables.Damage.Corrupt, s.Desk.Search.Fallbacks, inbox.NewGauge(s.Tables), s.Figures.Gauge()}
	all := slices.Concat(own, table.Gauges(s.Tables), s.Erasures.Gauges(), door.ReviewGauges(s.Tables))
	reg.MustRegister(all...)
	return func() {
		for _, c := range all {
			reg.Unregister(c)
		}
	}
}

// Inspect looks at a file that cannot be opened, page by page, and names every page and row that is damaged as far as sound pages lead to
// them. It trusts nothing that it reads, and never maps the file. No process writes to a file that Open refuses, so it takes no lock.
// A *BadFile is a file that holds no pages of a store.
func Inspect(dir string) (backup.Report, error) {
	var rep backup.Report
	bad := func(page uint64, reason string) { rep.AddDamage(table.Damage{Page: page, Reason: reason}) }
	reason, err := engine.Walk(table.Path(dir), &table.Schema, bad, func(b engine.Bucket, row engine.Row) {
		rep.Rows++
		value, err := row.Value()
		if err != nil {
			rep.AddDamage(table.DamagedRow(b, row.Key))
			return
		}
		var st table.Stored
		if b >= table.FirstKindBucket && st.Parse(value) == nil && !st.Deleted {
			rep.Records++
		}
	})
	if reason != "" {
		rep.AddDamage(table.Damage{Reason: "the file " + reason})
	}
	return rep, err
}
