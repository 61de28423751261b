package sync

import (
	"context"
	"errors"
	"slices"

	"doorward/kv"
)

// drop takes the databases of events that are over out of the file, on the centre's word.
func (x *visit) drop(ctx context.Context) error {
	var dropped []string
	kept := x.kept()
	for _, name := range x.greeting.Drop {
		upto, err := x.config.Store.Held(kv.Operator(), name, kept...)
		if errors.Is(err, kv.ErrNotFound) || err == nil && upto == 0 {
			continue
		}
		lacks := false
		if err == nil {
			lacks, err = x.lacks(ctx, name)
		}
		if err == nil && !lacks {
			dropped = append(dropped, name)
			err = x.dropOne(ctx, name, upto, kept)
		}
		if err != nil {
			return err
		}
	}
	if len(dropped) > 0 {
		x.config.Logger.Info("events that are over were dropped: the centre has all of them", "databases", dropped)
	}
	return nil
}

// kept are the databases whose records stay when an event goes: a church has its events too. A laptop of event level is given no
// events but its own.
func (x *visit) kept() (names []string) {
	church := slices.ContainsFunc(x.greeting.Databases, func(e exchange) bool { return e.Name == "reference-finance" })
	for _, e := range x.greeting.Databases {
		if e.Pull && church {
			names = append(names, e.Name)
		}
	}
	return names
}

// lacks tells whether the centre has refused a fact of a database. All of it is offered from its beginning: what the centre has is
// asked, not remembered.
func (x *visit) lacks(ctx context.Context, name string) (bool, error) {
	t, err := x.database(name)
	if err != nil {
		return false, err
	}
	out, err := x.copyOnce(ctx, name, anew{t})
	if err != nil || out.RefusedFacts == 0 {
		return false, err
	}
	x.config.Logger.Warn("an event that is over stays here: the centre has refused facts of it", "database", name)
	return true, nil
}

// dropOne takes what a database held up to a sequence out of the file, and has it pulled from its beginning if it ever comes back.
func (x *visit) dropOne(ctx context.Context, name string, upto uint64, kept []string) error {
	if err := x.config.Store.Release(kv.Operator(), name, upto, kept...); err != nil {
		return err
	}
	return outlook{x.config.Store, x.upstream}.forget(ctx, name)
}
