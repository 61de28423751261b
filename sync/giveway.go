package sync

import (
	"context"
	"errors"
	"slices"

	"doorward/kv"
	"doorward/kv/rev"
)

// giveWay takes back in a database what the centre has refused and keeps for its staff: down to what the centre has of it, which is
// asked.
func (x *visit) giveWay(own *Here, theirs *There) func(context.Context, []Denial) error {
	return func(ctx context.Context, denied []Denial) error {
		var refused []kv.Revs
		for _, d := range denied {
			isAsked := func(r kv.Revs) bool { return r.ID == d.ID } // another branch of it is offered again, and refused again
			if !d.Kept || slices.ContainsFunc(refused, isAsked) {
				continue
			}
			path, err := own.path(d.ID, d.Rev)
			if err != nil {
				return err
			}
			if len(path) > 0 {
				refused = append(refused, kv.Revs{ID: d.ID, Revisions: path})
			}
		}
		missing, err := theirs.missing(ctx, refused)
		if err != nil {
			return err
		}
		refused = refused[:0]
		for _, m := range missing {
			refused = append(refused, kv.Revs{ID: m.ID, Revisions: m.Missing})
		}
		return x.config.Store.GiveWay(kv.Operator(), refused)
	}
}

// path is a revision and those before it, as far as they are here: newest first.
func (h *Here) path(id, text string) ([]rev.ID, error) {
	revision, ok := rev.ParseFree(text)
	if !ok {
		return nil, nil
	}
	doc, err := h.db.Read(id, kv.Ask{Revisions: []rev.ID{revision}})
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	return doc.Tree.Path(revision), err
}

// Why a centre lacks some of a database that it was offered.
const (
	lacksRoom = "the centre has no room for all of it"
	lacksWill = "the centre has refused facts, or what it does not keep either"
)

// lacks tells why a centre that is offered all of a database, from its beginning, has not all that nobody would have then; "" = it
// has. A fact that it refuses is such, and what it does not keep for its staff either. For room the database waits, and nothing else does.
func (x *visit) lacks(ctx context.Context, name string) (why string, err error) {
	t, err := x.met(name) // it may write there, and not ask what is there
	if err != nil {
		return "", err
	}
	out, err := x.copyOnce(ctx, name, anew{t})
	c := copying{name, true}
	switch {
	case noRoom(err):
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
