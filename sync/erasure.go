package sync

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"

	"doorward/kv"
	"doorward/kv/record"
	"doorward/kv/rev"
)

// erasure is a record that was erased, by the keyed hash of its id.
type erasure struct {
	Kind  string              `json:"kind"`
	Hash  string              `json:"hash"`
	First map[string][]string `json:"first,omitempty"` // of a ticket, by the kind of a part: its first revisions without names
}

func erasureOf(e kv.Erasure) erasure {
	told := erasure{Kind: e.Kind.Name, Hash: hex.EncodeToString(e.Hash[:])}
	for k, revs := range e.First {
		if told.First == nil {
			told.First = map[string][]string{}
		}
		for _, rev := range revs {
			told.First[k.Name] = append(told.First[k.Name], rev.String())
		}
	}
	return told
}

// parse reads what a centre tells. A kind of a later version is nil: nothing of it is here.
func (told *erasure) parse() (e kv.Erasure, err error) {
	hash, err := hex.DecodeString(told.Hash)
	if copy(e.Hash[:], hash) != len(hash) || err != nil {
		return e, errCut
	}
	e.Kind, _ = record.ByName(told.Kind)
	e.First = map[*record.Kind][]rev.ID{}
	for name, texts := range told.First {
		k, known := record.ByName(name)
		for _, text := range texts {
			rev, ok := rev.Parse(text)
			if !ok {
				return e, errCut
			}
			if known {
				e.First[k] = append(e.First[k], rev)
			}
		}
	}
	return e, nil
}

// tellErasures tells what was erased since a place: also one that is revoked shall lose it.
func (g *greeting) tellErasures(c *call, after string) error {
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
		g.Erasures = append(g.Erasures, erasureOf(e))
	}
	if g.Erased = after; upto != since {
		g.Erased = store.SeqText(upto)
	}
	return nil
}

// takeErasures erases here what was erased at the centre.
func (x *visit) takeErasures() error {
	var all []kv.Erasure
	for i := range x.greeting.Erasures {
		e, err := x.greeting.Erasures[i].parse()
		if err != nil {
			return err
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

// known is what a laptop tells a centre that was restored of what was erased: POST /sync/_erased, with its key of class node.
type known struct {
	Erasures []erasure `json:"erasures,omitempty"`
	Brought  bool      `json:"brought,omitzero"` // the laptop has brought all that it has: they can be carried out
}

// toldAtOnce is how many erasures one request tells of.
const toldAtOnce = 2000

// recallErasures erases again what a laptop knows was erased.
func recallErasures(c *call) error {
	if c.caller.Node() == "" {
		return errNode
	}
	var in known
	if err := c.readSmall(&in); err != nil {
		return err
	}
	var all []kv.Erasure
	for i := range in.Erasures {
		e, err := in.Erasures[i].parse()
		if err != nil {
			return errShape
		}
		all = append(all, e)
	}
	if err := c.server.config.Store.RecallErasures(c.caller, all, in.Brought); err != nil {
		return err
	}
	return c.reply(http.StatusOK, ok)
}

// tellErased tells a centre of another epoch than before what was erased, before it is brought or asked for anything: it may have been
// restored to a backup from before that. One that was not, or is of a version that does not ask, has its own list. What tells it
// afterwards that all was brought is brought; nil where it need not be told.
func (x *visit) tellErased(ctx context.Context) (brought func() error, err error) {
	all, err := x.config.Store.KnownErasures(kv.Operator())
	if err != nil || len(all) == 0 {
		return nil, err
	}
	t, err := x.database("_erased")
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(all, toldAtOnce) {
		var out known
		for _, e := range some {
			out.Erasures = append(out.Erasures, erasureOf(e))
		}
		err := t.ask(ctx, http.MethodPost, t.at(), out, nil)
		var no *refusal
		if errors.As(err, &no) && !transient(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return func() error { return t.ask(ctx, http.MethodPost, t.at(), known{Brought: true}, nil) }, nil
}
