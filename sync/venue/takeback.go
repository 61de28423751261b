package venue

import (
	"context"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/merge"
	"doorward/sync/replicate"
)

// takeBack reverts here what the centre has refused and keeps for its staff, down to what the centre has of it.
func (x *visit) takeBack(own *replicate.Local, theirs *replicate.Remote) func(context.Context, []replicate.Denial) error {
	return func(ctx context.Context, denied []replicate.Denial) error {
		var refused []merge.Revs
		for _, d := range denied {
			isAsked := func(r merge.Revs) bool { return r.ID == d.ID } // other branches are offered, and refused, again
			if !d.Kept || slices.ContainsFunc(refused, isAsked) {
				continue
			}
			path, err := own.Path(d.ID, d.Rev)
			if err != nil {
				return err
			}
			if len(path) > 0 {
				refused = append(refused, merge.Revs{ID: d.ID, Revisions: path})
			}
		}
		missing, err := theirs.Missing(ctx, refused)
		if err != nil {
			return err
		}
		refused = refused[:0]
		for _, m := range missing {
			refused = append(refused, merge.Revs{ID: m.ID, Revisions: m.Missing})
		}
		return x.config.Store.Laptop.GiveWay(auth.Operator(), refused)
	}
}

// Why a centre lacks something of a database that it was offered.
const (
	lacksRoom = "the centre has no room for all of it"
	lacksWill = "the centre has refused facts, or what it does not keep either"
)

// missingAtCentre offers the centre all of a database and returns why it lacks something; "" = it lacks nothing. It lacks a fact that it
// refuses, and a document that it refuses and does not keep for its staff. A database waits while the centre's disk is full; nothing else
// waits for it.
func (x *visit) missingAtCentre(ctx context.Context, name string) (why string, err error) {
	t, err := x.database(name) // the laptop may write there and not read
	if err != nil {
		return "", err
	}
	out, err := x.copyOnce(ctx, name, unremembered{t})
	c := copyJob{name, true}
	switch {
	case isDiskFull(err):
		x.waits(c, err)
		return lacksRoom, nil
	case err != nil:
		return "", err
	}
	x.goesOn(c)
	if out.RefusedFacts+out.Unkept > 0 {
		return lacksWill, nil
	}
	return "", nil
}
