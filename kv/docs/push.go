package docs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"

	"doorward/kv/access"
	"doorward/kv/admission"
	"doorward/kv/auth"
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

// push is one revision that a principal writes to a database of records.
type push struct {
	access *scopeAccess
	o      *table.Tx
	p      auth.Principal
	in     *merge.DocWrite
}

// store stores the revision and returns its id. Of a revision that is known an operator brings the body, if none is held; nothing else
// changes.
func (w *push) store() (rev.ID, error) {
	o, p, in := w.o, w.p, w.in
	if len(in.Attachments) > 0 {
		return rev.ID{}, table.Refused("records have no attachments")
	}
	if table.IsOpaque(in.ID) {
		return w.storeOpaque()
	}
	a, err := w.arrive()
	if err != nil {
		return rev.ID{}, err
	}
	if a.IsKnown() && !a.Unseen {
		err := merge.RefuseErased(o, a)
		if err == nil && p.IsOperator() {
			merge.KeepKnown(o, a)
		}
		return a.Path[0], err
	}
	if err := merge.RemoveErased(o, a); err != nil {
		return a.Path[0], err
	}
	if !p.IsOperator() {
		if slices.ContainsFunc(a.Path, isHashless) {
			return rev.ID{}, table.Refused("a revision has a hash")
		}
		if err := o.Store.Rules.Limits.MayBranch(&a.Tree, a.Path); err != nil {
			return rev.ID{}, err
		}
	}
	verdict, err := w.judge(a)
	switch {
	case err != nil:
	case p.IsOperator():
		if err = entry.AsError(verdict); err == nil {
			err = merge.Receive(o, a)
		}
	case p.IsLaptop():
		if err = w.judgeLaptop(a, verdict); err == nil {
			err = merge.Receive(o, a)
		}
	default:
		err = w.storeForKey(a, verdict)
	}
	return a.Path[0], err
}

// isHashless tells whether a revision's hash is zero. No body has this hash, and a record's row reads it as no revision.
func isHashless(rev rev.ID) bool { return rev.Hash == [16]byte{} }

// judgeLaptop returns *Forbidden if a laptop may not write a revision.
func (w *push) judgeLaptop(a *merge.Arrival, verdict access.Verdict) error {
	o, p := w.o, w.p
	if a.Unseen {
		return errTaken
	}
	if err := hasTypes(a); err != nil {
		return err
	}
	if err := entry.AsError(verdict); err != nil {
		return err
	}
	if verdict != access.Yes {
		if err := isOwn(o, p, a); err != nil {
			return err
		}
	}
	if err := w.mayRefer(a); err != nil {
		return err
	}
	if a.Kind == record.Checkin {
		if err := admission.MayBring(o, a.Doc); err != nil {
			return err
		}
	}
	if verdict == access.Review {
		a.Flag(admission.FlagNeedsReview)
	}
	if a.Before == nil {
		return ownID(o, p, a.Kind, a.ID)
	}
	if a.Doc == nil && !a.Before.Deleted && !a.ClosesBranch() {
		return entry.AsRefusal(entry.Unreferred(o, p, a.Kind, a.ID))
	}
	return nil
}

// hasTypes returns *Forbidden for a document with a value of the wrong type, a number that is too long, or a missing value that
// has no default. It passes over values that the stored record has already, from an older version, so that other fields can be
// changed.
func hasTypes(a *merge.Arrival) error {
	for _, d := range [...]*record.Doc{a.Doc, a.Lost} {
		if d == nil {
			continue
		}
		if name := a.FirstChanged(d, record.Misfits(d)); name != "" {
			return table.Refused("the value of " + name + " is not of the field's type")
		}
		if name := a.FirstChanged(d, record.LongNumbers(d)); name != "" {
			return table.Refused(longNumber(name))
		}
		if name := a.FirstChanged(d, record.Missing(d)); name != "" {
			return table.Refused("the value of " + name + " is missing")
		}
	}
	return nil
}

// longNumber is why a document with a long number is refused: JSON would be kept as it was given.
func longNumber(name string) string { return "a number in " + name + " has more than 64 characters" }

// isOwn returns *Forbidden for a record that a laptop may not bring, because another node has made or changed it.
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
		return a.CheckPassOn()
	}
	if recovers, err := table.Recovers(o); err != nil || recovers {
		return err
	}
	return table.Refused(reason)
}

// storeForKey stores a revision that a key has made, after the same validation as in /v1 (sync.md §1). Dates and other values
// that the server sets make one more revision on top.
func (w *push) storeForKey(a *merge.Arrival, verdict access.Verdict) error {
	o, p := w.o, w.p
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
	if err := entry.AsRefusal(entry.Unique(o, a.Kind, a.ID, a.Doc)); err != nil {
		return err
	}
	if err := mayLeaveAsIs(o, a); err != nil {
		return err
	}
	a.ApplyDefaults(patch)
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
	_, err = o.Write(table.Edit{Kind: a.Kind, ID: a.ID, Before: next, Was: a.Doc, Is: settled, Author: p.Key()})
	return err
}

