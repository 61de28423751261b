package table

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"iter"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/value"
)

// View is one consistent state of the store. In a write transaction it has the operation's own writes.
type View struct {
	*engine.View
	Store  *Set
	Now    time.Time
	Lists  *lists         // of the committed state; an operation asks Listed instead
	Group  *group         // of an operation: those before it in its commit; nil = the View shows a committed state
	Page   *record.Page   // members that the replies of a page share; nil = each reply has its own
	Shown  record.View    // of the latest reply
	Bare   bool           // concealed records are read too
	Reader auth.Principal // replies are for this key; the zero one sees only what every key sees
}

// View runs fn on the latest committed state, and reports what is damaged.
func (s *Set) View(fn func(*View) error) error {
	err := s.Glance(fn)
	if err != nil {
		s.Damage.Note(err)
	}
	return err
}

// Glance is View for a caller that reads again after an error: it does not report damage.
func (s *Set) Glance(fn func(*View) error) error {
	for {
		again := false
		err := s.Engine.View(func(v *engine.View) error {
			l := s.Lists.at(v.Version())
			if l == nil {
				again = true // several commits have passed since the View was opened
				return nil
			}
			return fn(&View{View: v, Store: s, Now: s.Clock.Now(), Lists: l})
		})
		if !again {
			return err
		}
	}
}

// Load reads a live record; nil where there is none.
func (v *View) Load(k *record.Kind, id record.ID) (*Stored, error) {
	st, err := v.LoadAny(k, id)
	if err != nil || st == nil || st.Deleted {
		return nil, err
	}
	return st, nil
}

// LoadDoc reads a live record and its document; nil where there is none.
func (v *View) LoadDoc(k *record.Kind, id record.ID) (*Stored, *record.Doc, error) {
	st, err := v.Load(k, id)
	if err != nil || st == nil {
		return nil, nil, err
	}
	d, err := st.Decode(k)
	return st, d, err
}

// LoadAny reads a record or its tombstone; nil where the store never had it. A body that was written under another version of the
// kind's table is converted.
func (v *View) LoadAny(k *record.Kind, id record.ID) (*Stored, error) {
	var buf [16]byte
	row, err := v.Get(KindBucket(k), k.AppendID(buf[:0], id))
	if err != nil || row == nil {
		return nil, err
	}
	st := &Stored{ID: id}
	if err := st.read(k, row); err != nil {
		return nil, err
	}
	if !v.Writing() { // what an operation works on is what there is
		err = Unshown(v, k, st)
	}
	return st, err
}

// Each calls fn with the live records of ascending ids. It walks where records lie side by side. fn must not keep the record.
func (v *View) Each(k *record.Kind, ids []record.ID, fn func(*Stored) error) error {
	var st Stored
	var buf [16]byte
	c := v.Cursor(KindBucket(k))
	var at *engine.Row
	for _, id := range ids {
		want := k.AppendID(buf[:0], id)
		if at != nil {
			at = c.Next()
		}
		if at == nil || !bytes.Equal(at.Key, want) {
			at = c.Seek(want)
		}
		if !bytes.Equal(at.Key, want) {
			return fmt.Errorf("%w: kind %s lacks a listed record", engine.ErrCorrupt, k.Name)
		}
		row, err := at.Value()
		if err != nil {
			return err
		}
		st.ID = id
		if err := st.read(k, row); err != nil {
			return err
		}
		if err := Unshown(v, k, &st); err != nil {
			return err
		}
		if err := fn(&st); err != nil {
			return err
		}
	}
	return nil
}

