package kv

import (
	"errors"
	"slices"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/value"
)

// The grants as the api_key record has them.
const (
	grantFinance = "finance"
	grantMirror  = "mirror"
	grantNames   = "names"
)

func venueOf(d *record.Doc) Venue { return venueWith(d.Text("node"), texts(d.Value("grants"))) }

func venueWith(node string, grants []string) Venue {
	return Venue{Node: node, Finance: slices.Contains(grants, grantFinance), Mirror: slices.Contains(grants, grantMirror),
		Names: slices.Contains(grants, grantNames)}
}

func setVenue(d *record.Doc, n Venue) {
	if n.Node == "" {
		return
	}
	d.Set("node", value.Quote(n.Node))
	d.Set("grants", value.Texts(grantsOf(n)...))
}

func grantsOf(n Venue) (grants []string) {
	for _, g := range []struct {
		name string
		has  bool
	}{{grantFinance, n.Finance}, {grantMirror, n.Mirror}, {grantNames, n.Names}} {
		if g.has {
			grants = append(grants, g.name)
		}
	}
	return grants
}

var centreKey = []byte("centre") // in meta: the node of this store's centre

// readCentre reads which centre the store has, and what that takes.
func readCentre(s *tables) error {
	return s.engine.View(func(r *engine.View) error {
		row, err := r.Get(metaBucket, centreKey)
		centre := string(row)
		s.centre.Store(&centre)
		if err != nil {
			return identified(centreKey, err)
		}
		u, err := upstream(&sight{View: r})
		s.joined.Store(&u)
		if errors.Is(err, ErrCorrupt) {
			return nil // a caller that asks for the centre gets this error; until then it is unknown what the centre takes
		}
		return err
	})
}

// Centre is the node of this store's centre; "" where it is the root.
func (s *tables) Centre() string { return *s.centre.Load() }

func (s *tables) isLeaf() bool { return s.Centre() != "" }

// IsRevoked tells whether its centre has revoked this laptop. A revoked laptop sells and edits nothing more, and marks its check-ins for review.
func (s *tables) IsRevoked() bool { return s.isLeaf() && s.joined.Load().Revoked }

// mayEnrol returns a *Conflict if laptops cannot be enrolled: a laptop hands on no facts but its own (sync.md §1), so those of one
// that had joined it would never come to the centre.
func (s *Store) mayEnrol() error {
	if !s.isLeaf() {
		return nil
	}
	where := "at the centre"
	if u := s.joined.Load(); u.URL != "" {
		where += ", " + u.URL
	}
	return &Conflict{Reason: "laptops are enrolled " + where + ": this store has joined it itself, and a second laptop here opens the pages of this one"}
}
