package docs

import (
	"doorward/kv/access"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// MayLeave returns *Forbidden for a change on a laptop that its centre would refuse (sync.md §1). The change would stay on this
// laptop and never reach another store, so its author gets the refusal at once. While the centre has not said what it takes,
// nothing is refused.
func MayLeave(o *table.Tx, k *record.Kind, before *table.Stored, next [2]scopes.Scope) error {
	if !o.Store.Identity.IsLeaf() {
		return nil
	}
	written := access.OfLaptops(k)
	if k.Fact || k.System && !written {
		return nil
	}
	u := o.Store.Identity.Upstream()
	switch {
	case u.Revoked:
		return table.Refused("this laptop is revoked at its centre: it sells and edits nothing more; check-ins are still recorded, for review")
	case u.Epoch == "":
		return nil
	case !written:
		return table.Refused("this kind of record is changed at the centre alone")
	case next == ([2]scopes.Scope{}):
		return table.Refused("the centre takes no record from this laptop that is of no church and of no event")
	}
	scopes := next[:]
	if before != nil {
		scopes = append(scopes, before.Scopes[:]...)
	}
	for _, s := range scopes {
		if err := isTaken(o, u, k, s); err != nil {
			return err
		}
	}
	if before == nil || !slices.ContainsFunc(scopes, u.IsGuestIn) {
		return nil
	}
	return isOursToChange(o, k, before)
}

var errNotTaken = table.Refused("the centre takes no such record from this laptop: it is to be changed there")

// isTaken returns *Forbidden if the centre takes no records of a kind in a scope from this laptop. The centre takes the
// databases that it has named. It also takes those of an event that the laptop's churches made since, if the laptop takes all
// their events along. An event itself goes with its church.
func isTaken(o *table.Tx, u *table.Upstream, k *record.Kind, s scopes.Scope) error {
	switch {
	case s.Sort == 0, slices.Contains(u.Pushes, s.String()), s.Sort.OfEvent() && k == record.Event:
		return nil
	case !s.Sort.OfEvent():
		return errNotTaken
	case slices.Contains(u.Over, s.String()):
		return table.Refused("the event is over: what is of it is changed at the centre alone")
	}
	event, err := o.Load(record.Event, record.Int(s.ID))
	if err != nil {
		return err
	}
	if event == nil || !slices.Contains(u.Pushes, scopes.Scope{Sort: scopes.Church, ID: event.Home(record.Event)}.String()) {
		return errNotTaken
	}
	if u.Chosen {
		return table.Refused("this laptop takes only those events along that it was enrolled for: what is of another is changed at the centre")
	}
	return nil
}

// isOursToChange returns *Forbidden for a record that another store has made or changed.
func isOursToChange(o *table.Tx, k *record.Kind, st *table.Stored) error {
	if k.OfTicket() { // the ticket says so where others have changed another of its records
		ticket, err := o.LoadAny(record.Ticket, entry.TicketOfPart(k, st.ID, st.Body))
		if err != nil {
			return err
		}
		if ticket != nil {
			if err := isOursToChange(o, record.Ticket, ticket); err != nil {
				return err
			}
		}
	}
	tree, err := table.LoadTree(o.View, k, st)
	if err == nil && slices.ContainsFunc(tree.Nodes(), func(n rev.Node) bool { return isTheirs(o, n) }) {
		err = table.Refused("somebody else has made or changed this, and of the event the centre takes only what this laptop has made: it is to be changed there")
	}
	return err
}

// isTheirs tells whether another store has made a revision of which this store knows more than the name.
func isTheirs(o *table.Tx, n rev.Node) bool {
	own := n.Node == (ulid.ULID{}) || n.Node.String() == o.Store.Identity.Node()
	return !own && (n.Held || n.Deleted || n.At != 0)
}
