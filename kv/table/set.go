package table

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/ledger"
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
	Limits  Limits                                                                  // Open sets them
}

func newSet(c Config, r Rules) *Set {
	s := &Set{
		Log: c.Logger, Rules: r, Damage: newDamageReport(c.Logger),
		Folder: Folder{Dir: filepath.Clean(c.Dir), Room: c.Room(), ReadOnly: c.ReadOnly},
		Clock:  Clock{now: c.Clock, zone: c.Zone, built: c.Built},
	}
	s.Rules.Limits = honest
	switch {
	case c.FreeQuota > 0:
		s.Rules.Limits.Free = c.FreeQuota
	case c.FreeQuota < 0:
		s.Rules.Limits.Free = math.MaxInt64
	}
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
	FreeQuota  int64                 // bytes that one free database may take; 0 = DefaultFreeQuota, negative = no limit
	Aside      bool                  // the file is a copy for reading: its place begins no epoch
	ReadOnly   bool                  // nothing is written to the folder: a write returns ErrReadOnly; persons to be erased are hidden
	Certain    bool                  // of a ReadOnly store whose log is missing or damaged what is certain is read
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
	ErrOlderFormat = errors.New("the store was written by an older version") // which this one reads no more
)

// ErrRevoked is the ErrBadLogin of a revoked key, for a caller that has the key's secret.
var ErrRevoked = fmt.Errorf("%w: the key is revoked", ErrBadLogin)

// ErrExpired is the ErrBadLogin of a key that has expired, for a caller that has the key's secret.
var ErrExpired = fmt.Errorf("%w: the key has expired", ErrBadLogin)

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

// Rows of meta.
var (
	RealmKey    = []byte("realm")
	nodeKey     = []byte("node")
	CodeKey     = []byte("code_key")
	CentreKey   = []byte("centre")   // the node of this store's centre
	UpstreamKey = []byte("upstream") // an Upstream as JSON
)

// Identity says which store of which congregation this is, and which centre it has.
type Identity struct {
	node     string
	family   atomic.Pointer[Family]
	centre   atomic.Pointer[string]
	upstream atomic.Pointer[Upstream]
	hashers  sync.Pool // of *hasher
}

// Family is what the nodes of a congregation have in common. An empty store that joins them takes it over.
type Family struct {
	Realm   string
	CodeKey []byte
}

// read reads the rows without which a store does not know which one it is.
func (id *Identity) read(r *engine.View) error {
	rows, err := metaTexts(r, nodeKey, RealmKey, CodeKey)
	if err != nil {
		return err
	}
	id.node = rows[0]
	id.SetFamily(&Family{rows[1], []byte(rows[2])})
	return nil
}

// metaTexts reads rows of meta that every store has.
func metaTexts(r *engine.View, keys ...[]byte) (texts []string, err error) {
	for _, key := range keys {
		row, err := r.Get(MetaBucket, key)
		if err == nil && row == nil {
			err = fmt.Errorf("%w: meta row %s is missing", engine.ErrCorrupt, key)
		}
		if err != nil {
			return nil, Identified(key, err)
		}
		texts = append(texts, string(row))
	}
	return texts, nil
}

// Node is this store's ULID.
func (id *Identity) Node() string { return id.node }

// Family is the congregation's ULID and the key that it hashes codes with.
func (id *Identity) Family() *Family { return id.family.Load() }

// SetFamily notes which congregation the store belongs to now.
func (id *Identity) SetFamily(f *Family) { id.family.Store(f) }

// Realm is the congregation's ULID.
func (id *Identity) Realm() string { return id.Family().Realm }

// HashCode is a code's hash under the realm's key.
func (id *Identity) HashCode(code string) (h CodeHash) {
	family := id.Family()
	k, _ := id.hashers.Get().(*hasher)
	if k == nil || k.family != family {
		k = &hasher{family: family, mac: hmac.New(sha256.New, family.CodeKey)}
	}
	k.mac.Reset()
	k.mac.Write([]byte(code))
	var sum [sha256.Size]byte
	copy(h[:], k.mac.Sum(sum[:0]))
	id.hashers.Put(k)
	return h
}

// hasher hashes codes under a family's key. To make one costs more than to use it.
type hasher struct {
	family *Family
	mac    hash.Hash
}

// HashErased is what the store keeps of an erased record: a keyed hash of its id. A holding's ULID tells nothing of a person and is
// kept as it is.
func (id *Identity) HashErased(k *record.Kind, rec record.ID) ledger.ErasedHash {
	if k.OfHolding() {
		return ledger.ErasedHash(rec.ULID())
	}
	return ledger.ErasedHash(id.HashCode("erased\x00" + k.DocID(rec)))
}

