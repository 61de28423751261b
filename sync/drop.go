package sync

import (
	"context"
	"errors"
	"maps"
	"slices"

	"doorward/kv"
)

// drop takes the databases of events that are over, or not the laptop's any more, out of the file, on the centre's word.
func (x *visit) drop(ctx context.Context) error {
	var dropped []string
	maps.DeleteFunc(x.stays, func(name, _ string) bool { return !slices.Contains(x.greeting.Drop, name) })
	kept := kept(x.greeting.pulls())
	for _, name := range x.greeting.Drop {
		held, err := x.dropOne(ctx, name, kept)
		if err != nil {
			return err
		}
		if held {
			dropped = append(dropped, name)
		}
	}
	if len(dropped) > 0 {
		x.config.Logger.Info("events that are over, or another's now, were dropped: the centre has all of them", "databases", dropped)
	}
	return nil
}

// kept are those of the databases that a laptop is given whose records stay when an event goes: a church has its events too. A laptop
// of event level is given no events but its own.
func kept(pulls []string) []string {
	if !slices.Contains(pulls, "reference-finance") {
		return nil
	}
	return pulls
}

// dropOne takes a database out of the file, unless the centre lacks something of it, and has it pulled from its beginning if it ever
// comes back; held tells whether there was anything. What was refused here goes even where there was not: the private halves go before.
func (x *visit) dropOne(ctx context.Context, name string, kept []string) (held bool, err error) {
	store := x.config.Store
	upto, err := store.Held(kv.Operator(), name, kept...)
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if upto > 0 {
		if why, err := x.lacks(ctx, name); err != nil || x.staysFor(name, why) {
			return false, err
		}
		if err := (outlook{store, x.upstream}).forget(ctx, name); err != nil { // first: of what is gone already nobody would
			return false, err
		}
		if err := store.Release(kv.Operator(), name, upto, kept...); err != nil {
			return false, err
		}
	}
	return upto > 0, store.ReleaseRefusals(kv.Operator(), name, kept...)
}

// staysFor tells whether there is a cause for a database to stay, and the log what it is, once for each change.
func (x *visit) staysFor(name, cause string) bool {
	if cause != "" && cause != x.stays[name] {
		x.config.Logger.Warn("an event that is over stays here", "database", name, "cause", cause)
	}
	x.stays[name] = cause
	return cause != ""
}
