package handshake

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"doorward/kv/erase"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// EnrolRequest is the body of POST /sync/_enrol: a code, and the hash of a secret that the laptop has drawn.
type EnrolRequest struct {
	Code   string `json:"code"`
	Node   string `json:"node"`
	Secret string `json:"secret_hash"`
	Realm  string `json:"realm"`
	Vacant bool   `json:"vacant"`          // the store has no records and may join another realm
	Proof  []byte `json:"proof,omitempty"` // proves that the laptop still has its earlier key

	Holds []string `json:"holds,omitempty"` // the databases of churches and events that the store has records of
}

// EnrolAnswer is the answer. No other answer holds the key that codes are hashed with.
type EnrolAnswer struct {
	ID      int64     `json:"id"`
	Name    string    `json:"name"`
	Key     string    `json:"key"`
	Realm   string    `json:"realm"`
	Node    string    `json:"node"`
	CodeKey string    `json:"code_key"`
	Ends    time.Time `json:"expires_at"`

	Databases []Database `json:"databases,omitempty"` // as in Greeting, until the first handshake
	Chosen    bool       `json:"chosen,omitzero"`
}

// Hello is the body of POST /sync/_hello: what a laptop tells its centre at each handshake.
type Hello struct {
	Version     string    `json:"version"`
	Realm       string    `json:"realm"`
	Node        string    `json:"node"`
	Epoch       string    `json:"epoch"`
	Session     string    `json:"session"`
	Predecessor string    `json:"predecessor"`
	Before      []string  `json:"before,omitempty"` // earlier sessions, as long as no handshake was answered
	Offset      *int64    `json:"clock_offset_ms"`  // how far the centre's clock was ahead when last measured
	Backlog     int       `json:"backlog"`
	Oldest      time.Time `json:"oldest,omitzero"`
	Wants       []string  `json:"wants"`          // the kinds that it wants ids of
	Wiped       bool      `json:"wiped,omitzero"` // it wipes its folder after this answer

	Since  map[string]string `json:"since"`            // by database: how far it has pulled
	Events []int64           `json:"events,omitempty"` // the events that it holds tickets or facts of
	Erased string            `json:"erased,omitempty"` // how far it knows the erasures
}

// Greeting is the centre's answer.
type Greeting struct {
	Version   string            `json:"version"`
	Node      string            `json:"node"`
	Epoch     string            `json:"epoch"`
	Feed      string            `json:"feed,omitempty"` // the version of lines that it takes and gives
	Now       time.Time         `json:"now"`
	Clone     bool              `json:"clone,omitzero"`   // another copy of the laptop's store is in use
	Revoked   bool              `json:"revoked,omitzero"` // the centre takes facts alone and gives nothing
	Wipe      bool              `json:"wipe,omitzero"`    // the laptop shall push its last fact and wipe its folder
	Databases []Database        `json:"databases"`
	Chosen    bool              `json:"chosen,omitzero"` // of its churches' events the laptop has only those that were named
	Drop      []Drop            `json:"drop,omitzero"`   // databases to drop once the centre has all of them
	Zone      string            `json:"zone,omitempty"`  // the name of the centre's time zone
	Behind    int               `json:"behind"`          // changes that the laptop lacks, at most
	Leases    []Lease           `json:"leases,omitzero"`
	Keys      []json.RawMessage `json:"keys,omitzero"`      // lines of the keys that are valid at the laptop too
	KeyMark   string            `json:"key_mark,omitempty"` // of Keys, for GET /sync/_hello
	Erasures  []Erasure         `json:"erasures,omitzero"`
	Erased    string            `json:"erased,omitempty"` // how far Erasures goes
}

// IsFrom tells whether the centre that this store has joined gave the answer. A centre that was restored or has moved keeps its node and
// changes its epoch.
func (g *Greeting) IsFrom(node string) bool {
	return g.Node == node && g.Epoch != "" && !g.Now.IsZero()
}

// Database is a database that the two exchange.
type Database struct {
	Name  string `json:"name"`
	Push  bool   `json:"push"`
	Pull  bool   `json:"pull"`
	Guest bool   `json:"guest,omitzero"` // the laptop changes only records that it has made
}

// Database returns what the centre has said of a database. One that it has not named goes neither way.
func (g *Greeting) Database(name string) Database {
	for _, e := range g.Databases {
		if e.Name == name {
			return e
		}
	}
	return Database{Name: name}
}

// Pulls returns the databases that the laptop pulls.
func (g *Greeting) Pulls() (names []string) {
	for _, e := range g.Databases {
		if e.Pull {
			names = append(names, e.Name)
		}
	}
	return names
}

// Note sets what an upstream says of databases to what the centre has said.
func Note(u *table.Upstream, all []Database) {
	u.Pushes, u.Pulls, u.Guest = nil, nil, nil
	for _, e := range all {
		if e.Push {
			u.Pushes = append(u.Pushes, e.Name)
		}
		if e.Pull {
			u.Pulls = append(u.Pulls, e.Name)
		}
		if e.Guest {
			u.Guest = append(u.Guest, e.Name)
		}
	}
}

