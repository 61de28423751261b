package table

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/value"
)

// A lookup row leads from the value of an Indexed field to a record: kind, tag of the field, value, id. A tag is the last two bytes of the CRC32C of
// the field's name; a kind's fields have different ones. The bytes of a value sort like the
// value: integers and times are 8 bytes with the sign bit turned, booleans one byte, texts end with a 0. Null has no row. A list has a
// row for each element.

// updatedAt is a field that every kind with an Indexed created_at has a lookup by. Its value is the header's stamp.
const updatedAt = "updated_at"

// LookupPrefix appends the part of a key before the value.
func LookupPrefix(dst []byte, k *record.Kind, field string) []byte {
	tag := crc32.Checksum([]byte(field), castagnoli)
	return append(dst, k.Number, byte(tag>>8), byte(tag))
}

// AppendNumber writes an integer so that its bytes sort.
func AppendNumber(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(n)^1<<63)
}

// AppendValue writes one value of a condition.
func AppendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case int64:
		return AppendNumber(dst, v)
	case time.Time:
		return AppendNumber(dst, v.UnixMicro())
	case bool:
		return append(dst, Flag(v))
	case string:
		return append(append(dst, v...), 0)
	}
	return dst
}

// Indexed are the values by which a stored member is looked up: of a list each of its elements.
func Indexed(v jsontext.Value) iter.Seq[jsontext.Value] {
	if v.Kind() == '[' {
		return value.Elements(v)
	}
	return func(yield func(jsontext.Value) bool) { yield(v) }
}

// AppendIndexed appends one of them like AppendValue; ok is false for a value without a row.
func AppendIndexed(dst []byte, f *record.Field, v jsontext.Value) (row []byte, ok bool) {
	switch v.Kind() {
	case '0':
		n, err := strconv.ParseInt(string(v), 10, 64)
		return AppendNumber(dst, n), err == nil // no index holds fractions
	case 't', 'f':
		return append(dst, Flag(v.Kind() == 't')), true
	case '"':
		if _, timed := f.Type.(record.DateTime); timed {
			t, ok := value.ParseDateTime(value.Unquote(v), time.UTC)
			return AppendNumber(dst, t.UnixMicro()), ok
		}
		dst, err := jsontext.AppendUnquote(dst, v)
		return append(dst, 0), err == nil // stored members are valid
	}
	return dst, false
}

// lookupBytes is more than most lookup keys take.
const lookupBytes = 40

// LookupKeys are all lookup rows of a record, in key order of its fields.
func LookupKeys(k *record.Kind, id record.ID, d *record.Doc, stamp int64) [][]byte {
	if d == nil {
		return nil
	}
	fields := k.Lookups()
	if len(fields) == 0 {
		return nil
	}
	n := len(fields)
	keys, room := make([][]byte, 0, n), make([]byte, 0, n*lookupBytes)
	add := func(key []byte) {
		begin := len(room)
		room = k.AppendID(key, id)
		keys = append(keys, room[begin:len(room):len(room)])
	}
	for _, f := range fields {
		for v := range Indexed(d.Value(f.Name)) {
			if key, ok := AppendIndexed(LookupPrefix(room, k, f.Name), f, v); ok {
				add(key)
			}
		}
		if f.Name == "created_at" {
			add(AppendNumber(LookupPrefix(room, k, updatedAt), stamp))
		}
	}
	return keys
}

// ReadyLookups are lookup rows that were made before the record's stamp was known; nil = Write makes them.
type ReadyLookups [][]byte

// under is the rows under a stamp.
func (r ReadyLookups) under(k *record.Kind, stamp int64) [][]byte {
	var buf [16]byte
	prefix := LookupPrefix(buf[:0], k, updatedAt)
	for _, key := range r {
		if bytes.HasPrefix(key, prefix) {
			AppendNumber(key[:len(prefix)], stamp)
		}
	}
	return r
}

// Lookup returns the ids of the records with a value, sorted.
func (v *View) Lookup(k *record.Kind, field string, value any) ([]record.ID, error) {
	var buf [64]byte
	prefix := AppendValue(LookupPrefix(buf[:0], k, field), value)
	return LookupRange(v, k, prefix, nil, nil)
}

// LookupRange returns the ids of the rows under a prefix between two keys, both included; nil = open.
func LookupRange(v *View, k *record.Kind, prefix, from, to []byte) ([]record.ID, error) {
	var ids []record.ID
	sorted := true
	err := v.Scan(LookupBucket, prefix, from, func(key, _ []byte) (bool, error) {
		end := len(key) - k.IDSize()
		if to != nil && bytes.Compare(key[:end], to) > 0 {
			return false, nil
		}
		id, ok := k.KeyID(key[end:])
		if !ok {
			return false, engine.ErrCorrupt
		}
		sorted = sorted && (len(ids) == 0 || ids[len(ids)-1].Compare(id) < 0)
		ids = append(ids, id)
		return true, nil
	})
	if !sorted {
		slices.SortFunc(ids, record.ID.Compare)
		ids = slices.Compact(ids)
	}
	return ids, err
}

// RefersTo is the kind of the records that a field names; "" = none.
func RefersTo(f *record.Field) string {
	switch t := f.Type.(type) {
	case record.Ref:
		return t.Kind
	case record.Refs:
		return t.Kind
	}
	return ""
}

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
		hash, ok := readHash(d.Value(hashFields[form]))
		if !ok {
			continue // a ticket without a code cannot be scanned
		}
		key := codeEventPrefix(make([]byte, 0, 40), form, hash[:], d.Int("event_id"))
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
	if slices.ContainsFunc(others, func(other record.ID) bool { return other != id }) {
		return &Conflict{Reason: "another ticket of the event has this code", Field: "code"}
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
func HashOf(v jsontext.Value) CodeHash {
	h, _ := readHash(v)
	return h
}

// readHash is HashOf; ok is false for another text.
func readHash(v jsontext.Value) (h CodeHash, ok bool) {
	text := value.Content(v)
	if len(text) != hex.EncodedLen(len(h)) {
		return h, false
	}
	if _, err := hex.Decode(h[:], text); err != nil {
		return CodeHash{}, false
	}
	return h, true
}

// HexText is bytes as a stored text of hexadecimal digits.
func HexText(b []byte) jsontext.Value {
	text := append(make([]byte, 0, 2+2*len(b)), '"')
	return append(hex.AppendEncode(text, b), '"')
}

// ByDouble begins the rows of the admission bucket that list double entries (kv/admission).
const ByDouble = 'd'
