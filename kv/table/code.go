package table

import (
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/value"
)

// Code rows lead from a code's hash to tickets: form, hash, event, ticket. Exact rows of one event are unique. A code that equals its
// normal form has the exact row alone.
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
			continue // the exact row is enough
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

// TicketsOf returns the tickets of an event with a code hash in a form, lowest id first.
func TicketsOf(v *View, form byte, hash []byte, event int64) (ids []record.ID, err error) {
	var buf [1 + ledger.CodeHashSize + 8]byte
	return IDsUnder(v, CodeBucket, codeEventPrefix(buf[:0], form, hash, event), record.Ticket)
}

// IDsUnder returns the ids that end the keys of the rows under a prefix, in order.
func IDsUnder(v *View, b engine.Bucket, prefix []byte, k *record.Kind) (ids []record.ID, err error) {
	err = v.Scan(b, prefix, nil, func(key, _ []byte) (bool, error) {
		id, ok := k.KeyID(key[max(0, len(key)-k.IDSize()):])
		if !ok {
			return false, engine.ErrCorrupt
		}
		ids = append(ids, id)
		return true, nil
	})
	return ids, err
}

// UniqueCode returns a *Conflict if another ticket of the event has the code.
func UniqueCode(o *Tx, id record.ID, d *record.Doc) error {
	hash, err := hex.DecodeString(d.Text("code_hash"))
	if err != nil || len(hash) == 0 {
		return nil // the ticket has no code
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

type CodeHash = [ledger.CodeHashSize]byte

func TimeOf(v jsontext.Value) (time.Time, bool) {
	if v.Kind() != '"' {
		return time.Time{}, false
	}
	return value.ParseDateTime(string(v[1:len(v)-1]), time.UTC)
}

// HashOf reads a member with a code hash; zero for another text.
func HashOf(v jsontext.Value) (h CodeHash) {
	if len(v) == 2+2*ledger.CodeHashSize {
		_, _ = hex.Decode(h[:], v[1:len(v)-1]) // an error leaves zero
	}
	return h
}

func HexText(b []byte) jsontext.Value { return jsontext.Value(`"` + hex.EncodeToString(b) + `"`) }

// Made is a new record ready to be stored.
type Made struct {
	Doc       *record.Doc
	Body      record.Body
	Canonical []byte
	Revision  rev.ID
}

// ByDouble begins the rows of the admission bucket that list double entries (kv/admission).
const ByDouble = 'd'

// A refusal is written with its answer, but not each: equal ones within a minute count once, and one key writes at most
// sixty a minute (design.md §2). What is not written is still answered and counted in the metric.
const (
	refusalQuiet  = time.Minute
	refusalsAKey  = 60
	refusalMemory = 4096 // remembered refusals before old ones are forgotten
)

// doorMemory holds the refusals of the last minute. Only the writer uses it.
type doorMemory struct {
	seen map[RefusalKey]time.Time
	keys map[int64]*refusalCount
}

type RefusalKey struct {
	Event   int64
	Door    string
	Code    CodeHash
	Outcome outcome.Outcome
}

type refusalCount struct {
	since time.Time
	n     int
}

// Note tells whether to write a refusal, and remembers it.
func (m *doorMemory) Note(key RefusalKey, api int64, now time.Time) bool {
	if m.seen == nil || len(m.seen) >= refusalMemory {
		m.forget(now)
	}
	if last, ok := m.seen[key]; ok && now.Sub(last) < refusalQuiet && !now.Before(last) {
		return false
	}
	count := m.keys[api]
	if count == nil || now.Sub(count.since) >= refusalQuiet || now.Before(count.since) {
		count = &refusalCount{since: now}
		m.keys[api] = count
	}
	if count.n >= refusalsAKey {
		return false
	}
	count.n++
	m.seen[key] = now
	return true
}

// forget drops refusals that are over a minute old. If too many are left, it drops all.
func (m *doorMemory) forget(now time.Time) {
	kept := make(map[RefusalKey]time.Time)
	for key, last := range m.seen {
		if now.Sub(last) < refusalQuiet && !now.Before(last) {
			kept[key] = last
		}
	}
	if len(kept) >= refusalMemory {
		clear(kept)
	}
	m.seen = kept
	if m.keys == nil || len(m.keys) >= refusalMemory {
		m.keys = make(map[int64]*refusalCount)
	}
}
