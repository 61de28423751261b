package kv

import (
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
)

// mayLeave answers a *Forbidden for a change that this store's centre would not take from it (sync.md §1): it would stay here for good,
// and nobody elsewhere would ever see it, so whoever makes it is told at once. As long as the centre has not said what it takes,
// nothing is refused.
func mayLeave(o *op, k *record.Kind, before *stored, next [2]scopes.Scope) error {
	if !o.store.isLeaf() {
		return nil
	}
	written := auth.OfLaptops(k)
	if k.Fact || k.System && !written {
		return nil
	}
	u := o.store.joined.Load()
	switch {
	case u.Revoked:
		return refused("this laptop is revoked at its centre: it sells and edits nothing more; check-ins are still recorded, for review")
	case u.Epoch == "":
		return nil
	case !written:
		return refused("this kind of record is changed at the centre alone")
	case next == ([2]scopes.Scope{}):
		return refused("the centre takes no record from this laptop that is of no church and of no event")
	}
	scopes := next[:]
	if before != nil {
		scopes = append(scopes, before.scopes[:]...)
	}
	for _, s := range scopes {
		if err := isTaken(o, u, k, s); err != nil {
			return err
		}
	}
	if before == nil || !slices.ContainsFunc(scopes, u.isGuestIn) {
		return nil
	}
	return isOursToChange(o, k, before)
}

var errNotTaken = refused("the centre takes no such record from this laptop: it is to be changed there")

// mayDecide answers a *Forbidden for a fact that would never leave a mirror: nobody else would learn who was let in there. What is of an
// event that it was enrolled for besides is taken from it.
func mayDecide(o *op, event int64) error {
	if !o.store.isLeaf() {
		return nil
	}
	u := o.store.joined.Load()
	if !slices.Contains(u.Pulls, mirror) || slices.Contains(u.Pushes, scopes.Scope{Sort: scopes.Event, ID: event}.String()) {
		return nil
	}
	return refused("this laptop is a mirror, which is only read: check in at the centre, or at a laptop that is enrolled for the event")
}

// isTaken answers a *Forbidden where the centre takes no records of a kind in a scope from this laptop. It takes them in the databases
// that it has named, and in those of an event of the laptop's churches that was made since, if the laptop takes all of them along: what
// is of no such event is never brought. An event itself goes with its church.
func isTaken(o *op, u *Upstream, k *record.Kind, s scopes.Scope) error {
	switch {
	case s.Sort == 0, slices.Contains(u.Pushes, s.String()), s.Sort.OfEvent() && k == record.Event:
		return nil
	case !s.Sort.OfEvent():
		return errNotTaken
	case slices.Contains(u.Over, s.String()):
		return refused("the event is over: what is of it is changed at the centre alone")
	}
	event, err := o.load(record.Event, record.Int(s.ID))
	if err != nil {
		return err
	}
	if event == nil || !slices.Contains(u.Pushes, scopes.Scope{Sort: scopes.Church, ID: event.home(record.Event)}.String()) {
		return errNotTaken
	}
	if u.Chosen {
		return refused("this laptop takes only those events along that it was enrolled for: what is of another is changed at the centre")
	}
	return nil
}

// isGuestIn tells a scope of which the centre takes only what this laptop has made.
func (u *Upstream) isGuestIn(s scopes.Scope) bool { return slices.Contains(u.Guest, s.String()) }

// isOursToChange answers a *Forbidden for what somebody else has made or changed.
func isOursToChange(o *op, k *record.Kind, st *stored) error {
	tree, err := loadTree(o.sight, k, st)
	if err == nil && slices.ContainsFunc(tree.Nodes(), func(n rev.Node) bool { return isTheirs(o, n) }) {
		err = refused("somebody else has made or changed this, and of the event the centre takes only what this laptop has made: it is to be changed there")
	}
	return err
}

// isTheirs tells a revision that another store has made, of which more is known than its name.
func isTheirs(o *op, n rev.Node) bool {
	own := n.Node == (ulid.ULID{}) || n.Node.String() == o.store.Node()
	return !own && (n.Held || n.Deleted || n.At != 0)
}
