package sync

import (
	"cmp"
	"encoding/hex"

	"doorward/kv"
	"doorward/kv/record"
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
	e.First = map[*record.Kind][]record.Revision{}
	for name, texts := range told.First {
		k, known := record.ByName(name)
		for _, text := range texts {
			rev, ok := record.ParseRevision(text)
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
