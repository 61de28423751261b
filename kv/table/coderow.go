package table

import (
	"encoding/binary"
	"encoding/hex"

	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/record"
)

// Code rows lead from a code's hash to tickets: form, hash, event, ticket. Exact rows of one event are unique. A code that is
// its own normal form has the exact row alone.
const (
	ExactForm  = 'e'
	NormalForm = 'n'
)

var CodeForms = [...]byte{ExactForm, NormalForm}

var hashFields = map[byte]string{ExactForm: "code_hash", NormalForm: "normal_hash"}

func CodePrefix(dst []byte, form byte, hash []byte) []byte { return append(append(dst, form), hash...) }

func codeEventPrefix(dst []byte, form byte, hash []byte, event int64) []byte {
	return binary.BigEndian.AppendUint64(CodePrefix(dst, form, hash), uint64(event))
}

// CodeKeys are a ticket's rows among the codes; none for other kinds.
func CodeKeys(k *record.Kind, id record.ID, d *record.Doc) [][]byte {
	if k != record.Ticket || d == nil {
		return nil
	}
	var keys [][]byte
	for _, form := range CodeForms {
		if form == NormalForm && string(d.Value("normal_hash")) == string(d.Value("code_hash")) {
			continue // the exact row says it
		}
		hash, err := hex.DecodeString(d.Text(hashFields[form]))
		if err != nil || len(hash) != ledger.CodeHashSize {
			continue // a ticket without a code cannot be scanned
		}
		key := codeEventPrefix(make([]byte, 0, 40), form, hash, d.Int("event_id"))
		keys = append(keys, k.AppendID(key, id))
	}
	return keys
}

// TicketsOf answers the tickets of an event that have a code hash in a form, lowest id first.
func TicketsOf(v *View, form byte, hash []byte, event int64) (ids []record.ID, err error) {
	var buf [1 + ledger.CodeHashSize + 8]byte
	err = v.Scan(CodeBucket, codeEventPrefix(buf[:0], form, hash, event), nil, func(key, _ []byte) (bool, error) {
		id, ok := record.Ticket.KeyID(key[len(key)-8:])
		if !ok {
			return false, engine.ErrCorrupt
		}
		ids = append(ids, id)
		return true, nil
	})
	return ids, err
}

func UniqueCode(o *Tx, id record.ID, d *record.Doc) error {
	hash, err := hex.DecodeString(d.Text("code_hash"))
	if err != nil || len(hash) == 0 {
		return nil // without a code there is nothing to be unique
	}
	others, err := TicketsOf(o.View, ExactForm, hash, d.Int("event_id"))
	if err != nil {
		return err
	}
	for _, other := range others {
		if other != id {
			return &Conflict{Reason: "another ticket of the event has this code", Field: "code"}
		}
	}
	return nil
}
