package table

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/value"
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

// Outcome is what a door is told. The set is closed.
type Outcome string

// The outcomes.
const Admitted Outcome = "admitted"

type CodeHash = [ledger.CodeHashSize]byte

func TimeOf(v jsontext.Value) (time.Time, bool) {
	if v.Kind() != '"' {
		return time.Time{}, false
	}
	return value.ParseDateTime(string(v[1:len(v)-1]), time.UTC)
}

// HashOf is a member that holds a code hash.
func HashOf(v jsontext.Value) (h CodeHash) {
	if len(v) == 2+2*ledger.CodeHashSize {
		_, _ = hex.Decode(h[:], v[1:len(v)-1]) // another text is no hash of a code: zero
	}
	return h
}

// HashCode is a code's hash under the realm's key.
func (s *Set) HashCode(code string) (h [ledger.CodeHashSize]byte) {
	mac := hmac.New(sha256.New, s.Identity.Family.Load().CodeKey)
	mac.Write([]byte(code))
	copy(h[:], mac.Sum(nil))
	return h
}

func HexText(b []byte) jsontext.Value { return jsontext.Value(`"` + hex.EncodeToString(b) + `"`) }

// Made is a new record ready to be stored.
type Made struct {
	Doc      *record.Doc
	Body     record.Body
	Revision rev.ID
}

// Admission rows lead to check-ins in the order that decides which was first, hlc then id: by event, code hash and list, and
// by ticket and list. The row by code names the ticket's exact code, so that two tickets of one code admit once. Check-ins that
// lead out have rows of their own, in the same order (inside.go).
const ByCode = 'c'

const ByTicket = 't'

// TicketAdmissions is the prefix of all check-ins in of a ticket.
func TicketAdmissions(dst []byte, ticket int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, ByTicket), uint64(ticket))
}

// The facts and tickets of a store alone decide which holders are in and which check-ins are double entries, in the order (hlc,
// id). Two stores with the same facts and tickets return the same result, in whatever order they arrived (sync.md §3).
//
// A check-in counts unless an undo names it or its list or direction is unknown. One in that counts is a double entry if an
// earlier one of its code or of its ticket, on its list, counts too and none between them leads out, or if its ticket is cancelled now. Each double entry has a
// row among the admissions, by event and in order; the row's value says why. A new fact can make or unmake only its own row and
// that of the next check-in that counts after it, by code and by ticket: settle checks these again.
const ByDouble = 'd'

// An event whose list_rule is reentry lets its guests out and in again. A guest is inside according to the last check-in of the ticket
// that counts, in or out, in the order (hlc, id): the facts alone say so, as they say which check-ins are double entries. Where no
// check-in leads out, this is the first admission.

// Way is which way a door lets guests through.
type Way string

// The ways. The empty Way is In.
const (
	In      Way = "in"      // guests that are not inside
	Out     Way = "out"     // guests that are inside
	Reentry Way = "reentry" // in, but for guests alone that were inside before
)

// A refusal is written with its answer, but not each: equal ones within a minute count once, and one key writes at most
// sixty a minute (design.md §2). What is not written is still answered and counted in the metric.
const (
	refusalQuiet  = time.Minute
	refusalsAKey  = 60
	refusalMemory = 4096 // remembered refusals before old ones are forgotten
)

// doorMemory is what the writer remembers of the last minute's refusals.
type doorMemory struct {
	seen map[RefusalKey]time.Time
	keys map[int64]*refusalCount
}

type RefusalKey struct {
	Event   int64
	Door    string
	Code    CodeHash
	Outcome Outcome
}

type refusalCount struct {
	since time.Time
	n     int
}

// Note tells whether a refusal is to be written, and remembers it.
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

// forget drops what is over a minute old; if that is not enough, everything.
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
