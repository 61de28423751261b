package table

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/value"
)

// A lookup row says that a record holds a value in an Indexed field: kind, field name, 0, value, id. Values are written so
// that their bytes sort as they do: integers and times as 8 bytes with the sign turned, booleans as one byte, texts with a
// 0 behind. Null has no row. A list has a row for each of its elements.

// updatedAt is the field that every kind with an Indexed created_at is looked up by besides, from the header's stamp.
const updatedAt = "updated_at"

func LookupPrefix(dst []byte, k *record.Kind, field string) []byte {
	dst = append(dst, k.Number)
	dst = append(dst, field...)
	return append(dst, 0)
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

// AppendIndexed writes one of them as appendValue does; ok is false for what has no row.
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

// LookupKeys are all lookup rows of a record, in key order of its fields.
func LookupKeys(k *record.Kind, id record.ID, d *record.Doc, stamp int64) [][]byte {
	if d == nil {
		return nil
	}
	keys, room := make([][]byte, 0, 16), make([]byte, 0, 512)
	add := func(key []byte) {
		begin := len(room)
		room = k.AppendID(key, id)
		keys = append(keys, room[begin:len(room):len(room)])
	}
	for i := range k.Fields {
		f := &k.Fields[i]
		if !f.Flags.Has(record.Indexed) {
			continue
		}
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

// ReadyLookups are the lookup rows of a record that were made before its stamp was known; nil where they were not.
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

// Lookup answers the ids of the records that hold a value, sorted.
func (v *View) Lookup(k *record.Kind, field string, value any) ([]record.ID, error) {
	var buf [64]byte
	prefix := AppendValue(LookupPrefix(buf[:0], k, field), value)
	return LookupRange(v, k, prefix, nil, nil)
}

// LookupRange answers the ids of all rows from a key to another, both of them included, under a prefix; nil = open.
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

// RefersTo is the kind that a field's values name; "" where they name none.
func RefersTo(f *record.Field) string {
	switch t := f.Type.(type) {
	case record.Ref:
		return t.Kind
	case record.Refs:
		return t.Kind
	}
	return ""
}