// Among returns the databases that the laptop pulls and in which a document may be that has left one of them. Databases of other events are left
// out: they are many, and no document moves from event to event.
func (g *Greeting) Among(left string) (all []Database) {
	from, _ := scopes.Parse(left) // of the mirror it is zero
	for _, e := range g.Databases {
		if s, _ := scopes.Parse(e.Name); e.Pull && (!s.Sort.OfEvent() || from.Sort.OfEvent() && s.ID == from.ID) {
			all = append(all, e)
		}
	}
	return all
}

// Lease is a range of ids.
type Lease struct {
	Kind string `json:"kind,omitempty"` // "" = the kind that was asked for
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

// KeyMark is the answer to GET /sync/_hello?keys=MARK.
type KeyMark struct {
	Keys string `json:"keys"`
}

// Drop is a database that a laptop shall drop.
type Drop struct {
	Name  string    `json:"name"`
	Due   time.Time `json:"due,omitzero"`      // by the centre's clock, if its event is over; zero = at once
	After int64     `json:"after_ms,omitzero"` // milliseconds from the end of the event to Due
	Left  bool      `json:"left,omitzero"`     // its event has left the laptop's churches: it goes once no ticket was scanned for a while
}

// Terms are what a greeting says of databases by.
type Terms struct {
	Now   time.Time
	After time.Duration // after the end of its event a database is dropped
	Held  []int64       // the events that the laptop holds
}

// Tell says what the laptop shall do with a database: drop it, exchange it, or both for a while. A revoked laptop only pushes.
func (g *Greeting) Tell(x office.Exchanged, t Terms) {
	drops := x.Drop && !g.Revoked
	if drops {
		d := Drop{Name: x.Name, Due: x.Due, Left: x.Left}
		if !d.Due.IsZero() {
			d.After = t.After.Milliseconds()
		}
		g.Drop = append(g.Drop, d)
	}
	if (x.Push || !g.Revoked) && (!drops || isStillExchanged(x, t.Now, t.Held)) {
		g.Databases = append(g.Databases, Database{Name: x.Name, Push: x.Push, Pull: x.Pull && !g.Revoked, Guest: x.Guest})
	}
}

// isStillExchanged tells whether a laptop still exchanges a database that it shall drop: its event is over or has left, and the laptop
// holds it.
func isStillExchanged(x office.Exchanged, now time.Time, held []int64) bool {
	scope, _ := scopes.Parse(x.Name) // it is one of an event
	return (x.Left || !x.Due.IsZero()) && (now.Before(x.Due) || slices.Contains(held, scope.ID))
}

// DropsByEvent returns the databases to be dropped, by event. It leaves out names that this version does not know.
func (g *Greeting) DropsByEvent() map[int64][]Drop {
	events := map[int64][]Drop{}
	for _, d := range g.Drop {
		if scope, ok := scopes.Parse(d.Name); ok && scope.Sort.OfEvent() {
			events[scope.ID] = append(events[scope.ID], d)
		}
	}
	return events
}

// Delay returns how long after the end of its event a database is dropped.
func (d Drop) Delay() time.Duration { return time.Duration(d.After) * time.Millisecond }

// Kept returns the databases that keep their records when an event is dropped. A church has its events too. A laptop of event level has no
// events but its own.
func Kept(pulls []string) []string {
	if !slices.Contains(pulls, "reference-finance") {
		return nil
	}
	return pulls
}

// Kept returns the databases that keep their records when one is dropped. An event that has left its church takes its own record along, unless
// all churches see it now.
func (g *Greeting) Kept(name string) []string {
	if g.Leaves(name) {
		return []string{scopes.Scope{Sort: scopes.Reference}.String()}
	}
	return Kept(slices.DeleteFunc(g.Pulls(), g.IsDropped))
}

// Leaves tells whether a database shall be dropped because its event has left the laptop's churches.
func (g *Greeting) Leaves(name string) bool {
	return slices.ContainsFunc(g.Drop, func(d Drop) bool { return d.Name == name && d.Left })
}

// IsDropped tells whether a database shall be dropped.
func (g *Greeting) IsDropped(name string) bool {
	return slices.ContainsFunc(g.Drop, func(d Drop) bool { return d.Name == name })
}

// Erasure is an erased record, by the keyed hash of its id or, of a holding, by its ULID.
type Erasure struct {
	Kind string `json:"kind"`
	Hash string `json:"hash"`
}

// NewErasure writes an erasure for the wire.
func NewErasure(e erase.Erasure) Erasure {
	return Erasure{Kind: e.Kind.Name, Hash: hex.EncodeToString(e.Hash[:])}
}

// Parse reads an erasure; ok is false if it cannot be read. A kind of a later version is nil: this store has none of it.
func (told *Erasure) Parse() (e erase.Erasure, ok bool) {
	hash, err := hex.DecodeString(told.Hash)
	if copy(e.Hash[:], hash) != len(hash) || err != nil {
		return e, false
	}
	e.Kind, _ = record.ByName(told.Kind)
	return e, true
}

// ErasureReport is the body of POST /sync/_erased: a laptop tells a restored centre what was erased.
type ErasureReport struct {
	Erasures []Erasure `json:"erasures,omitempty"`
	Brought  bool      `json:"brought,omitzero"` // the laptop has pushed all its records: the erasures can be carried out
}
