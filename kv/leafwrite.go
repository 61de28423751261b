package kv

import (
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
)

// mayLeave answers a *Forbidden for a change that this store's centre would not take from it (sync.md §1): it would stay here for good,
// and nobody elsewhere would ever see it, so whoever makes it is told at once. As long as the centre has not said what it takes,
// nothing is refused.
func (o *op) mayLeave(k *record.Kind, before *stored, next [2]record.Scope) error {
	if !o.store.isLeaf() {
		return nil
	}
	_, written := writeRules[k]
	if k.Fact || k.System && !written {
		return nil
	}
	u, err := o.upstream()
	if err != nil || u.Epoch == "" {
		return err
	}
	if !written {
		return refused("this kind of record is changed at the centre alone")
	}
	if next == ([2]record.Scope{}) {
		return refused("the centre takes no record from this laptop that is of no church and of no event")
	}
	scopes := next[:]
	if before != nil {
		scopes = append(scopes, before.scopes[:]...)
	}
	for _, s := range scopes {
		taken, err := o.isTaken(&u, k, s)
		if err != nil {
			return err
		}
		if !taken {
			return refused("the centre takes no such record from this laptop: it is to be changed there")
		}
	}
	if before == nil || erasedAs(k) != record.Ticket {
		return nil
	}
	return o.isOursToChange(&u, k, before)
}

// isTaken tells whether the centre takes records of a kind in a scope from this laptop: in the databases that it has named, and in
// those of each event of the laptop's churches, which may be new. An event itself goes with its church.
func (o *op) isTaken(u *Upstream, k *record.Kind, s record.Scope) (bool, error) {
	switch {
	case s.Sort == 0, slices.Contains(u.Pushes, s.String()):
		return true, nil
	case !s.Sort.OfEvent():
		return false, nil
	case k == record.Event:
		return true, nil
	}
	guest, err := o.isGuestAt(u, s.ID)
	return !guest, err
}

// isOursToChange answers a *Forbidden for a part of a ticket that somebody else has made or changed, where the laptop is a guest.
func (o *op) isOursToChange(u *Upstream, k *record.Kind, st *stored) error {
	guest, err := o.isGuestAt(u, st.scopes[0].ID)
	if err != nil || !guest {
		return err
	}
	tree, err := o.tree(k, st)
	if err == nil && slices.ContainsFunc(tree.Nodes(), o.isTheirs) {
		err = refused("the ticket is the centre's: it is to be changed there")
	}
	return err
}

// isGuestAt tells an event that the laptop has along and that is of none of its churches: of its tickets the centre takes those alone
// that the laptop has made, until somebody else changes them.
func (o *op) isGuestAt(u *Upstream, event int64) (bool, error) {
	st, err := o.load(record.Event, record.Int(event))
	if err != nil || st == nil || st.home(record.Event) == 0 {
		return err == nil, err
	}
	church := record.Scope{Sort: record.ScopeChurch, ID: st.home(record.Event)}
	return !slices.Contains(u.Pushes, church.String()), nil
}

// isTheirs tells a revision that another store has made, of which more is known than its name.
func (o *op) isTheirs(n record.TreeNode) bool {
	own := n.Node == (ulid.ULID{}) || n.Node.String() == o.store.Node()
	return !own && (n.Held || n.Deleted || n.At != 0)
}
