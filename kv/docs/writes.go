package docs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/inbox"
	"doorward/kv/keys"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
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
		return ownID(o, p, a.Kind, a.Id)
	}
	if a.Doc == nil && !a.Before.Deleted && !a.Closes() {
		return entry.AsRefusal(entry.Unreferred(o, p, a.Kind, a.Id))
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
	own, reason := a.IsOnlyOf(p.Node()), "somebody else has changed the ticket"
	if a.Kind.Fact {
		own, reason = a.Doc.Text("node") == p.Node(), "a laptop brings the facts of its own node alone"
	} else {
		a.Guest, _ = ulid.ParseStrict(p.Node()) // a key's node is one
	}
	if own {
		return nil
	}
	if recovers, err := table.Recovers(o); err != nil || recovers {
		return err
	}
	return table.Refused(reason)
}

// writeAsKey stores a revision that a key which is no laptop's has made, after the same validation as /v1 (sync.md §1). What the
// server sets by itself, dates and originals, makes one more revision on top.
func (db *scopeDocs) writeAsKey(o *table.Tx, p auth.Principal, a *merge.Arrival, verdict auth.Verdict) error {
	if a.Doc == nil {
		return deleteAsKey(o, p, a, verdict)
	}
	base, err := judgeKey(o, p, a, verdict)
	if err != nil {
		return err
	}
	patch, err := patchOf(o, p, a, base)
	if err != nil {
		return err
	}
	if err := entry.AsRefusal(entry.Unique(o, a.Kind, a.Id, a.Doc)); err != nil {
		return err
	}
	if err := mayLeaveAsIs(o, a); err != nil {
		return err
	}
	a.SettleBranch(patch)
	next, err := merge.Adopt(o, a)
	if err != nil || next.Revision != a.Path[0] {
		return err // a losing branch: the root will settle what is merged
	}
	settled := a.Doc.Clone()
	settled.Apply(patch)
	if base == nil && p.Key() != 0 {
		settled.Set("created_by", value.Number(p.Key()))
	}
	settled.Settle(base, entry.Moment(o))
	if entry.SameBody(settled.Encode(), next.Body) {
		return nil
	}
	_, err = o.Write(table.Edit{Kind: a.Kind, Id: a.Id, Before: next, Was: a.Doc, Is: settled, Author: p.Key()})
	return err
}

// judgeKey returns the record that a revision changes, as it was; nil for a new one.
func judgeKey(o *table.Tx, p auth.Principal, a *merge.Arrival, verdict auth.Verdict) (*record.Doc, error) {
	if err := entry.AsError(verdict, nil); err != nil {
		return nil, err
	}
	if a.Verb() != auth.Make {
		if err := p.Check(a.Kind.Resource, "PATCH"); err != nil {
			return nil, err
		}
		return baseOf(o, a)
	}
	if err := p.Check(a.Kind.Resource, "POST"); err != nil {
		return nil, err
	}
	if err := ownID(o, p, a.Kind, a.Id); err != nil || !a.Unseen {
		return nil, err
	}
	return nil, errTaken
}

func deleteAsKey(o *table.Tx, p auth.Principal, a *merge.Arrival, verdict auth.Verdict) error {
	if a.Before == nil || a.Unseen {
		return table.Refused("there is nothing that the key could delete")
	}
	if err := entry.AsError(verdict, p.Check(a.Kind.Resource, "DELETE")); err != nil {
		return err
	}
	if err := mayLeaveAsIs(o, a); err != nil {
		return err
	}
	if !a.Before.Deleted {
		if err := entry.AsRefusal(entry.Unreferred(o, p, a.Kind, a.Id)); err != nil {
			return err
		}
	}
	_, err := merge.Adopt(o, a)
	return err
}

// mayLeaveAsIs is mayLeave for an arrival.
func mayLeaveAsIs(o *table.Tx, a *merge.Arrival) error {
	next, err := merge.ScopesOfArrival(o, a)
	if err != nil {
		return err
	}
	return MayLeave(o, a.Kind, a.Before, next)
}

