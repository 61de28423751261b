package docs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"

	"doorward/kv/access"
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// scopeAccess says what a principal may read and write in the database of a scope; the zero scope is all records.
type scopeAccess struct {
	v      *table.View
	scope  scopes.Scope
	reader auth.Principal // that maySee or mayWrite has judged
}

// maySee returns nil if p may read every record of the database (sync.md §1). From then on p is the reader.
func (a *scopeAccess) maySee(p auth.Principal) error {
	if err := p.Check("sync", "GET"); err != nil {
		return err
	}
	a.reader = p
	if err := a.inReach(p); err != nil {
		return err
	}
	if p.IsOperator() {
		return nil // a replicator fills a database before its church or event arrives
	}
	if p.IsLaptop() {
		return a.exists()
	}
	for _, k := range a.kinds() {
		if k.Class == record.Everyones {
			continue
		}
		if err := p.Check(k.Resource, "GET"); err != nil {
			return err
		}
	}
	return a.exists()
}

// inReach returns nil if the database is within p's level and class.
func (a *scopeAccess) inReach(p auth.Principal) error {
	tie, err := entry.TieToScope(a.v, p, a.scope)
	if err == nil && !access.Opens(p, access.Spot{Scope: a.scope, Tie: tie}) {
		err = table.Refused("the database lies beyond the key's level or class")
	}
	return err
}

// exists returns ErrNotFound if the database is of a church or an event that never existed.
func (a *scopeAccess) exists() error {
	k := record.Event
	switch a.scope.Sort {
	case 0, scopes.Reference, scopes.ReferenceFinance:
		return nil
	case scopes.Church, scopes.ChurchFinance:
		k = record.Church
	}
	st, err := a.v.LoadAny(k, record.Int(a.scope.ID))
	if err == nil && st == nil {
		err = table.ErrNotFound
	}
	return err
}

// kinds lists the kinds of the records that the reader sees in the database, by name.
func (a *scopeAccess) kinds() []*record.Kind {
	all := record.KindsIn(a.scope.Sort)
	if a.scope.Sort == 0 {
		all = slices.Clone(record.Kinds())
	}
	all = slices.DeleteFunc(all, func(k *record.Kind) bool { return !a.shows(k) })
	slices.SortFunc(all, func(a, b *record.Kind) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// shows tells whether the reader sees records of a kind here. A reader of event level sees only those kinds of the reference that all
// readers see. nil is a kind that this version does not know.
func (a *scopeAccess) shows(k *record.Kind) bool {
	return a.scope.Sort != scopes.Reference || access.Reads(a.reader, k, access.Spot{Scope: a.scope, Tie: access.Own})
}

// holds tells whether a record is in the database and the reader sees it there.
func (a *scopeAccess) holds(k *record.Kind, st *table.Stored) bool {
	return st != nil && a.shows(k) && (a.scope.Sort == 0 || st.In(a.scope))
}

// spot is the database, with p's tie to it as a writer.
func (a *scopeAccess) spot(p auth.Principal) (access.Spot, error) {
	tie, err := office.WriterTie(a.v, p, nil, a.scope)
	return access.Spot{Scope: a.scope, Tie: tie}, err
}

// find loads a record of the database, deleted or not; nil = the reader sees none here.
func (a *scopeAccess) find(doc string) (*record.Kind, *table.Stored, error) {
	k, id, ok := record.ParseDocID(doc)
	if !ok {
		return nil, nil, nil
	}
	st, err := a.v.LoadAny(k, id)
	if err != nil || !a.holds(k, st) {
		return k, nil, err
	}
	return k, st, nil
}

// mayWrite returns nil if p may write some documents: each document is judged alone, because a client gives up a database that
// refuses a whole push. A laptop may bring what it may not read: the holders of tickets that it sold, and its check-ins after it
// is revoked.
func (a *scopeAccess) mayWrite(p auth.Principal) error {
	if err := p.Check("sync", "POST"); err != nil {
		return err
	}
	a.reader = p
	if p.IsLaptop() {
		spot, err := a.spot(p)
		if err != nil || access.Offers(p, spot) {
			return cmp.Or(err, a.exists())
		}
	}
	return a.maySee(a.reader)
}

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
