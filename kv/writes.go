package kv

import (
	"bytes"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// mayWrite answers nil where p may try: each document is judged by itself, as clients give up a database at once that refuses all
// of a push. A laptop may bring what it may not read: the private halves of the tickets that it sold, and its facts once it is
// revoked.
func (db *scopeDocs) mayWrite(p Principal) error {
	if err := p.Check("sync", "POST"); err != nil {
		return err
	}
	db.reader = p
	if p.IsLaptop() {
		spot, err := db.spot(p)
		if err != nil || auth.Offers(p, spot) {
			return errorsOr(err, db.there)
		}
	}
	return db.maySee(db.reader)
}

// write stores one revision and answers its name. One that is known already changes nothing.
func (db *scopeDocs) write(o *op, p Principal, in *DocWrite) (rev.ID, error) {
	if len(in.Attachments) > 0 {
		return rev.ID{}, refused("records have no attachments")
	}
	db.reader = p
	if isOpaque(in.ID) {
		return db.writeOpaque(o, p, in)
	}
	a, err := db.arrive(o, p, in)
	if err != nil {
		return rev.ID{}, err
	}
	if a.isKnown() && !a.unseen {
		return a.path[0], refuseErased(o, a)
	}
	if err := expunge(o, a); err != nil {
		return a.path[0], err
	}
	if !p.IsOperator() {
		if slices.ContainsFunc(a.path, isHashless) {
			return rev.ID{}, refused("a revision has a hash")
		}
		if err := o.store.limits.mayBranch(&a.tree, a.path); err != nil {
			return rev.ID{}, err
		}
	}
	verdict, err := db.judge(o, p, a)
	switch {
	case err != nil:
	case p.IsOperator():
		if err = asError(verdict, nil); err == nil {
			err = receive(o, a)
		}
	case p.IsLaptop():
		if err = db.judgeNode(o, p, a, verdict); err == nil {
			err = receive(o, a)
		}
	default:
		err = db.writeAsKey(o, p, a, verdict)
	}
	return a.path[0], err
}

// isHashless tells a revision of a hash that no body has: to a record's row it says that there is no such revision.
func isHashless(rev rev.ID) bool { return rev.Hash == [16]byte{} }

// judgeNode answers a *Forbidden where a laptop may not write a revision.
func (db *scopeDocs) judgeNode(o *op, p Principal, a *arrival, verdict auth.Verdict) error {
	if a.unseen {
		return errTaken
	}
	if err := hasTypes(a); err != nil {
		return err
	}
	if err := asError(verdict, nil); err != nil {
		return err
	}
	if verdict != auth.Yes {
		if err := isOwn(o, p, a); err != nil {
			return err
		}
	}
	if a.kind == record.Checkin {
		if err := mayBringCheckin(o, a.doc); err != nil {
			return err
		}
	}
	if verdict == auth.Review {
		a.flag(FlagNeedsReview)
	}
	if a.before == nil {
		return ownID(o, p, a.kind, a.id)
	}
	if a.doc == nil && !a.before.deleted && !a.closes() {
		return asRefusal(unreferred(o, p, a.kind, a.id))
	}
	return nil
}

// closes tells a tombstone that only ends a branch which a merge took in: the record stays.
func (a *arrival) closes() bool {
	return a.node.Ended && !slices.Contains(a.path, a.before.revision)
}

// hasTypes answers a *Forbidden for what brings a value that is of no such type as its field, or holds too long a number, or lacks one
// that nothing stands for.
// What the record has already, by an older version, hinders no change of others.
func hasTypes(a *arrival) error {
	for _, d := range [...]*record.Doc{a.doc, a.lost} {
		if d == nil {
			continue
		}
		if name := a.anyNew(d, record.Misfits(d)); name != "" {
			return refused("the value of " + name + " is not of the field's type")
		}
		if name := a.anyNew(d, record.LongNumbers(d)); name != "" {
			return refused(longNumber(name))
		}
		if name := a.anyNew(d, record.Missing(d)); name != "" {
			return refused("the value of " + name + " is missing")
		}
	}
	return nil
}

// longNumber says why JSON is refused that would be kept as it was given.
func longNumber(name string) string { return "a number in " + name + " has more than 64 characters" }

// anyNew is one of a document's fields that the record has not as it is; "" where it has them all.
func (a *arrival) anyNew(d *record.Doc, names []string) string {
	for _, name := range names {
		if a.before == nil || !bytes.Equal(a.before.body.Member(name), d.Value(name)) {
			return name
		}
	}
	return ""
}

// isOwn answers a *Forbidden for what a laptop may not bring because others have made it.
func isOwn(o *op, p Principal, a *arrival) error {
	own, reason := a.isOnlyOf(p.Node()), "somebody else has changed the ticket"
	if a.kind.Fact {
		own, reason = a.doc.Text("node") == p.Node(), "a laptop brings the facts of its own node alone"
	} else {
		a.guest, _ = ulid.ParseStrict(p.Node()) // a key's node is one
	}
	if own {
		return nil
	}
	if recovers, err := recovers(o); err != nil || recovers {
		return err
	}
	return refused(reason)
}

// isOnlyOf tells that one node alone has made all revisions of a record.
func (a *arrival) isOnlyOf(node string) bool {
	own, err := ulid.ParseStrict(node)
	return err == nil && a.node.Node == own && isOnlyOf(&a.tree, own)
}

func isOnlyOf(t *rev.Tree, own ulid.ULID) bool {
	return !slices.ContainsFunc(t.Nodes(), func(n rev.Node) bool {
		return n.Node != own && (n.Held || n.Deleted || n.At != 0) // else only its name is known
	})
}
