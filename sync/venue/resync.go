package venue

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/erase"
	"doorward/sync/dial"
	"doorward/sync/handshake"
	"doorward/sync/replicate"
)

// resync copies everything again if the centre's epoch has changed. A centre that was restored from a backup may lack what it had
// acknowledged, and may have again what had left a database or was erased. A laptop that is enrolled anew pulls everything again: its
// databases may hold more for the new key.
func (x *visit) resync(ctx context.Context) error {
	restored := x.upstream.Epoch != "" && x.upstream.Epoch != x.greeting.Epoch
	if restored {
		if err := x.bringAgain(ctx); err != nil {
			return err
		}
	}
	if restored || x.upstream.Anew {
		if err := x.copyFromStart(ctx, false); err != nil {
			return err
		}
	}
	x.upstream.Epoch, x.upstream.Anew = x.greeting.Epoch, false
	return x.saveUpstream()
}

// bringAgain tells the centre what was erased, and pushes everything.
func (x *visit) bringAgain(ctx context.Context) error {
	brought, err := x.tellErased(ctx)
	if err != nil {
		return err
	}
	if err := x.copyFromStart(ctx, true); err != nil || brought == nil {
		return err
	}
	return brought()
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
		own, err := replicate.OpenLocal(x.config.Store, auth.Operator(), e.Name)
		if err != nil {
			return err
		}
		j := replicate.Job{Source: own, Target: unremembered{t}, Tries: 1, On: replicate.Hooks{Refused: x.takeBack(e, own, t)}}
		if !push {
			j.Source, j.Target, j.On = unremembered{t}, own, replicate.Hooks{Gave: x.received(e.Name)}
		}
		out, err := replicate.Run(ctx, j)
		x.moved.note(out)
		if err != nil {
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
	return x.config.Store.Laptop.NoteUpstream(x.upstream)
}

// unremembered is a database at the centre without checkpoints, so a replication begins at the beginning.
type unremembered struct{ *replicate.Remote }

// Identify names no id.
func (a unremembered) Identify(ctx context.Context) (replicate.Identity, error) {
	says, err := a.Remote.Identify(ctx)
	says.ID = ""
	return says, err
}

// takeErasures carries out the erasures of the centre.
func (x *visit) takeErasures() error {
	var all []erase.Erasure
	for i := range x.greeting.Erasures {
		e, ok := x.greeting.Erasures[i].Parse()
		if !ok {
			return dial.ErrCut
		}
		all = append(all, e)
	}
	if err := x.config.Store.Erasures.Recall.Carry(auth.Operator(), all); err != nil {
		return err
	}
	if x.greeting.Erased == x.upstream.Erased {
		return nil
	}
	x.upstream.Erased = x.greeting.Erased
	return x.config.Store.Laptop.NoteUpstream(x.upstream)
}

// toldAtOnce is how many erasures one request tells.
const toldAtOnce = 2000

// tellErased tells a centre of another epoch what was erased, before anything is pushed or pulled: it may have been restored to a backup
// from before. A centre that was not restored, or does not ask, has its own list. brought tells the centre that all was pushed; nil = it
// need not be told.
func (x *visit) tellErased(ctx context.Context) (brought func() error, err error) {
	all, err := x.config.Store.Erasures.Recall.Known(auth.Operator())
	if err != nil || len(all) == 0 {
		return nil, err
	}
	for some := range slices.Chunk(all, toldAtOnce) {
		var out handshake.ErasureReport
		for _, e := range some {
			out.Erasures = append(out.Erasures, handshake.NewErasure(e))
		}
		err := x.ask(ctx, question{method: http.MethodPost, path: "_erased", body: out}, nil)
		var no *dial.Refusal
		if errors.As(err, &no) && !dial.Transient(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return func() error {
		return x.ask(ctx, question{method: http.MethodPost, path: "_erased", body: handshake.ErasureReport{Brought: true}}, nil)
	}, nil
}