// judgeKey returns the record that a revision of a key changes, as it was; nil = a new record.
func judgeKey(o *table.Tx, p auth.Principal, a *merge.Arrival, verdict access.Verdict) (*record.Doc, error) {
	if err := entry.AsError(verdict); err != nil {
		return nil, err
	}
	if a.Verb() != access.Make {
		if err := p.Check(a.Kind.Resource, "PATCH"); err != nil {
			return nil, err
		}
		return baseOf(o, a)
	}
	if err := p.Check(a.Kind.Resource, "POST"); err != nil {
		return nil, err
	}
	if err := ownID(o, p, a.Kind, a.ID); err != nil || !a.Unseen {
		return nil, err
	}
	return nil, errTaken
}

// deleteAsKey stores a tombstone that a key has made.
func deleteAsKey(o *table.Tx, p auth.Principal, a *merge.Arrival, verdict access.Verdict) error {
	if a.Before == nil || a.Unseen {
		return table.Refused("there is nothing that the key could delete")
	}
	if err := entry.AsError(verdict); err != nil {
		return err
	}
	if err := p.Check(a.Kind.Resource, "DELETE"); err != nil {
		return err
	}
	if err := mayLeaveAsIs(o, a); err != nil {
		return err
	}
	if !a.Before.Deleted {
		if err := entry.AsRefusal(entry.Unreferred(o, p, a.Kind, a.ID)); err != nil {
			return err
		}
	}
	_, err := merge.Adopt(o, a)
	return err
}

// mayLeaveAsIs is MayLeave for an arrival.
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
	if len(a.Path) > 1 {
		if parent, err := table.DocOf(o.View, a.Kind, a.Before, a.Path[1]); err != nil || parent != nil {
			return parent, err
		}
	}
	return a.Before.Decode(a.Kind)
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
		body = value.AppendMember(body, name, a.Doc.Value(name))
	}
	surface := record.V1
	if a.Kind == record.Membership {
		surface = record.Admin // its group is the path's on /v1
	}
	patch, err := a.Kind.Parse(append(body, '}'), record.ParseOptions{Surface: surface, Zone: o.Store.Clock.Zone()})
	if err != nil {
		return nil, table.Refused("the document is not valid")
	}
	if base == nil {
		entry.GiveChurch(p, a.Kind, patch)
		for _, name := range record.Missing(a.Doc) { // a field with its default value is not missing
			patch.Faults.Add(name, fault.Required)
		}
	}
	return patch, entry.AsRefusal(entry.CheckPatch(o, p, a.Kind, patch))
}

// judge asks the table of rules about an arrival. The operator, which this store's own replicator writes as, has no ties.
func (w *push) judge(a *merge.Arrival) (access.Verdict, error) {
	q := access.Question{Verb: a.Verb(), Kind: a.Kind, Via: w.access.scope}
	o, p := w.o, w.p
	if p.IsOperator() {
		return access.May(p, q), nil
	}
	next, err := merge.ScopesOfArrival(o, a)
	if err == nil {
		var unseen bool
		if unseen, err = w.namesUnseen(a); unseen {
			next = [2]scopes.Scope{q.Via}
		}
	}
	if err == nil {
		q.To, err = office.SpotsFor(o.View, p, a.Kind, next)
	}
	q.From = q.To // for a tombstone of a record that is not here, for example an erased one
	if err == nil && a.Before != nil && !a.Unseen {
		q.From, err = office.SpotsFor(o.View, p, a.Kind, a.Before.Scopes)
	}
	return access.May(p, q), err
}

// namesUnseen tells whether a key makes a membership of a person that it does not see. It is judged where it came through, as that of a
// person that does not exist, and refused for the person.
func (w *push) namesUnseen(a *merge.Arrival) (bool, error) {
	if a.Kind != record.Membership || a.Doc == nil || a.Verb() != access.Make || w.p.IsLaptop() || w.access.scope.Sort != scopes.Church {
		return false, nil
	}
	sees, err := entry.MayPoint(w.o, w.p, a.Kind, record.Pointer{Kind: record.Person, ID: record.Int(a.Doc.Int("person"))})
	return !sees, err
}