// errNotOwnID refuses an id that a key may not give, whether or not the id is taken. errTaken refuses an id that the client
// drew and that is taken.
var (
	errNotOwnID = table.Refused("the id is neither leased to the key nor one of those that clients draw")
	errTaken    = table.Refused("the id is taken")
)

// ownID returns nil for an id that a key may give a new record: an id leased to it, or one that no range ever holds.
func ownID(o *table.Tx, p auth.Principal, k *record.Kind, id record.ID) error {
	if k.ULID || id.Int() >= record.FirstDrawn {
		return nil
	}
	key, given, err := entry.LeaseOf(o.View, k, id.Int())
	if err == nil && given && key != p.Key() && p.IsLaptop() {
		err = sameLaptop(o, p, key)
	} else if err == nil && (!given || key != p.Key()) {
		err = errNotOwnID
	}
	return err
}

// sameLaptop returns nil if p's laptop had the key before it joined again, if the key is forgotten, or if the store recovers
// from a backup.
func sameLaptop(o *table.Tx, p auth.Principal, key int64) error {
	if key == table.Forgotten {
		return nil
	}
	st, err := o.LoadAny(record.APIKey, record.Int(key))
	if err != nil || st != nil && value.Unquote(st.Body.Member("node")) == p.Node() {
		return err
	}
	if recovers, err := table.Recovers(o); err != nil || recovers {
		return err
	}
	return table.Refused("the id is leased to another key")
}

// baseOf returns the record that a revision was made of: its parent or, if that body is not held, the winner.
func baseOf(o *table.Tx, a *merge.Arrival) (*record.Doc, error) {
	st := a.Before
	if len(a.Path) > 1 && a.Path[1] != st.Revision {
		kept, err := table.KeptBody(o.View, a.Kind, a.Id, a.Path[1])
		if err != nil {
			return nil, err
		}
		if kept != nil {
			st = kept
		}
	}
	return st.Decode(a.Kind)
}

// patchOf returns the change of a revision as a patch of /v1. It returns *Forbidden if /v1 would refuse it.
func patchOf(o *table.Tx, p auth.Principal, a *merge.Arrival, base *record.Doc) (*record.Patch, error) {
	from := base
	if from == nil {
		from = a.Kind.NewDoc()
	}
	body := []byte{'{'}
	for _, name := range a.Doc.Differs(from) {
		f, known := a.Kind.Field(name)
		if !known || !f.Settable(record.V1) && !(base == nil && a.Kind == record.Membership && name == "group_id") {
			return nil, table.Refused("the field " + name + " is not one that the key may set")
		}
		body = table.AppendMember(body, name, a.Doc.Value(name))
	}
	surface := record.V1
	if a.Kind == record.Membership {
		surface = record.Admin // its group is the path's on /v1
	}
	patch, err := a.Kind.Parse(append(body, '}'), record.ParseOptions{Surface: surface, Zone: o.Store.ZoneOf})
	if err != nil {
		return nil, table.Refused("the document is not valid")
	}
	if base == nil {
		entry.GiveChurch(o, p, a.Kind, patch)
		requireOf(patch, a.Doc)
	}
	return patch, entry.AsRefusal(entry.CheckPatch(o, p, a.Kind, patch))
}

// requireOf adds a fault for each required field that a new document lacks. A field with its default value is not lacking.
func requireOf(patch *record.Patch, d *record.Doc) {
	for _, name := range record.Missing(d) {
		patch.Faults.Add(name, fault.Required)
	}
}

// spot is the database, with p's tie to it as a writer.
func (db *scopeDocs) spot(p auth.Principal) (auth.Spot, error) {
	tie, err := office.WriterTie(db.v, p, nil, db.scope)
	return auth.Spot{Scope: db.scope, Tie: tie}, err
}

