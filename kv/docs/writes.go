package docs

import (
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// mayWrite answers nil where p may try: each document is judged by itself, as clients give up a database at once that refuses all
// of a push. A laptop may bring what it may not read: the private halves of the tickets that it sold, and its facts once it is
// revoked.
func (db *scopeDocs) mayWrite(p auth.Principal) error {
	if err := p.Check("sync", "POST"); err != nil {
		return err
	}
	db.reader = p
	if p.IsLaptop() {
		spot, err := db.spot(p)
		if err != nil || auth.Offers(p, spot) {
			return merge.ErrorsOr(err, db.there)
		}
	}
	return db.maySee(db.reader)
}

// write stores one revision and answers its name. One that is known already changes nothing.
func (db *scopeDocs) write(o *table.Tx, p auth.Principal, in *merge.DocWrite) (rev.ID, error) {
	if len(in.Attachments) > 0 {
		return rev.ID{}, table.Refused("records have no attachments")
	}
	db.reader = p
	if table.IsOpaque(in.ID) {
		return db.writeOpaque(o, p, in)
	}
	a, err := db.arrive(o, p, in)
	if err != nil {
		return rev.ID{}, err
	}
	if a.IsKnown() && !a.Unseen {
		return a.Path[0], merge.RefuseErased(o, a)
	}
	if err := merge.Expunge(o, a); err != nil {
		return a.Path[0], err
	}
	if !p.IsOperator() {
		if slices.ContainsFunc(a.Path, isHashless) {
			return rev.ID{}, table.Refused("a revision has a hash")
		}
		if err := o.Store.Limits.MayBranch(&a.Tree, a.Path); err != nil {
			return rev.ID{}, err
		}
	}
	verdict, err := db.judge(o, p, a)
	switch {
	case err != nil:
	case p.IsOperator():
		if err = entry.AsError(verdict, nil); err == nil {
			err = merge.Receive(o, a)
		}
	case p.IsLaptop():
		if err = db.judgeNode(o, p, a, verdict); err == nil {
			err = merge.Receive(o, a)
		}
	default:
		err = db.writeAsKey(o, p, a, verdict)
	}
	return a.Path[0], err
}

// isHashless tells a revision of a hash that no body has: to a record's row it says that there is no such revision.
func isHashless(rev rev.ID) bool { return rev.Hash == [16]byte{} }

// judgeNode answers a *Forbidden where a laptop may not write a revision.
func (db *scopeDocs) judgeNode(o *table.Tx, p auth.Principal, a *merge.Arrival, verdict auth.Verdict) error {
	if a.Unseen {
		return errTaken
	}
	if err := hasTypes(a); err != nil {
		return err
	}
	if err := entry.AsError(verdict, nil); err != nil {
		return err
	}
	if verdict != auth.Yes {
		if err := isOwn(o, p, a); err != nil {
			return err
		}
	}
	if a.Kind == record.Checkin {
		if err := door.MayBringCheckin(o, a.Doc); err != nil {
			return err
		}
	}
	if verdict == auth.Review {
		a.Flag(door.FlagNeedsReview)
	}
	if a.Before == nil {
		return ownID(o, p, a.Kind, a.ID)
	}
	if a.Doc == nil && !a.Before.Deleted && !a.Closes() {
		return entry.AsRefusal(entry.Unreferred(o, p, a.Kind, a.ID))
	}
	return nil
}

// hasTypes answers a *Forbidden for what brings a value that is of no such type as its field, or holds too long a number, or lacks one
// that nothing stands for.
// What the record has already, by an older version, hinders no change of others.
func hasTypes(a *merge.Arrival) error {
	for _, d := range [...]*record.Doc{a.Doc, a.Lost} {
		if d == nil {
			continue
		}
		if name := a.AnyNew(d, record.Misfits(d)); name != "" {
			return table.Refused("the value of " + name + " is not of the field's type")
		}
		if name := a.AnyNew(d, record.LongNumbers(d)); name != "" {
			return table.Refused(longNumber(name))
		}
		if name := a.AnyNew(d, record.Missing(d)); name != "" {
			return table.Refused("the value of " + name + " is missing")
		}
	}
	return nil
}

// longNumber says why JSON is refused that would be kept as it was given.
func longNumber(name string) string { return "a number in " + name + " has more than 64 characters" }

// isOwn answers a *Forbidden for what a laptop may not bring because others have made it.
func isOwn(o *table.Tx, p auth.Principal, a *merge.Arrival) error {
	own, err := a.IsWhollyOf(o, p.Node())
	if err != nil {
		return err
	}
	reason := "somebody else has changed the ticket"
	if a.Kind.Fact {
		own, reason = a.Doc.Text("node") == p.Node(), "a laptop brings the facts of its own node alone"
	} else {
		a.Guest, _ = ulid.ParseStrict(p.Node()) // a key's node is one
	}
	switch {
	case own && a.Kind.Fact:
		return nil
	case own:
		return a.PassesNothingOn()
	}
	if recovers, err := table.Recovers(o); err != nil || recovers {
		return err
	}
	return table.Refused(reason)
}
