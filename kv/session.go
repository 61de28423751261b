package kv

import (
	"errors"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"
)

// ErrSession is what no store says of its session.
var ErrSession = errors.New("not a session")

// session is one start of a store, as far as peers have been told of it.
type session struct {
	id          string // ULID
	predecessor string // the session before; the epoch, where this is its first
}

var sessionKey = []byte("session") // in meta: the latest session's ULID

// Session names this start of the store, and the one before that any peer was told of, for a peer at contact. It begins with
// the first such contact: a start that meets nobody is in no chain. Where a store was copied, two sessions name one
// predecessor, or one goes on beside its successor: SeenSession at the peer notices.
func (s *Store) Session() (id, predecessor string, err error) {
	if now := s.session.Load(); now != nil {
		return now.id, now.predecessor, nil
	}
	err = s.do(false, func(o *op) error {
		if now := s.session.Load(); now != nil {
			id, predecessor = now.id, now.predecessor
			return nil
		}
		before, err := o.get(metaBucket, sessionKey)
		if err != nil {
			return err
		}
		next := &session{id: ulid.Make().String(), predecessor: string(before)}
		if before == nil {
			next.predecessor = s.Epoch()
		}
		o.put(metaBucket, sessionKey, []byte(next.id))
		o.after = append(o.after, func() { s.session.Store(next) })
		id, predecessor = next.id, next.predecessor
		return nil
	})
	return id, predecessor, err
}

// sighting is a session of a peer, as this store has met it.
type sighting struct {
	session
	outlived bool // it was met again after one that names it as its predecessor
}

// keptSightings is how many sessions of a peer are remembered.
const keptSightings = 100

// SeenSession notes that a node was met in a session, and tells whether it has a clone: two copies of it are about, which have
// gone on from one session. Both copies, and what follows them, are told so until they begin a new epoch. ErrSession.
func (s *Store) SeenSession(node, id, predecessor string) (clone bool, err error) {
	for _, text := range []string{node, id, predecessor} {
		if _, err := ulid.ParseStrict(text); err != nil || id == predecessor {
			return false, ErrSession
		}
	}
	key := []byte("sessions/" + node)
	err = s.do(false, func(o *op) error {
		row, err := o.get(metaBucket, key)
		if err != nil {
			return err
		}
		seen, err := parseSightings(row)
		if err != nil {
			return err
		}
		now, changed := meet(seen, session{id, predecessor})
		if changed {
			o.put(metaBucket, key, encodeSightings(now))
		}
		clone = cloned(now, id)
		return nil
	})
	return clone, err
}

// meet adds a meeting to what is remembered.
func meet(seen []sighting, met session) (now []sighting, changed bool) {
	at := slices.IndexFunc(seen, func(g sighting) bool { return g.id == met.id })
	if at < 0 {
		now = append(seen, sighting{session: met})
		return now[max(0, len(now)-keptSightings):], true
	}
	if seen[at].outlived || !slices.ContainsFunc(seen, func(g sighting) bool { return g.predecessor == met.id }) {
		return seen, false
	}
	seen[at].outlived = true
	return seen, true
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
		row = append(append(append(row, g.id...), g.predecessor...), flag(g.outlived))
	}
	return row
}

func parseSightings(row []byte) (seen []sighting, err error) {
	c := cutter{rest: row}
	for len(c.rest) > 0 {
		g := sighting{session: session{string(c.bytes(ulidLength)), string(c.bytes(ulidLength))}, outlived: c.byte() == 1}
		seen = append(seen, g)
	}
	if c.short {
		return nil, fmt.Errorf("%w: sessions of a node", ErrCorrupt)
	}
	return seen, nil
}