// judge asks the rules about an arrival. The operator, as who this store's own replicator writes, has no ties.
func (db *scopeDocs) judge(o *table.Tx, p auth.Principal, a *merge.Arrival) (auth.Verdict, error) {
	q := auth.Question{Verb: a.Verb(), Kind: a.Kind, Via: db.scope}
	if p.IsOperator() {
		return auth.May(p, q), nil
	}
	next, err := merge.ScopesOfArrival(o, a)
	if err == nil {
		q.To, err = office.SpotsFor(o.View, p, a.Kind, next)
	}
	if err == nil && a.Before != nil && !a.Unseen {
		q.From, err = office.SpotsFor(o.View, p, a.Kind, a.Before.Scopes)
	}
	return auth.May(p, q), err
}

// arrive reads a document to write: *Conflict for a new edit whose parent is no leaf, ErrDocument, *Forbidden.
func (db *scopeDocs) arrive(o *table.Tx, p auth.Principal, in *merge.DocWrite) (a *merge.Arrival, err error) {
	k, id, ok := record.ParseDocID(in.ID)
	if !ok {
		return nil, table.Refused(auth.NoKind.String())
	}
	a = &merge.Arrival{Kind: k, Id: id, Path: in.Path, Via: db.scope}
	if a.Before, err = o.LoadAny(k, id); err != nil {
		return nil, err
	}
	if a.Before != nil {
		if a.Tree, err = table.LoadTree(o.View, k, a.Before); err != nil {
			return nil, err
		}
	}
	if a.Unseen, err = db.hides(p, a, in); err != nil {
		return nil, err
	}
	a.Node = in.Authored(o)
	if a.Path == nil {
		if a.Path, err = a.Edit(in); err != nil {
			return nil, err
		}
	}
	if len(a.Path) == 0 {
		return nil, fmt.Errorf("%w: %w", merge.ErrDocument, rev.ErrPath)
	}
	if err = a.Read(in); err == nil {
		err = sign(o, p, a, in)
	}
	return a, err
}

// hides tells that a record is there which p does not see in the database and of which in names no revision: nothing that is
// answered may tell it from none. What a laptop brings under its own revisions is judged by whose it is.
func (db *scopeDocs) hides(p auth.Principal, a *merge.Arrival, in *merge.DocWrite) (bool, error) {
	if a.Before == nil || p.IsOperator() || p.IsLaptop() && in.Path != nil || a.Tree.Has(in.Parent) || slices.ContainsFunc(in.Path, a.Tree.Has) {
		return false, nil
	}
	if !db.holds(a.Kind, a.Before) {
		return true, nil
	}
	err := db.maySee(p)
	if errors.Is(err, auth.ErrForbidden) {
		return true, nil
	}
	return false, err
}

// sign says who made the revision. A laptop is believed that one of the keys which work there has made it, and nothing else: it
// pushes what it made itself. While the store takes back what a backup did not have, others may have made it.
func sign(o *table.Tx, p auth.Principal, a *merge.Arrival, in *merge.DocWrite) error {
	if p.IsOperator() {
		return nil
	}
	a.Node.Into = 0 // nobody but the root merges, and what it did comes by our own replicator
	if !p.IsLaptop() {
		a.Node, a.Lost = rev.Node{Deleted: a.Node.Deleted, Held: true, At: o.Stamp, Key: p.Key()}, nil
		return nil
	}
	if in.Author.Node != (ulid.ULID{}) && in.Author.Node.String() != p.Node() {
		if recovers, err := table.Recovers(o); err != nil || recovers {
			return err
		}
	}
	a.Node.Node, _ = ulid.ParseStrict(p.Node()) // a key's node is one
	works, err := worksAt(o.View, p, a.Node.Key)
	if !works {
		a.Node.Key = p.Key()
	}
	return err
}

