package docs

import (
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

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
	if err := entry.AsRefusal(entry.Unique(o, a.Kind, a.ID, a.Doc)); err != nil {
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
	_, err = o.Write(table.Edit{Kind: a.Kind, ID: a.ID, Before: next, Was: a.Doc, Is: settled, Author: p.Key()})
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
	if err := ownID(o, p, a.Kind, a.ID); err != nil || !a.Unseen {
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
		if err := entry.AsRefusal(entry.Unreferred(o, p, a.Kind, a.ID)); err != nil {
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
		kept, err := table.KeptBody(o.View, a.Kind, a.ID, a.Path[1])
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
