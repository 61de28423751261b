package handshake

import (
	"encoding/json"
	"time"
)

// IsFrom tells the greeting of the centre that was joined from what somebody else answers in its place. A centre that was restored, or that
// has moved, keeps its node, and says that its epoch is another.
func (g *Greeting) IsFrom(node string) bool {
	return g.Node == node && g.Epoch != "" && !g.Now.IsZero()
}

// Hello is what a laptop tells its centre at each handshake: POST /sync/_hello, with its key of class node.
type Hello struct {
	Version     string    `json:"version"`
	Realm       string    `json:"realm"`
	Node        string    `json:"node"`
	Epoch       string    `json:"epoch"`
	Session     string    `json:"session"`
	Predecessor string    `json:"predecessor"`
	Before      []string  `json:"before,omitempty"` // the sessions before that one, which nobody has answered to
	Offset      *int64    `json:"clock_offset_ms"`  // how far the centre's clock was ahead when last measured
	Backlog     int       `json:"backlog"`
	Oldest      time.Time `json:"oldest,omitzero"`
	Wants       []string  `json:"wants"`          // the kinds of which ids are wanted
	Wiped       bool      `json:"wiped,omitzero"` // it wipes itself after this answer

	Since  map[string]string `json:"since"`            // by database, up to where it has what the centre has
	Events []int64           `json:"events,omitempty"` // those of which it holds tickets or facts
	Erased string            `json:"erased,omitempty"` // up to where it knows what was erased
}

// Greeting is what the centre answers.
type Greeting struct {
	Version   string            `json:"version"`
	Node      string            `json:"node"`
	Epoch     string            `json:"epoch"`
	Feed      string            `json:"feed,omitempty"` // of which version it takes and gives lines
	Now       time.Time         `json:"now"`
	Clone     bool              `json:"clone,omitzero"`   // another copy of the laptop's store is about
	Revoked   bool              `json:"revoked,omitzero"` // nothing is taken but facts, and nothing is given
	Wipe      bool              `json:"wipe,omitzero"`    // it shall hand over its last fact and wipe itself
	Databases []Database        `json:"databases"`
	Chosen    bool              `json:"chosen,omitzero"` // of its churches' events the laptop takes along only those that were named
	Drop      []Drop            `json:"drop,omitzero"`   // databases that go once the centre has all of them
	Behind    int               `json:"behind"`          // changes that the laptop lacks; of many it may say too many
	Leases    []Lease           `json:"leases,omitzero"`
	Keys      []json.RawMessage `json:"keys,omitzero"`      // lines of the keys that work at the laptop too
	KeyMark   string            `json:"key_mark,omitempty"` // of these, for who waits for others
	Erasures  []erasure         `json:"erasures,omitzero"`
	Erased    string            `json:"erased,omitempty"` // up to where erasures were told
}

// Database is a database that the two exchange.
type Database struct {
	Name  string `json:"name"`
	Push  bool   `json:"push"`
	Pull  bool   `json:"pull"`
	Guest bool   `json:"guest,omitzero"` // of the records in it the laptop changes those alone that it has made
}

// Pulls are the databases that the laptop is given.
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
	Kind string `json:"kind,omitempty"` // "" = the one that was asked for
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

// KeyMark answers GET /sync/_hello?keys=…
type KeyMark struct {
	Keys string `json:"keys"`
}