// worksAt tells whether a key may have been used at the laptop of p: none, which is the operator there, a key that the laptop
// has or had itself, one that the centre gave it to know, and one that was made there.
func worksAt(v *table.View, p auth.Principal, key int64) (bool, error) {
	if key == 0 || key == p.Key() {
		return true, nil
	}
	st, err := v.Load(record.APIKey, record.Int(key))
	if err != nil || st == nil {
		return key >= record.FirstDrawn, err
	}
	k, _, err := keys.ReadKey(st)
	if err != nil || k.Node.Node == p.Node() {
		return err == nil, nil // whose record is damaged has signed nothing that could be shown
	}
	if works, err := office.GoesTo(v, p, nil, &k); err != nil || works {
		return works, err
	}
	e, err := office.LaptopOf(v, p)
	if errors.Is(err, table.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return office.GoesTo(v, p, e.Contact.Events, &k)
}

// MayLeave answers a *Forbidden for a change that this store's centre would not take from it (sync.md §1): it would stay here for good,
// and nobody elsewhere would ever see it, so whoever makes it is told at once. As long as the centre has not said what it takes,
// nothing is refused.
func MayLeave(o *table.Tx, k *record.Kind, before *table.Stored, next [2]scopes.Scope) error {
	if !o.Store.IsLeaf() {
		return nil
	}
	written := auth.OfLaptops(k)
	if k.Fact || k.System && !written {
		return nil
	}
	u := o.Store.Joined.Load()
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

// isTaken answers a *Forbidden where the centre takes no records of a kind in a scope from this laptop. It takes them in the databases
// that it has named, and in those of an event of the laptop's churches that was made since, if the laptop takes all of them along: what
// is of no such event is never brought. An event itself goes with its church.
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

// isOursToChange answers a *Forbidden for what somebody else has made or changed.
func isOursToChange(o *table.Tx, k *record.Kind, st *table.Stored) error {
	tree, err := table.LoadTree(o.View, k, st)
	if err == nil && slices.ContainsFunc(tree.Nodes(), func(n rev.Node) bool { return isTheirs(o, n) }) {
		err = table.Refused("somebody else has made or changed this, and of the event the centre takes only what this laptop has made: it is to be changed there")
	}
	return err
}

// isTheirs tells a revision that another store has made, of which more is known than its name.
func isTheirs(o *table.Tx, n rev.Node) bool {
	own := n.Node == (ulid.ULID{}) || n.Node.String() == o.Store.Node()
	return !own && (n.Held || n.Deleted || n.At != 0)
}

// keepRefused keeps for staff the documents of records that were refused (design.md §5): a client of the protocol skips them for ever.
// One that comes again is kept once. One that is no document of a record at all is only named.
func (db *Database) keepRefused(p auth.Principal, writes []merge.DocWrite, results []DocResult) error {
	var steps []table.Step
	for i := range results {
		var f *auth.Forbidden
		in, err := &writes[i], results[i].Err
		whole := errors.As(err, &f)
		switch {
		case whole:
			if in, err = prepareDoc(writes[i]); err != nil {
				return err // it was prepared before
			}
			if whole = !value.HasLongNumber(in.Content); !whole { // staff could not read a list that shows it
				in = in.Named()
			}
		case in.Path != nil && (in.Wrong != nil || errors.Is(err, merge.ErrDocument) || errors.Is(err, merge.ErrRevision) || errors.Is(err, entry.ErrTooLarge)):
			in, f = in.Named(), table.Refused(err.Error()).(*auth.Forbidden)
		default:
			continue
		}
		steps = append(steps, table.Step{Run: func(o *table.Tx) error {
			kept, err := inbox.KeepRefusal(o, p, db.name, in, f)
			results[i].Kept = kept && whole
			return err
		}})
	}
	if len(steps) == 0 {
		return nil
	}
	if err := db.store.tables.DoAll(steps); err != nil {
		return err
	}
	for i := range steps {
		if err := steps[i].Err; err != nil {
			return err
		}
	}
	return nil
}
