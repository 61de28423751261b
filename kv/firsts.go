package kv

import (
	"maps"
	"slices"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// revisions are some of each part of a ticket.
type revisions map[*record.Kind][]rev.ID

// firsts are the revisions of a ticket's parts that are the first without a name (see erased), and those that were such until whoever had
// the ticket since was erased too.
type firsts struct {
	first, past revisions
}

// clone is a copy of its own.
func (f firsts) clone() firsts { return firsts{first: f.first.clone(), past: f.past.clone()} }

// learn takes over what somebody else knows, and tells whether that is more.
func (f *firsts) learn(other firsts) (more bool) {
	for _, k := range ticketParts {
		for _, rev := range other.past[k] {
			more = f.past.add(k, rev) || more
		}
		f.first[k] = slices.DeleteFunc(f.first[k], func(rev rev.ID) bool { return slices.Contains(f.past[k], rev) })
		for _, rev := range other.first[k] {
			if !slices.Contains(f.past[k], rev) {
				more = f.first.add(k, rev) || more
			}
		}
	}
	return more
}

// follow takes over the first revisions that stand in a later line of a ledger: those before it that it does not say are past.
func (f *firsts) follow(first revisions) {
	for _, k := range ticketParts {
		for _, rev := range f.first[k] {
			f.past.add(k, rev)
		}
		f.past[k] = slices.DeleteFunc(f.past[k], func(rev rev.ID) bool { return slices.Contains(first[k], rev) })
	}
	f.first = first.clone()
}

// add adds a revision, and tells whether it was not there.
func (r revisions) add(k *record.Kind, rev rev.ID) bool {
	if slices.Contains(r[k], rev) {
		return false
	}
	r[k] = append(r[k], rev)
	return true
}

// clone is a copy of its own, never nil.
func (r revisions) clone() revisions {
	c := revisions{}
	maps.Copy(c, r)
	for k, revs := range c {
		c[k] = slices.Clone(revs)
	}
	return c
}

// without are those that the others do not have.
func (r revisions) without(others ...revisions) revisions {
	rest := revisions{}
	for k, revs := range r {
		for _, rev := range revs {
			if !slices.ContainsFunc(others, func(o revisions) bool { return slices.Contains(o[k], rev) }) {
				rest.add(k, rev)
			}
		}
	}
	return rest
}
