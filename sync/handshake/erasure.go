package handshake

import (
	"encoding/hex"

	"doorward/kv"
	"doorward/kv/record"
)

// Erasure is an erased record, by the keyed hash of its id.
type Erasure struct {
	Kind  string              `json:"kind"`
	Hash  string              `json:"hash"`
	First map[string][]string `json:"first,omitempty"` // of a ticket, by kind: the first revisions of its parts without names
}

// NewErasure writes an erasure for the wire.
func NewErasure(e kv.Erasure) Erasure {
	told := Erasure{Kind: e.Kind.Name, Hash: hex.EncodeToString(e.Hash[:])}
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

// Parse reads an erasure; ok is false if it cannot be read. A kind of a later version is nil: this store has none of it.
func (told *Erasure) Parse() (e kv.Erasure, ok bool) {
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

// ErasureReport is the body of POST /sync/_erased: a laptop tells a restored centre what was erased.
type ErasureReport struct {
	Erasures []Erasure `json:"erasures,omitempty"`
	Brought  bool      `json:"brought,omitzero"` // the laptop has pushed all its records: the erasures can be carried out
}
