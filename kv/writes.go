package kv

import (
	"bytes"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// writeRule says who may write a kind's documents through its databases (sync.md §1).
type writeRule struct {
	event  bool   // a laptop at the event it was enrolled for: facts of its own, and tickets that nobody else has changed
	church bool   // a laptop enrolled for a church or more
	money  bool   // only one enrolled with --finance
	v1     string // the methods by which /v1 writes it, which any other key needs
}

// writeRules is the one table. Nobody but the operator, as who this store's own replicator writes, may write what it does not name:
// reference and system kinds.
var writeRules = map[*record.Kind]writeRule{
	record.Person:         {church: true, v1: "POST PATCH"},
	record.Group:          {church: true},
	record.Membership:     {church: true, v1: "POST"},
	record.FinancialEntry: {church: true, money: true, v1: "POST PATCH DELETE"},
	record.Event:          {church: true},
	record.Ticket:         {church: true, event: true},
	record.HolderName:     {church: true, event: true},
	record.Holder:         {church: true, event: true},
	record.Checkin:        {church: true, event: true},
	record.Scan:           {church: true, event: true},
	record.Undo:           {church: true, event: true},
}

// mayWrite answers nil where p may try: each document is judged by itself, as clients give up a database at once that refuses all
// of a push. A laptop may bring what it may not read: the private halves of the tickets that it sold, and its facts once it is
// revoked.
func (db *scopeDocs) mayWrite(p Principal) error {
	if err := p.Check("sync", "POST"); err != nil {
		return err
	}
	db.reader = p
	if p.isNode() {
		p.revoked = false // what it brings besides its facts is refused one by one, so that it comes to its facts
		puts, err := db.puts(p, func(*record.Kind) bool { return true })
		if err == nil && !puts && db.scope.Sort.OfEvent() {
			puts, err = hadEvent(db.v, p, db.scope.ID)
		}
		if err != nil || puts {
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
	if !p.operator {
		if slices.ContainsFunc(a.path, isHashless) {
			return rev.ID{}, refused("a revision has a hash")
		}
		if err := o.store.limits.mayBranch(&a.tree, a.path); err != nil {
			return rev.ID{}, err
		}
	}
	if a.kind.Fact && (a.before != nil || len(a.path) > 1 || a.path[0].Generation != 1 || a.doc == nil) {
		return rev.ID{}, refused("a fact has one revision for ever")
	}
	switch {
	case p.operator:
		err = receive(o, a)
	case p.isNode():
		if err = db.judgeNode(o, p, a); err == nil {
			err = receive(o, a)
		}
	default:
		err = db.writeAsKey(o, p, a)
	}
	return a.path[0], err
}

// isHashless tells a revision of a hash that no body has: to a record's row it says that there is no such revision.
func isHashless(rev rev.ID) bool { return rev.Hash == [16]byte{} }

// judgeNode answers a *Forbidden where a laptop may not write a revision.
func (db *scopeDocs) judgeNode(o *op, p Principal, a *arrival) error {
	if a.unseen {
		return errTaken
	}
	if err := mayPut(o.sight, p, a.kind, db.scope); err != nil {
		return err
	}
	if err := hasTypes(a); err != nil {
		return err
	}
	if err := isOwn(o, p, a); err != nil {
		return err
	}
	if err := db.judgeScopes(o, p, a); err != nil {
		return err
	}
	if a.kind == record.Checkin {
		if err := mayBringCheckin(o, a.doc); err != nil {
			return err
		}
	}
	if p.revoked {
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
	guest, err := isGuest(o.sight, p, a)
	if err != nil {
		return err
	}
	if guest {
		a.guest, _ = ulid.ParseStrict(p.node.Node) // a key's node is one
	}
	var reason string
	switch {
	case a.kind.Fact && a.doc.Text("node") != p.node.Node:
		reason = "a laptop brings the facts of its own node alone"
	case !a.kind.Fact && guest && !a.isOnlyOf(p.node.Node):
		reason = "somebody else has changed the ticket"
	default:
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

// mayUse answers nil or a *Forbidden: does /v1 offer a method on a kind, and may p use it?
func mayUse(p Principal, k *record.Kind, method string) error {
	if !slices.Contains(strings.Fields(writeRules[k].v1), method) {
		return refused("no key may do this to the kind")
	}
	return p.Check(k.Resource, method)
}
