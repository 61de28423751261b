package handshake

import (
	"encoding/json"
	"time"
)

// IsFrom tells whether the centre that this store has joined gave the answer. A centre that was restored or has moved keeps its node and
// changes its epoch.
func (g *Greeting) IsFrom(node string) bool {
	return g.Node == node && g.Epoch != "" && !g.Now.IsZero()
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
	Behind    int               `json:"behind"`          // changes that the laptop lacks, at most
	Leases    []Lease           `json:"leases,omitzero"`
	Keys      []json.RawMessage `json:"keys,omitzero"`      // lines of the keys that are valid at the laptop too
	KeyMark   string            `json:"key_mark,omitempty"` // of Keys, for GET /sync/_hello
	Erasures  []Erasure         `json:"erasures,omitzero"`
	Erased    string            `json:"erased,omitempty"` // how far Erasures goes
}

// Database is a database that the two exchange.
type Database struct {
	Name  string `json:"name"`
	Push  bool   `json:"push"`
	Pull  bool   `json:"pull"`
	Guest bool   `json:"guest,omitzero"` // the laptop changes only records that it has made
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
