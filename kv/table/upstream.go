package table

import (
	"encoding/json"
	"fmt"
	"time"

	"doorward/kv/engine"
)

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
