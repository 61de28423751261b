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

// ErrSession is what no store says of its session.
var ErrSession = errors.New("not a session")

// maxChain is how many unanswered sessions are told. Of more the oldest are left out, not the one that was answered to:
// then a copy may be noticed where there is none, which costs a lease, but none is missed.
const maxChain = 32

// Session names this start of the store, and those before back to the last that a peer has answered to (SessionMet), for a peer at
// contact. It begins with the first such contact: a start without a contact is in no chain. Where a store was copied, two chains
// leave from one session, or one goes on beside its successor: SeenSession at the peer notices.
func (kr *Ring) Session() (id string, before []string, err error) {
	if now := kr.tables.Session.Load(); now != nil {
		return now.Id, now.Before, nil
	}
	err = kr.tables.Do(false, func(o *table.Tx) error {
		if now := kr.tables.Session.Load(); now != nil {
			id, before = now.Id, now.Before
			return nil
		}
		if before, err = sessions(o); err != nil {
			return err
		}
		if before == nil {
			before = []string{kr.tables.Epoch()}
		}
		next := &table.Session{Id: ulid.Make().String(), Before: before}
		o.Put(table.MetaBucket, table.SessionKey, []byte(next.Id+strings.Join(before, "")))
		o.After(func() { kr.tables.Session.Store(next) })
		id = next.Id
		return nil
	})
	return id, before, err
}

// sessions are those that the next one is to name.
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

// SessionMet notes that a peer has answered to a session: the next one names none before it.
func (kr *Ring) SessionMet(id string) error {
	now := kr.tables.Session.Load()
	if now == nil || now.Id != id || now.Met.Load() {
		return nil
	}
	return kr.tables.Do(false, func(o *table.Tx) error {
		if kr.tables.Session.Load() == now {
			o.Put(table.MetaBucket, table.SessionKey, []byte(id))
			o.After(func() { now.Met.Store(true) })
		}
		return nil
	})
}

// sighting is a session of a peer, as this store was told of it.
type sighting struct {
	id          string
	predecessor string // the session before; the epoch, where this is its first
	outlived    bool   // it was met again after one that names it as its predecessor
}

// keptSightings is how many sessions of a peer are remembered.
const keptSightings = 100

// SeenSession notes that a node was met in a session, and which were before it, the latest first, and tells whether it has a clone:
// two copies of it are about, which have gone on from one session, however often either was started before it met anybody. Both
// copies, and what follows them, are told so until they begin a new epoch. ErrSession.
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
	if err := kr.settleReturned(node, key, chain[len(chain)-1]); err != nil {
		return false, err
	}
	err = kr.tables.Do(false, func(o *table.Tx) error {
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

// settleReturned settles what waits for a node that goes on in another epoch than before: it may have lost what it had not brought yet.
func (kr *Ring) settleReturned(node string, key []byte, root string) error {
	var returned bool
	err := kr.tables.Do(false, func(o *table.Tx) error { // a store that is stopped says so
		row, err := o.Get(table.MetaBucket, key)
		if err != nil {
			return err
		}
		seen, err := parseSightings(row)
		returned = len(seen) > 0 && !slices.ContainsFunc(seen, func(g sighting) bool { return g.id == root || g.predecessor == root })
		return err
	})
	if err != nil || !returned {
		return err
	}
	return kr.tables.Rules.Returned(kr.tables, ulid.MustParse(node)) // it was read before
}

// hear adds to what is remembered a meeting with the first of a chain of sessions.
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

// cloned tells whether a session, or one that it goes back to, is where two copies part.
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
