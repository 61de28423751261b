package ledger

import (
	"maps"
	"slices"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// Revisions are some of each part of a ticket.
type Revisions map[*record.Kind][]rev.ID

// Firsts are the revisions of a ticket's parts that are the first without a name (see erased), and those that were such until whoever had
// the ticket since was erased too.
type Firsts struct {
	First, Past Revisions
}

// Clone is a copy of its own.
func (f Firsts) Clone() Firsts { return Firsts{First: f.First.clone(), Past: f.Past.clone()} }

// Learn takes over what somebody else knows, and tells whether that is more.
func (f *Firsts) Learn(other Firsts) (more bool) {
	for _, k := range TicketParts {
		for _, rev := range other.Past[k] {
			more = f.Past.Add(k, rev) || more
		}
		f.First[k] = slices.DeleteFunc(f.First[k], func(rev rev.ID) bool { return slices.Contains(f.Past[k], rev) })
		for _, rev := range other.First[k] {
			if !slices.Contains(f.Past[k], rev) {
				more = f.First.Add(k, rev) || more
			}
		}
	}
	return more
}

// Follow takes over the first revisions that stand in a later line of a ledger: those before it that it does not say are past.
func (f *Firsts) Follow(first Revisions) {
	for _, k := range TicketParts {
		for _, rev := range f.First[k] {
			f.Past.Add(k, rev)
		}
		f.Past[k] = slices.DeleteFunc(f.Past[k], func(rev rev.ID) bool { return slices.Contains(first[k], rev) })
	}
	f.First = first.clone()
}

// Add adds a revision, and tells whether it was not there.
func (r Revisions) Add(k *record.Kind, rev rev.ID) bool {
	if slices.Contains(r[k], rev) {
		return false
	}
	r[k] = append(r[k], rev)
	return true
}

// clone is a copy of its own, never nil.
func (r Revisions) clone() Revisions {
	c := Revisions{}
	maps.Copy(c, r)
	for k, revs := range c {
		c[k] = slices.Clone(revs)
	}
	return c
}

// without are those that the others do not have.
func (r Revisions) without(others ...Revisions) Revisions {
	rest := Revisions{}
	for k, revs := range r {
		for _, rev := range revs {
			if !slices.ContainsFunc(others, func(o Revisions) bool { return slices.Contains(o[k], rev) }) {
				rest.Add(k, rev)
			}
		}
	}
	return rest
}
