package venue

import (
	"context"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/sync/handshake"
	"doorward/sync/replicate"
	"doorward/sync/transit"
)

// takeBack returns a hook that reverts documents which the centre has refused and keeps for its staff, to what the centre has of them. A
// database that the laptop does not pull is not read: the documents go back to what the laptop has of that.
func (x *visit) takeBack(e handshake.Database, own *replicate.Local, theirs *replicate.Remote) func(context.Context, []replicate.Denial) error {
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
		var shown []docs.MissingRevs
		if e.Pull {
			shown = standing(refused, missing)
		}
		if err := theirs.Read(ctx, shown, func(r *transit.Revision) error {
			_, err := own.Write(ctx, []*transit.Revision{r}) // this store may hold no body of it
			return err
		}); err != nil {
			return err
		}
		refused = refused[:0]
		for _, m := range missing {
			refused = append(refused, merge.Revs{ID: m.ID, Revisions: m.Missing})
		}
		return x.config.Store.Laptop.TakeBack(auth.Operator(), refused)
	}
}

// standing names what the centre has of refused documents: of each the first revision on the path that the centre does not lack.
func standing(refused []merge.Revs, missing []docs.MissingRevs) (all []docs.MissingRevs) {
	for _, m := range missing {
		i := slices.IndexFunc(refused, func(r merge.Revs) bool { return r.ID == m.ID })
		for _, r := range refused[i].Revisions {
			if !slices.Contains(m.Missing, r) {
				all = append(all, docs.MissingRevs{ID: m.ID, Missing: []rev.ID{r}})
				break
			}
		}
	}
	return all
}

// The causes for a centre to lack something that it was offered.
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
