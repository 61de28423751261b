package keys

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"

	"doorward/kv/engine"
	"doorward/kv/table"
)

// ErrSession says that a message about a session is malformed: no store sends it.
var ErrSession = errors.New("not a session")

// maxChain is how many unanswered sessions a store names. If there are more, it leaves out the oldest, but not the one that the peer has
// answered. The peer may then see a copy where there is none, which costs a lease; it never misses one.
const maxChain = 32

// Session returns the id of this start of the store, and the sessions before it back to the last one that a peer has answered (SessionMet).
// A session begins with the first contact; a start without contact has none. If the store was copied, two chains go on from one session, or
// a session goes on beside its successor. SeenSession at the peer notices both.
func (kr *Ring) Session() (id string, before []string, err error) {
	if now := kr.tables.Epochs.Session.Load(); now != nil {
		return now.ID, now.Before, nil
	}
	err = kr.tables.Do(func(o *table.Tx) error {
		if now := kr.tables.Epochs.Session.Load(); now != nil {
			id, before = now.ID, now.Before
			return nil
		}
		if before, err = sessions(o); err != nil {
			return err
		}
		if before == nil {
			before = []string{kr.tables.Epochs.Present()}
		}
		next := &table.Session{ID: ulid.Make().String(), Before: before}
		o.Put(table.MetaBucket, table.SessionKey, []byte(next.ID+strings.Join(before, "")))
		o.After(func() { kr.tables.Epochs.Session.Store(next) })
		id = next.ID
		return nil
	})
	return id, before, err
}

// sessions returns the sessions that the next one names as those before it.
func sessions(o *table.Tx) (chain []string, err error) {
	row, err := o.Get(table.MetaBucket, table.SessionKey)
	if err != nil || len(row)%table.UlidLength != 0 {
		return nil, table.OrCorrupt(err)
	}
	for part := range slices.Chunk(row, table.UlidLength) {
		chain = append(chain, string(part))
	}
	if n := len(chain); n > maxChain {
		chain = append(chain[:maxChain-1:maxChain-1], chain[n-1])
	}
	return chain, nil
}

// SessionMet notes that a peer has answered a session. The next session names only this one as before it.
func (kr *Ring) SessionMet(id string) error {
	now := kr.tables.Epochs.Session.Load()
	if now == nil || now.ID != id || now.Met.Load() {
		return nil
	}
	return kr.tables.Do(func(o *table.Tx) error {
		if kr.tables.Epochs.Session.Load() == now {
			o.Put(table.MetaBucket, table.SessionKey, []byte(id))
			o.After(func() { now.Met.Store(true) })
		}
		return nil
	})
}

// sighting is a session of a peer that this store has met or was told of.
type sighting struct {
	id          string
	predecessor string // the session before; the epoch, if this is the first session
	outlived    bool   // this store met it again after its successor
}

// keptSightings is how many sessions of a peer are remembered.
const keptSightings = 100

// SeenSession notes that this store has met a node in a session, and which sessions were before it, the latest first. clone tells that two
// copies of the node are in use, which went on from one session, however often each was started before its first contact. Both copies and
// their successors get this answer until they begin a new epoch. SeenSession returns ErrSession for a malformed message.
func (kr *Ring) SeenSession(node, id string, before []string) (clone bool, err error) {
	chain := append([]string{id}, before...)
	if len(before) < 1 || len(before) > maxChain {
		return false, ErrSession
	}
	for i, text := range append([]string{node}, chain...) {
		if _, err := ulid.ParseStrict(text); err != nil || i > 0 && slices.Contains(chain[i:], text) {
			return false, ErrSession
		}
	}
	key := []byte("sessions/" + node)
	err = kr.tables.Do(func(o *table.Tx) error {
		row, err := o.Get(table.MetaBucket, key)
		if err != nil {
			return err
		}
		seen, err := parseSightings(row)
		if err != nil {
			return err
		}
		now, changed := hear(seen, chain)
		if changed {
			o.Put(table.MetaBucket, key, encodeSightings(now))
		}
		clone = cloned(now, id)
		return nil
	})
	return clone, err
}

// hear adds the meeting with the first session of a chain to the sightings.
func hear(seen []sighting, chain []string) (now []sighting, changed bool) {
	at := func(id string) int { return slices.IndexFunc(seen, func(g sighting) bool { return g.id == id }) }
	known := at(chain[0])
	for i := len(chain) - 2; i >= 0; i-- {
		if at(chain[i]) < 0 {
			seen, changed = append(seen, sighting{id: chain[i], predecessor: chain[i+1]}), true
		}
	}
	if known >= 0 && !seen[known].outlived && slices.ContainsFunc(seen, func(g sighting) bool { return g.predecessor == chain[0] }) {
		seen[known].outlived, changed = true, true
	}
	return seen[max(0, len(seen)-keptSightings):], changed
}

// cloned tells whether two copies part at this session or at one before it.
func cloned(seen []sighting, id string) bool {
	for range seen { // each has one predecessor: a chain is not longer
		at := slices.IndexFunc(seen, func(g sighting) bool { return g.id == id })
		if at < 0 {
			return false
		}
		if seen[at].outlived {
			return true
		}
		id = seen[at].predecessor
		successors := 0
		for _, g := range seen {
			if g.predecessor == id {
				successors++
			}
		}
		if successors > 1 {
			return true
		}
	}
	return false
}

// A row of sightings: n × (session 26, predecessor 26, outlived 1), oldest first.
func encodeSightings(seen []sighting) (row []byte) {
	for _, g := range seen {
		row = append(append(append(row, g.id...), g.predecessor...), table.Flag(g.outlived))
	}
	return row
}

func parseSightings(row []byte) (seen []sighting, err error) {
	c := table.Cutter{Rest: row}
	for len(c.Rest) > 0 {
		g := sighting{string(c.Bytes(table.UlidLength)), string(c.Bytes(table.UlidLength)), c.Byte() == 1}
		seen = append(seen, g)
	}
	if c.Short {
		return nil, fmt.Errorf("%w: sessions of a node", engine.ErrCorrupt)
	}
	return seen, nil
}