// Centre is the node of this store's centre, which merges for this store. It is "" where the store is the root.
func (id *Identity) Centre() string { return *id.centre.Load() }

// SetCentre notes the node of this store's centre; "" = none.
func (id *Identity) SetCentre(node string) { id.centre.Store(&node) }

// IsLeaf tells whether the store has a centre.
func (id *Identity) IsLeaf() bool { return id.Centre() != "" }

// Upstream is what the store knows of its centre.
func (id *Identity) Upstream() *Upstream { return id.upstream.Load() }

// SetUpstream notes what the store knows of its centre.
func (id *Identity) SetUpstream(u *Upstream) { id.upstream.Store(u) }

// IsRevoked tells whether the centre has revoked this laptop. A revoked laptop sells and edits nothing more, and marks its check-ins
// for review.
func (id *Identity) IsRevoked() bool { return id.IsLeaf() && id.Upstream().Revoked }

// IsUnkeyed tells whether the store was filled from a file. Until it joins, it cannot tell which person an erasure is about.
func (id *Identity) IsUnkeyed() bool { return id.Upstream().Unkeyed }

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
	Zone     string              `json:"zone,omitempty"`    // the name of its time zone; "" = it tells none
	Erased   string              `json:"erased,omitempty"`  // its sequence up to which it has sent what was erased
	Anew     bool                `json:"anew,omitempty"`    // enrolled there anew since it was last met
	Unkeyed  bool                `json:"unkeyed,omitempty"` // the key that the realm hashes with is not known here
}

// Admits tells whether the laptop's doors may admit guests at an event. A mirror is only read, but for events that it was enrolled for besides: of
// the others the centre takes no facts from it, so an admission would stay unknown elsewhere.
func (u *Upstream) Admits(event int64) bool {
	return !slices.Contains(u.Pulls, Mirror) || slices.Contains(u.Pushes, scopes.Scope{Sort: scopes.Event, ID: event}.String())
}

// ReadUpstream is the zero Upstream where the store has joined none.
func ReadUpstream(v *View) (u Upstream, err error) {
	row, err := v.Get(MetaBucket, UpstreamKey)
	if err == nil && len(row) > 0 && json.Unmarshal(row, &u) != nil {
		err = fmt.Errorf("%w: meta row upstream", engine.ErrCorrupt)
	}
	return u, err
}

// ClockSlack is how far two clocks may be apart before one of them is doubted. It is also how far the clock may be behind the latest commit
// before the time of that commit is doubted.
const ClockSlack = 2 * time.Minute

// Doubt says why the clock is not believed; "" = it is.
type Doubt string

// The doubts.
const (
	BeforeBuild Doubt = "it is earlier than this program was built"
	OffPeer     Doubt = "it is more than two minutes from a peer's clock"
	WentBack    Doubt = "it is earlier than when it was last right"
	Unknown     Doubt = "what was known of it is damaged in the store"
)

// Clock is the machine's clock, as this store judges it.
type Clock struct {
	tables   *Set
	now      func() time.Time
	zone     *time.Location
	built    time.Time // of this program: an earlier clock is doubted
	standing atomic.Pointer[standing]
	told     atomic.Pointer[Doubt] // the log was told of it last
}

// Now is the clock's time.
func (c *Clock) Now() time.Time { return c.now() }

// Zone is the congregation's timezone.
func (c *Clock) Zone() *time.Location { return c.zone }

// Reading is what a store knows about the machine's clock.
type Reading struct {
	Doubt    Doubt
	Measured time.Time     // when a peer's clock was last read, by our clock; zero = never
	Peer     string        // the peer of that clock
	Offset   time.Duration // how far it was ahead of ours
}

// standing is what was last measured of the clock, and when the clock was last right.
type standing struct {
	measured int64  // microseconds since 1970 by our clock; 0 = never
	offset   int64  // microseconds that the peer's clock was ahead
	peer     string // its node, or another name
	right    int64  // when a measure or a person said so, microseconds since 1970; 0 = never
	trusted  int64  // the offset that the person trusted; 0 after a good measure
	build    int64  // build time of a program that was newer than the clock although the clock was right, microseconds since 1970; 0 = none
	lost     bool   // the row is damaged: the clock is doubted until a measure or a person says that it is right
}

var clockKey = []byte("clock") // in meta: each field of a standing, numbers as varints, the peer last

// maxPeer is how much of a peer's name is kept.
const maxPeer = 64

func (c *standing) encode() (row []byte) {
	for _, n := range []int64{c.measured, c.offset, c.right, c.trusted, c.build} {
		row = binary.AppendVarint(row, n)
	}
	return append(row, c.peer...)
}

