package venue

import (
	"context"
	"math"
	"slices"
	"strings"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/erase"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/sync/dial"
	"doorward/sync/handshake"
	"doorward/sync/replicate"
	"doorward/sync/transit"
)

// resync copies everything again if the centre's epoch has changed. A centre that was restored from a backup may lack what it had
// acknowledged, and may have again what had left a database or was erased. A laptop that is enrolled again pulls everything again: its
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
		if !push && strings.HasSuffix(e.Name, "-labels") {
			if err := dropLabels(ctx, x.config.Store, e.Name, own, t); err != nil {
				return err
			}
		}
		out, err := replicate.Run(ctx, j)
		x.noteMoved(out)
		if err != nil {
			return err
		}
	}
	return nil
}

// dropLabels removes the labels that a restored centre lacks a revision of, before the centre's are pulled. The centre derives all labels and
// takes none, so a door would go on showing those from after the backup.
func dropLabels(ctx context.Context, store *kv.Store, name string, own *replicate.Local, theirs *replicate.Remote) error {
	drop := func(_ context.Context, denied []replicate.Denial) error {
		var ids []string
		for _, d := range denied {
			ids = append(ids, d.ID)
		}
		_, err := store.Laptop.Leave(auth.Operator(), ids, map[string]uint64{name: math.MaxUint64})
		return err
	}
	_, err := replicate.Run(ctx, replicate.Job{Source: own, Target: deniesAll{unremembered{theirs}}, Tries: 1, On: replicate.Hooks{Refused: drop}})
	return err
}

// deniesAll is a database at the centre that is told nothing: each revision that it lacks is denied.
type deniesAll struct{ unremembered }

// Write denies all revisions.
func (deniesAll) Write(_ context.Context, revisions []*transit.Revision) (denied []replicate.Denial, err error) {
	for _, r := range revisions {
		denied = append(denied, replicate.Denial{ID: r.ID})
	}
	return denied, nil
}

// saveUpstream saves what the centre has said, for the time when it is not reached.
func (x *visit) saveUpstream() error {
	handshake.Note(&x.upstream, x.greeting.Databases)
	x.upstream.Zone = x.greeting.Zone
	x.upstream.Over, x.upstream.Chosen, x.upstream.Revoked = x.droppable, x.greeting.Chosen, false
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
		switch err := x.ask(ctx, "_erased", out, nil); {
		case dial.Refused(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
	}
	return func() error {
		return x.ask(ctx, "_erased", handshake.ErasureReport{Brought: true}, nil)
	}, nil
}

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
