package venue

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"doorward/kv"
	"doorward/sync/dial"
	"doorward/sync/handshake"
)

// takeErasures erases here what was erased at the centre.
func (x *visit) takeErasures() error {
	var all []kv.Erasure
	for i := range x.greeting.Erasures {
		e, ok := x.greeting.Erasures[i].Parse()
		if !ok {
			return dial.ErrCut
		}
		all = append(all, e)
	}
	if err := x.config.Store.TakeErasures(kv.Operator(), all); err != nil {
		return err
	}
	if x.greeting.Erased == x.upstream.Erased {
		return nil
	}
	x.upstream.Erased = x.greeting.Erased
	return x.config.Store.NoteUpstream(x.upstream)
}

// toldAtOnce is how many erasures one request tells.
const toldAtOnce = 2000

// tellErased tells a centre of another epoch what was erased, before anything is pushed or pulled: it may have been restored to a backup
// from before. A centre that was not restored, or does not ask, has its own list. brought tells the centre that all was pushed; nil = it
// need not be told.
func (x *visit) tellErased(ctx context.Context) (brought func() error, err error) {
	all, err := x.config.Store.KnownErasures(kv.Operator())
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