// readStanding reads the row. For a damaged row it returns a standing that is lost.
func readStanding(r *engine.View) (*standing, error) {
	c := &standing{}
	row, err := r.Get(MetaBucket, clockKey)
	if errors.Is(err, engine.ErrCorrupt) {
		return &standing{lost: true}, nil
	}
	if err != nil || row == nil {
		return c, err
	}
	cut := Cutter{Rest: row}
	for _, field := range []*int64{&c.measured, &c.offset, &c.right, &c.trusted, &c.build} {
		*field = cut.Varint()
	}
	if c.peer = string(cut.Rest); cut.Short {
		return &standing{lost: true}, nil
	}
	return c, nil
}

// doubt judges the clock for a program that was built at some time.
func (c *standing) doubt(now, built time.Time) Doubt {
	at, slack := now.UnixMicro(), ClockSlack.Microseconds()
	switch {
	case now.Before(built) && c.build != built.UnixMicro():
		return BeforeBuild
	case c.off() > slack || c.off() < -slack:
		return OffPeer
	case c.lost:
		return Unknown
	case c.right != 0 && at < c.right-slack:
		return WentBack
	}
	return ""
}

// off is how far the peer's clock was from the offset that a person has trusted.
func (c *standing) off() int64 { return c.offset - c.trusted }

// confirm notes that the clock is right.
func (c *standing) confirm(now, built time.Time) {
	c.right, c.build, c.lost = now.UnixMicro(), 0, false
	if now.Before(built) {
		c.build = built.UnixMicro()
	}
}

// measure notes a peer's clock; one within two minutes of ours confirms it.
func (c *standing) measure(m Reading, built time.Time) {
	c.measured, c.offset = m.Measured.UnixMicro(), m.Offset.Microseconds()
	c.peer = m.Peer[:min(len(m.Peer), maxPeer)]
	if m.Offset.Abs() <= ClockSlack {
		c.trusted = 0
		c.confirm(m.Measured, built)
	}
}

// Measure tells how far a peer's clock was ahead of ours at a moment of ours, once for each time that the two meet. It
// decides whether the clock is believed until the next measure, over restarts.
func (c *Clock) Measure(peer string, offset time.Duration, at time.Time) error {
	return c.change(func(st *standing) { st.measure(Reading{Measured: at, Peer: peer, Offset: offset}, c.built) })
}

// Trust ends every doubt of the clock as it is, because a person has checked it. The same difference from a peer's clock
// raises no doubt again; another difference does. It returns *Forbidden unless p administers the whole store.
func (c *Clock) Trust(p auth.Principal) (Reading, error) {
	if err := p.CheckRule(); err != nil {
		return Reading{}, err
	}
	err := c.change(func(st *standing) {
		st.trusted = st.offset
		st.confirm(c.Now(), c.built)
	})
	return c.Reading(), err
}

func (c *Clock) change(change func(*standing)) error {
	err := c.tables.Do(func(o *Tx) error {
		st, err := readStanding(o.View.View)
		if err != nil {
			return err
		}
		change(st)
		o.Put(MetaBucket, clockKey, st.encode())
		o.After(func() { c.standing.Store(st) })
		return nil
	})
	c.Judge(c.Now())
	return err
}

// read reads what was last known of the clock. Damage is noted, and raises a doubt.
func (c *Clock) read(r *engine.View, found *damages) error {
	st, err := readStanding(r)
	if err != nil {
		return err
	}
	if st.lost {
		found.add(DamagedRow(MetaBucket, clockKey))
	}
	c.standing.Store(st)
	return nil
}

// forget drops everything that is known of the clock.
func (c *Clock) forget() { c.standing.Store(&standing{}) }

// Reading tells what is known about the machine's clock now.
func (c *Clock) Reading() Reading {
	st := c.standing.Load()
	r := Reading{Doubt: c.Judge(c.Now()), Peer: st.peer, Offset: time.Duration(st.offset) * time.Microsecond}
	if st.measured != 0 {
		r.Measured = time.UnixMicro(st.measured).UTC()
	}
	return r
}

// Judge tells whether the clock is doubted, and says in the log when that changes.
func (c *Clock) Judge(now time.Time) Doubt {
	d := c.standing.Load().doubt(now, c.built)
	before := c.told.Load()
	if before == nil && d == "" || before != nil && *before == d || !c.told.CompareAndSwap(before, &d) {
		return d
	}
	if d != "" {
		c.tables.Log.Warn("the clock is not believed: the times of tickets are not judged until it is right, or a person trusts it", slog.String("because", string(d)))
	} else {
		c.tables.Log.Info("the clock is believed again")
	}
	return d
}

// Offset is the measured offset as facts carry it, in milliseconds; ok is false where none was measured.
func (c *Clock) Offset() (ms int64, ok bool) {
	st := c.standing.Load()
	return time.Duration(st.offset * int64(time.Microsecond)).Milliseconds(), st.measured != 0
}
