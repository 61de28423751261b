package kv

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/auth"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/value"
)

// writeAsKey stores a revision that a key which is no laptop's has made, after the same validation as /v1 (sync.md §1). What the
// server sets by itself, dates and originals, makes one more revision on top.
func (db *scopeDocs) writeAsKey(o *op, p Principal, a *arrival, verdict auth.Verdict) error {
	if a.doc == nil {
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
	if err := asRefusal(unique(o, a.kind, a.id, a.doc)); err != nil {
		return err
	}
	if err := mayLeaveAsIs(o, a); err != nil {
		return err
	}
	a.settleBranch(patch)
	next, err := adopt(o, a)
	if err != nil || next.revision != a.path[0] {
		return err // a losing branch: the root will settle what is merged
	}
	settled := a.doc.Clone()
	settled.Apply(patch)
	if base == nil && p.Key() != 0 {
		settled.Set("created_by", value.Number(p.Key()))
	}
	settled.Settle(base, moment(o))
	if sameBody(settled.Encode(), next.body) {
		return nil
	}
	_, err = o.write(change{kind: a.kind, id: a.id, before: next, was: a.doc, is: settled, author: p.Key()})
	return err
}

// settleBranch gives an edit beside the present revision its values as they are stored: a merge takes them over as they stand, and
// no revision follows that would set them. One that stands on the present revision, however many lie between, keeps its body.
func (a *arrival) settleBranch(patch *record.Patch) {
	if a.before == nil || slices.Contains(a.path, a.before.revision) {
		return
	}
	settled := a.doc.Clone()
	if len(settled.Apply(patch)) > 0 {
		a.remake(settled)
	}
}

// judgeKey returns the record that a revision changes, as it was; nil for a new one.
func judgeKey(o *op, p Principal, a *arrival, verdict auth.Verdict) (*record.Doc, error) {
	if err := asError(verdict, nil); err != nil {
		return nil, err
	}
	if a.verb() != auth.Make {
		if err := p.Check(a.kind.Resource, "PATCH"); err != nil {
			return nil, err
		}
		return baseOf(o, a)
	}
	if err := p.Check(a.kind.Resource, "POST"); err != nil {
		return nil, err
	}
	if err := ownID(o, p, a.kind, a.id); err != nil || !a.unseen {
		return nil, err
	}
	return nil, errTaken
}

func deleteAsKey(o *op, p Principal, a *arrival, verdict auth.Verdict) error {
	if a.before == nil || a.unseen {
		return refused("there is nothing that the key could delete")
	}
	if err := asError(verdict, p.Check(a.kind.Resource, "DELETE")); err != nil {
		return err
	}
	if err := mayLeaveAsIs(o, a); err != nil {
		return err
	}
	if !a.before.deleted {
		if err := asRefusal(unreferred(o, p, a.kind, a.id)); err != nil {
			return err
		}
	}
	_, err := adopt(o, a)
	return err
}

// mayLeaveAsIs is mayLeave for an arrival.
func mayLeaveAsIs(o *op, a *arrival) error {
	next, err := scopesOfArrival(o, a)
	if err != nil {
		return err
	}
	return mayLeave(o, a.kind, a.before, next)
}

// errNotOwnID refuses an id that a key may not give, whether or not the id is taken. errTaken refuses an id that the client
// drew and that is taken.
var (
	errNotOwnID = refused("the id is neither leased to the key nor one of those that clients draw")
	errTaken    = refused("the id is taken")
)

// ownID returns nil for an id that a key may give a new record: an id leased to it, or one that no range ever holds.
func ownID(o *op, p Principal, k *record.Kind, id record.ID) error {
	if k.ULID || id.Int() >= record.FirstDrawn {
		return nil
	}
	key, given, err := leaseOf(o.sight, k, id.Int())
	if err == nil && given && key != p.Key() && p.IsLaptop() {
		err = sameLaptop(o, p, key)
	} else if err == nil && (!given || key != p.Key()) {
		err = errNotOwnID
	}
	return err
}

// sameLaptop returns nil if p's laptop had the key before it joined again, if the key is forgotten, or if the store recovers
// from a backup.
func sameLaptop(o *op, p Principal, key int64) error {
	if key == forgotten {
		return nil
	}
	st, err := o.loadAny(record.APIKey, record.Int(key))
	if err != nil || st != nil && value.Unquote(st.body.Member("node")) == p.Node() {
		return err
	}
	if recovers, err := recovers(o); err != nil || recovers {
		return err
	}
	return refused("the id is leased to another key")
}

// baseOf returns the record that a revision was made of: its parent or, if that body is not held, the winner.
func baseOf(o *op, a *arrival) (*record.Doc, error) {
	st := a.before
	if len(a.path) > 1 && a.path[1] != st.revision {
		kept, err := keptBody(o.sight, a.kind, a.id, a.path[1])
		if err != nil {
			return nil, err
		}
		if kept != nil {
			st = kept
		}
	}
	return st.decode(a.kind)
}

// patchOf returns the change of a revision as a patch of /v1. It returns *Forbidden if /v1 would refuse it.
func patchOf(o *op, p Principal, a *arrival, base *record.Doc) (*record.Patch, error) {
	from := base
	if from == nil {
		from = a.kind.NewDoc()
	}
	body := []byte{'{'}
	for _, name := range a.doc.Differs(from) {
		f, known := a.kind.Field(name)
		if !known || !f.Settable(record.V1) && !(base == nil && a.kind == record.Membership && name == "group_id") {
			return nil, refused("the field " + name + " is not one that the key may set")
		}
		body = appendMember(body, name, a.doc.Value(name))
	}
	surface := record.V1
	if a.kind == record.Membership {
		surface = record.Admin // its group is the path's on /v1
	}
	patch, err := a.kind.Parse(append(body, '}'), record.ParseOptions{Surface: surface, Zone: o.store.zone})
	if err != nil {
		return nil, refused("the document is not valid")
	}
	if base == nil {
		giveChurch(o, p, a.kind, patch)
		requireOf(patch, a.doc)
	}
	return patch, asRefusal(checkPatch(o, p, a.kind, patch))
}

func appendMember(dst []byte, name string, v jsontext.Value) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	return append(append(append(dst, value.Quote(name)...), ':'), v...)
}

// requireOf adds a fault for each required field that a new document lacks. A field with its default value is not lacking.
func requireOf(patch *record.Patch, d *record.Doc) {
	for _, name := range record.Missing(d) {
		patch.Faults.Add(name, fault.Required)
	}
}

// asRefusal turns the error that /v1 would return for a request into a refusal of the document: a client of the protocol must
// never get a conflict. Only fields are named.
func asRefusal(err error) error {
	var faults fault.ByField
	var conflict *Conflict
	switch {
	case err == nil:
		return nil
	case errors.As(err, &faults):
		names := make([]string, 0, len(faults))
		for name := range faults {
			names = append(names, name)
		}
		slices.Sort(names)
		return refused("not valid: " + strings.Join(names, ", "))
	case errors.As(err, &conflict):
		return refused(conflict.Reason)
	case errors.Is(err, ErrNotFound):
		return refused("the key may not write this kind")
	}
	return err
}

// refusedFor is a failure of the store itself, or else a refusal.
func refusedFor(err error, reason string) error {
	if err != nil {
		return err
	}
	return refused(reason)
}
