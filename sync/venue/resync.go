package venue

import (
	"context"
	"doorward/kv"
	"doorward/sync/replicate"
)

// resync copies everything again if the centre's epoch has changed. A centre that was restored from a backup may lack what it had
// acknowledged, and may have again what had left a database or was erased.
func (x *visit) resync(ctx context.Context) error {
	if x.upstream.Epoch == x.greeting.Epoch {
		return x.saveUpstream()
	}
	if x.upstream.Epoch != "" {
		brought, err := x.tellErased(ctx)
		if err != nil {
			return err
		}
		if err := x.copyFromStart(ctx, true); err != nil {
			return err
		}
		if brought != nil {
			if err := brought(); err != nil {
				return err
			}
		}
		if err := x.copyFromStart(ctx, false); err != nil {
			return err
		}
	}
	x.upstream.Epoch = x.greeting.Epoch
	return x.saveUpstream()
}

// copyFromStart copies all databases one way from their beginnings.
func (x *visit) copyFromStart(ctx context.Context, push bool) error {
	for _, e := range x.greeting.Databases {
		if push && !e.Push || !push && !e.Pull {
			continue
		}
		t, err := x.database(e.Name)
		if err != nil {
			return err
		}
		own, err := replicate.OpenLocal(x.config.Store, kv.Operator(), e.Name)
		if err != nil {
			return err
		}
		j := replicate.Job{Source: own, Target: unremembered{t}, Tries: 1, On: replicate.Hooks{Refused: x.takeBack(own, t)}}
		if !push {
			j.Source, j.Target, j.On = unremembered{t}, own, replicate.Hooks{Gave: x.received(e.Name)}
		}
		if _, err := replicate.Run(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// saveUpstream saves what the centre has said, for the time when it is not reached.
func (x *visit) saveUpstream() error {
	x.upstream.Pushes, x.upstream.Pulls, x.upstream.Guest = nil, x.greeting.Pulls(), nil
	x.upstream.Over, x.upstream.Chosen, x.upstream.Revoked = x.droppable, x.greeting.Chosen, false
	for _, e := range x.greeting.Databases {
		if e.Push {
			x.upstream.Pushes = append(x.upstream.Pushes, e.Name)
		}
		if e.Guest {
			x.upstream.Guest = append(x.upstream.Guest, e.Name)
		}
	}
	return x.config.Store.NoteUpstream(x.upstream)
}

// unremembered is a database at the centre without checkpoints: a replication begins at the beginning.
type unremembered struct{ *replicate.Remote }

// Identify names no id.
func (a unremembered) Identify(ctx context.Context) (replicate.Identity, error) {
	says, err := a.Remote.Identify(ctx)
	says.ID = ""
	return says, err
}
