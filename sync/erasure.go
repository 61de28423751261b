package sync

import (
	"cmp"
	"net/http"

	"doorward/kv"
	"doorward/sync/handshake"
	"doorward/sync/input"
)

// tellErasures tells what was erased after a place, also to a revoked laptop: it shall lose it.
func tellErasures(c *call, g *handshake.Greeting, after string) error {
	store := c.server.config.Store
	since, err := store.Since(cmp.Or(after, "0"))
	if err != nil {
		return err
	}
	all, upto, err := store.Erasures(c.caller, since)
	if err != nil {
		return err
	}
	for _, e := range all {
		g.Erasures = append(g.Erasures, handshake.NewErasure(e))
	}
	if g.Erased = after; upto != since {
		g.Erased = store.SeqText(upto)
	}
	return nil
}

// recallErasures erases again what a laptop knows was erased.
func recallErasures(c *call) error {
	if c.caller.Node() == "" {
		return errNode
	}
	var in handshake.ErasureReport
	if err := c.readSmall(&in); err != nil {
		return err
	}
	var all []kv.Erasure
	for i := range in.Erasures {
		e, ok := in.Erasures[i].Parse()
		if !ok {
			return input.ErrShape
		}
		all = append(all, e)
	}
	if err := c.server.config.Store.RecallErasures(c.caller, all, in.Brought); err != nil {
		return err
	}
	return c.reply(http.StatusOK, ok)
}