// EachLive calls fn with those of some records that are here and not deleted.
func (v *View) EachLive(k *record.Kind, ids []record.ID, fn func(*Stored) error) error {
	for _, id := range ids {
		st, err := v.Load(k, id)
		if err == nil && st != nil {
			err = fn(st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// EachRow calls fn with all rows of a bucket under a prefix. Each page of them has a View of its own.
func (s *Set) EachRow(b engine.Bucket, prefix []byte, fn func(v *View, key, row []byte) error) error {
	return s.DoEachRow(b, prefix, func(v *View, key, row []byte) (bool, error) { return false, fn(v, key, row) }, nil)
}

// DoEachRow is DoEach for the rows of a bucket under a prefix for which picks returns true. Each page of rows has a View of its own, and the
// steps of its rows are done before the next page is read.
func (s *Set) DoEachRow(b engine.Bucket, prefix []byte, picks func(v *View, key, row []byte) (bool, error), run func(o *Tx, key []byte) error) error {
	from := prefix
	for more := true; more; {
		more = false
		n := 0
		var picked [][]byte
		err := s.View(func(v *View) error {
			return v.Scan(b, prefix, from, func(key, row []byte) (bool, error) {
				if n++; n > ErasePage {
					from, more = slices.Clone(key), true
					return false, nil
				}
				is, err := picks(v, key, row)
				if is {
					picked = append(picked, slices.Clone(key))
				}
				return true, err
			})
		})
		if err == nil {
			err = DoEach(s, picked, run)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refCache keeps records that other records name and replies show: churches, roles, accounts, groups. It belongs to the lists of a
// commit. The next lists share it until a commit changes a record of these kinds, so it always shows the state of its View.
type refCache struct {
	mu      sync.RWMutex
	records map[refKey]*Stored // nil: there is none
}

type refKey struct {
	kind byte
	id   record.ID
}

// maxRefs is how many records the cache keeps. Others are read each time.
const maxRefs = 10_000

func newRefCache() *refCache { return &refCache{records: make(map[refKey]*Stored)} }

// cached tells whether a refCache keeps a kind.
func cached(k *record.Kind) bool {
	return k.Class == record.Everyones || k.Class == record.Finances || k == record.Group
}

// LoadRef reads a record that another one names; nil where there is none.
func (v *View) LoadRef(k *record.Kind, id record.ID) (*Stored, error) {
	if v.Writing() || !cached(k) {
		return v.Load(k, id)
	}
	c, key := v.Lists.refs, refKey{k.Number, id}
	c.mu.RLock()
	st, known := c.records[key]
	c.mu.RUnlock()
	if known {
		return st, nil
	}
	st, err := v.Load(k, id)
	if err != nil {
		return nil, err
	}
	if st != nil {
		st = st.Kept()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.records) < maxRefs {
		c.records[key] = st
	}
	return st, nil
}

// Walk is Scan, or with down ScanDown.
func (v *View) Walk(b engine.Bucket, down bool, prefix, from []byte, fn func(key, value []byte) (bool, error)) error {
	if !down {
		return v.Scan(b, prefix, from, fn)
	}
	return v.ScanDown(b, prefix, from, fn)
}

// OrCorrupt returns err, or ErrCorrupt where err is nil.
func OrCorrupt(err error) error { return cmp.Or(err, engine.ErrCorrupt) }

// OrNotFound returns err, or ErrNotFound if it is nil.
func OrNotFound(err error) error { return cmp.Or(err, ErrNotFound) }

// KeysBefore returns the first keys of a bucket before a key, at most most of them. At a damaged row it returns the keys before that
// row with the error.
func KeysBefore(r *engine.View, b engine.Bucket, end []byte, most int) (keys [][]byte, err error) {
	err = r.Scan(b, nil, nil, func(key, _ []byte) (bool, error) {
		if len(keys) == most || bytes.Compare(key, end) >= 0 {
			return false, nil
		}
		keys = append(keys, bytes.Clone(key))
		return true, nil
	})
	return keys, err
}

// FirstKeys returns the first n keys under a prefix.
func FirstKeys(r *engine.View, b engine.Bucket, prefix []byte, n int) (keys [][]byte, err error) {
	err = r.Scan(b, prefix, nil, func(key, _ []byte) (bool, error) {
		if len(keys) == n {
			return false, nil
		}
		keys = append(keys, append([]byte(nil), key...))
		return true, nil
	})
	return keys, err
}

// Unshown removes hidden persons and holdings from a record or a kept body that was read.
func Unshown(v *View, k *record.Kind, st *Stored) error {
	c := v.Store.Recalls.Concealed.Load()
	if c == nil || v.Bare || st.Deleted || !mayHide(k) {
		return nil
	}
	d, err := st.Decode(k)
	if err != nil || !c.hides(k, st.ID, d) {
		return err
	}
	st.Body = blank(k, d).Encode()
	st.Version = k.Version
	return nil
}

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
	fields := k.Lookups
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

// ByDouble begins the rows of the admission bucket that list double entries (kv/admission). LetInMark begins the value of one with a verdict.
const (
	ByDouble  = 'd'
	LetInMark = "let_in:"
)
