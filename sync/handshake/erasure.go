package handshake

import (
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

func NewErasure(e kv.Erasure) erasure {
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

// Parse reads what a centre tells; ok is false for what tells of no erasure. A kind of a later version is nil: nothing of it is here.
func (told *erasure) Parse() (e kv.Erasure, ok bool) {
	hash, err := hex.DecodeString(told.Hash)
	if copy(e.Hash[:], hash) != len(hash) || err != nil {
		return e, false
	}
	e.Kind, _ = record.ByName(told.Kind)
	e.First = map[*record.Kind][]record.Revision{}
	for name, texts := range told.First {
		k, known := record.ByName(name)
		for _, text := range texts {
			rev, ok := record.ParseRevision(text)
			if !ok {
				return e, false
			}
			if known {
				e.First[k] = append(e.First[k], rev)
			}
		}
	}
	return e, true
}

// ErasureReport is what a laptop tells a centre that was restored of what was erased: POST /sync/_erased, with its key of class node.
type ErasureReport struct {
	Erasures []erasure `json:"erasures,omitempty"`
	Brought  bool      `json:"brought,omitzero"` // the laptop has brought all that it has: they can be carried out
}
