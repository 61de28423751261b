package laptop

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// NotTaken is why a laptop takes nothing of a stick, a file of changes that a person carries from the centre to a laptop which no line reaches.
type NotTaken string

// Error is the reason.
func (n NotTaken) Error() string { return string(n) }

// The reasons.
const (
	errStickRealm   = NotTaken("the file is of another congregation, whose records never mix with those of this laptop")
	errStickNode    = NotTaken("the file is not of this laptop's centre, which gives it what it takes along")
	errStickEpoch   = NotTaken("the file is from before the centre was restored: it may hold what the centre has no more; write another one there")
	errStickRevoked = NotTaken("this laptop is revoked at its centre: it takes nothing more from there")
	errStickUnmet   = NotTaken("what this laptop takes along is not known before it has met its centre: run serve here once while the centre is reached")
)

// Stick is who wrote a file of changes.
type Stick struct{ Realm, Node, Epoch string }

// Taking says what a laptop takes of a stick.
type Taking struct {
	office.Along
	laptop *Laptop
	chosen bool // of its churches' events it takes only those that the centre has named
}

// Take returns what the laptop takes of a stick. It returns NotTaken for a stick that is not of its centre, is from before the centre was
// restored, or if the laptop is revoked, and *Forbidden.
func (lp *Laptop) Take(p auth.Principal, s Stick) (*Taking, error) {
	if err := p.CheckRule(); err != nil {
		return nil, err
	}
	u, _, err := lp.Upstream()
	switch {
	case err != nil:
		return nil, err
	case s.Realm != lp.tables.Identity.Realm():
		return nil, errStickRealm
	case s.Node != u.Node:
		return nil, errStickNode
	case u.Revoked:
		return nil, errStickRevoked
	case s.Epoch < u.Epoch: // ULIDs are ordered by their times
		return nil, errStickEpoch
	case len(u.Pulls) == 0:
		return nil, errStickUnmet
	}
	return &Taking{Along: u.Pulls, laptop: lp, chosen: u.Chosen}, nil
}

// Of returns which of the databases that a record is in the laptop takes it to; "" = it takes it not along.
func (t *Taking) Of(k *record.Kind, databases []string) (string, error) {
	for _, name := range databases {
		takes, err := t.takes(k, name)
		if err != nil || takes {
			return name, err
		}
	}
	return "", nil
}

// takes is Takes, also for the databases of an event that the centre has not told the laptop of: it was made in one of the laptop's
// churches since they met last, and is not over. Whether the laptop takes names or labels of it is seen from its other events.
func (t *Taking) takes(k *record.Kind, name string) (bool, error) {
	if t.Takes(k, name) {
		return true, nil
	}
	scope, _ := scopes.Parse(name)
	known := scope.Sort == scopes.Event || scope.Sort == scopes.EventHolders || t.TakesSort(scope.Sort)
	if !scope.Sort.OfEvent() || t.chosen || !known || !append(slices.Clip(t.Along), name).Takes(k, name) {
		return false, nil
	}
	fresh := false
	err := t.laptop.tables.View(func(v *table.View) error {
		st, err := v.Load(record.Event, record.Int(scope.ID))
		if err != nil || st == nil {
			return err
		}
		church := scopes.Scope{Sort: scopes.Church, ID: st.Home(record.Event)}
		begins, _ := entry.SpanOf(st)
		fresh = slices.Contains(t.Along, church.String()) && (v.Now.Before(begins) || office.InProgress(st, v.Now))
		return nil
	})
	if fresh {
		t.Along = append(slices.Clip(t.Along), name)
	}
	return fresh, err
}