// arrive reads a document into an arrival. It returns *Conflict for a new edit if its parent is no leaf, ErrDocument, or
// *Forbidden.
func (w *push) arrive() (a *merge.Arrival, err error) {
	o, p, in := w.o, w.p, w.in
	k, id, ok := record.ParseDocID(in.ID)
	if !ok {
		return nil, table.Refused(access.NoKind.String())
	}
	a = &merge.Arrival{Kind: k, ID: id, Path: in.Path, Via: w.access.scope}
	if a.Before, err = o.LoadAny(k, id); err != nil {
		return nil, err
	}
	if a.Before != nil {
		if a.Tree, err = table.LoadTree(o.View, k, a.Before); err != nil {
			return nil, err
		}
	}
	if a.Unseen, err = w.hides(a); err != nil {
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

// hides tells whether p may not learn that the record exists: p does not see it in the database, and the document names no
// revision of it. The reply is then the same as for a record that does not exist. A laptop's own revisions are judged by their
// author instead.
func (w *push) hides(a *merge.Arrival) (bool, error) {
	p, in := w.p, w.in
	if a.Before == nil || p.IsOperator() || p.IsLaptop() && in.Path != nil || a.Tree.Has(in.Parent) || slices.ContainsFunc(in.Path, a.Tree.Has) {
		return false, nil
	}
	if !w.access.holds(a.Kind, a.Before) {
		return true, nil
	}
	err := w.access.maySee(p)
	if errors.Is(err, auth.ErrForbidden) {
		return true, nil
	}
	return false, err
}

// sign sets the author of the revision. A laptop pushes only what it has made. It may name any key that works there as the
// author. While the store recovers from a backup, a laptop may also push what other nodes have made, for example the root's merges.
func sign(o *table.Tx, p auth.Principal, a *merge.Arrival, in *merge.DocWrite) error {
	if p.IsOperator() {
		return nil
	}
	if !p.IsLaptop() {
		a.Node, a.Lost = rev.Node{Deleted: a.Node.Deleted, Held: true, At: o.Stamp, Key: p.Key()}, nil
		return nil
	}
	if in.Author.Node != (ulid.ULID{}) && in.Author.Node.String() != p.Node() {
		if recovers, err := table.Recovers(o); err != nil || recovers {
			return err
		}
	}
	a.Node.Into = 0                             // only the root merges
	a.Node.Node, _ = ulid.ParseStrict(p.Node()) // a key's node is one
	works, err := worksAt(o.View, p, a.Node.Key)
	if !works {
		a.Node.Key = p.Key()
	}
	return err
}

// worksAt tells whether a key may have been used at the laptop of p: no key, which is the operator there; the laptop's present
// or earlier key; a key that the centre gave it; or a key that was made there.
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
		return err == nil, nil // a damaged key has signed no revision that replies can show
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

// storeOpaque stores a revision of a document of an unknown kind, which a laptop or this store's own replicator brings.
func (w *push) storeOpaque() (rev rev.ID, err error) {
	o, p, in := w.o, w.p, w.in
	spot, err := w.access.spot(p)
	if err != nil {
		return rev, err
	}
	q := access.Question{Verb: access.Make, Via: w.access.scope, To: [2]access.Spot{spot}}
	if access.May(p, q).Refuses() || len(in.Path) == 0 || len(in.Content) > entry.MaxRecordDoc {
		return rev, table.Refused(access.NoKind.String())
	}
	ds := docStore{table.OpaqueDocuments(w.access.scope)}
	d, err := ds.Load(o.View.View, in.ID)
	if err != nil {
		return rev, err
	}
	if d.Tree.Has(in.Path[0]) {
		return in.Path[0], nil
	}
	if !p.IsOperator() {
		if value.HasLongNumber(in.Content) {
			return rev, table.Refused(longNumber("the document"))
		}
		if err := o.Store.Rules.Limits.MayBranch(&d.Tree, in.Path); err != nil {
			return rev, err
		}
	}
	a := &merge.Arrival{Node: in.Authored(o)}
	if err := sign(o, p, a, in); err != nil {
		return rev, err
	}
	if _, err := ds.add(o, &d, in, in.Path, a.Node); err != nil {
		return rev, err
	}
	c := table.ListChange{From: d.Mark(w.access.scope)}
	o.State.Seq++
	ds.Place(o, in.ID, &d, o.State.Seq)
	c.To = d.Mark(w.access.scope)
	o.Changed = append(o.Changed, c)
	return in.Path[0], nil
}

// keepRefused keeps refused documents of records for staff (design.md §5), because a client of the protocol skips them from
// then on. A document that arrives again is kept once. Of a document that is no record's, only the id is kept.
func keepRefused(db *Database, p auth.Principal, writes []merge.DocWrite, results []DocResult) error {
	var steps []func(*table.Tx) error
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
		steps = append(steps, func(o *table.Tx) error {
			kept, err := inbox.KeepRefusal(o, p, db.name, in, f)
			results[i].Kept = kept && whole
			return err
		})
	}
	return table.DoEach(db.store.tables, steps, func(o *table.Tx, step func(*table.Tx) error) error { return step(o) })
}
