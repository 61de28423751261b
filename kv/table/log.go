package table

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"doorward/kv/engine"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
)

// Change is one row of the change log: the latest change of one record.
type Change struct {
	Seq      uint64
	Kind     *record.Kind
	ID       record.ID
	Revision rev.ID
	Deleted  bool
	Branched bool // its tree has further leaves
}

// SeqKey is a sequence as a key: 8 bytes.
func SeqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// The flags of a row of a log. Their numbers are stored.
const (
	rowDeleted  = 1 << iota
	rowBranched // its tree has further leaves
	RowRemoved  // it has left the scope
)

// AppendLog appends a row of a log: kind, flags, id, generation, hash. more are further flags.
func AppendLog(dst []byte, k *record.Kind, st *Stored, more byte) []byte {
	dst = append(dst, k.Number, flags(st.Deleted, st.Branched)|more)
	dst = k.AppendID(dst, st.ID)
	dst = binary.AppendUvarint(dst, st.Revision.Generation)
	return append(dst, st.Revision.Hash[:]...)
}

// ParseLog reads a row of the log. Only the logs of scopes have documents of unknown kinds.
func ParseLog(key, row []byte) (Change, error) {
	if len(key) != 8 {
		return Change{}, engine.ErrCorrupt
	}
	c, err := ParseScopeLog(binary.BigEndian.Uint64(key), row)
	if err == nil && c.Kind == nil {
		err = engine.ErrCorrupt
	}
	return c.Change, err
}

// ExportPage is how many records Export copies out of one View.
const ExportPage = 200

// Bell wakes the callers that wait for the log to grow. Ringing it costs one load if none waits.
type Bell struct{ rope atomic.Pointer[chan struct{}] }

// Ring wakes all callers that wait. The change is visible before the bell rings.
func (b *Bell) Ring() {
	if b.rope.Load() == nil {
		return
	}
	if rope := b.rope.Swap(nil); rope != nil {
		close(*rope)
	}
}

// hear returns a channel that the next ring closes.
func (b *Bell) hear() <-chan struct{} {
	for {
		if rope := b.rope.Load(); rope != nil {
			return *rope
		}
		rope := make(chan struct{})
		if b.rope.CompareAndSwap(nil, &rope) {
			return rope
		}
	}
}

// Await waits until a condition holds. It listens before it checks, so a change between the two rings the bell.
func (b *Bell) Await(ctx context.Context, holds func() bool) error {
	for {
		heard := b.hear()
		if holds() {
			return nil
		}
		select {
		case <-heard:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// FeedName names the database of a bell: a free database, or the records of a scope.
type FeedName struct {
	Free  string
	Scope scopes.Scope
}

// bells wake only the callers that wait for the changes of one database. A commit rings the bells of the databases that it
// changed. A database without waiting callers has no bell.
type bells struct {
	Mu    sync.Mutex
	Ropes map[FeedName]*Rope
}

// Rope is the channel that the listeners of one bell wait on.
type Rope struct {
	Pulled    chan struct{}
	listeners int
}

// Hear returns a channel that the next ring of a bell closes. The caller must call leave when it stops listening.
func (b *bells) Hear(name FeedName) (pulled <-chan struct{}, leave func()) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	r := b.Ropes[name]
	if r == nil {
		if b.Ropes == nil {
			b.Ropes = map[FeedName]*Rope{}
		}
		r = &Rope{Pulled: make(chan struct{})}
		b.Ropes[name] = r
	}
	r.listeners++
	return r.Pulled, func() {
		b.Mu.Lock()
		defer b.Mu.Unlock()
		if r.listeners--; r.listeners == 0 && b.Ropes[name] == r {
			delete(b.Ropes, name)
		}
	}
}

// ring wakes the listeners of some bells. The change is visible before the bell rings.
func (b *bells) ring(names []FeedName) {
	if len(names) == 0 {
		return
	}
	b.Mu.Lock()
	defer b.Mu.Unlock()
	for _, name := range names {
		if r := b.Ropes[name]; r != nil {
			close(r.Pulled)
			delete(b.Ropes, name)
		}
	}
}

// ringScopes wakes the listeners of each database with a changed record.
func (b *bells) ringScopes(changes []ListChange) {
	b.Mu.Lock()
	quiet := len(b.Ropes) == 0
	b.Mu.Unlock()
	if quiet || len(changes) == 0 {
		return
	}
	names := []FeedName{{}}
	for i := range changes {
		for _, m := range [2]*scopeMark{&changes[i].From, &changes[i].To} {
			for _, s := range m.scopes {
				if name := (FeedName{Scope: s}); !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	b.ring(names)
}

// Sequence is the sequence of the latest change that a View shows.
func Sequence(v *View) (uint64, error) {
	st, err := ReadState(v.View)
	return st.Seq, err
}

var releasedKey = []byte("released") // in meta: when the file first held bytes of released records, microseconds 8; compactions that leave them 8

// NoteReleased notes that free pages of the file hold bytes of released records from now on.
func NoteReleased(o *Tx) error {
	since, err := ReleasedSince(o.View)
	if err != nil || since != 0 && !o.Tx.Rewriting() { // a file that a rewrite is writing holds them too
		return err
	}
	kept, err := keeping(o)
	if err == nil {
		o.Put(MetaBucket, releasedKey, append(SeqKey(uint64(o.Stamp)), SeqKey(kept)...))
	}
	return err
}

// ReleasedSince returns the time since which the file holds bytes of released records, in microseconds. It returns 0 if the file holds
// none, or if it was compacted since.
func ReleasedSince(v *View) (int64, error) {
	row, err := v.Get(MetaBucket, releasedKey)
	if err != nil || len(row) != 16 {
		return 0, err
	}
	passed, err := Compactions(v)
	if err != nil || binary.BigEndian.Uint64(row[8:]) < passed {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(row)), nil
}

// Each scope has a log of its own, so a feed reads the changes of its scope alone. The log has a row for each record in the scope, at
// the record's latest sequence, and a row for each record that has left, at the sequence of that change.

// AppendScope writes a scope's part of a key: sort 1, id uv.
func AppendScope(dst []byte, s scopes.Scope) []byte {
	return binary.AppendUvarint(append(dst, byte(s.Sort)), uint64(s.ID))
}

// ScopeSeqKey names a row of a scope's log.
func ScopeSeqKey(dst []byte, s scopes.Scope, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(AppendScope(dst, s), seq)
}

// LeftKey is the key of a record that has left a scope.
func LeftKey(k *record.Kind, id record.ID, s scopes.Scope) []byte {
	return AppendScope(k.AppendID([]byte{k.Number}, id), s)
}

// In tells whether the record is in a scope.
func (h *Header) In(s scopes.Scope) bool { return slices.Contains(h.Scopes[:], s) }

// moveScopes moves a record's rows in the logs of its scopes to their ends. row is its row in the log.
func moveScopes(o *Tx, k *record.Kind, before, next *Stored, row []byte) {
	var key [24]byte
	if before != nil {
		for _, s := range before.Scopes {
			if s.Sort == 0 {
				continue
			}
			o.Delete(ScopeLogBucket, ScopeSeqKey(key[:0], s, before.Seq))
			if !next.In(s) {
				o.Put(ScopeLogBucket, ScopeSeqKey(key[:0], s, next.Seq), AppendLog(nil, k, before, RowRemoved))
				o.Put(LeftBucket, LeftKey(k, next.ID, s), SeqKey(next.Seq))
			}
		}
	}
	for _, s := range next.Scopes {
		if s.Sort != 0 {
			o.Put(ScopeLogBucket, ScopeSeqKey(key[:0], s, next.Seq), row)
		}
	}
}

// Welcome deletes the removed rows of a record in the scopes that it returns to.
func Welcome(o *Tx, k *record.Kind, before, next *Stored) error {
	if before == nil {
		return nil // a new record has left no scope
	}
	for _, s := range next.Scopes {
		if s.Sort == 0 || before.In(s) {
			continue
		}
		if err := forgetRemoved(o, k, next.ID, s); err != nil {
			return err
		}
	}
	return nil
}

// LeftScopes are the scopes that a record has left.
func LeftScopes(v *View, k *record.Kind, id record.ID) (left []scopes.Scope, err error) {
	of := TreeKey(k, id)
	err = v.Scan(LeftBucket, of, nil, func(key, _ []byte) (bool, error) {
		s, _, err := CutScope(key[len(of):])
		left = append(left, s)
		return err == nil, err
	})
	return left, err
}

// forgetRemoved deletes the removed row of a record in a scope, if it has one.
func forgetRemoved(o *Tx, k *record.Kind, id record.ID, s scopes.Scope) error {
	key := LeftKey(k, id, s)
	row, err := o.Get(LeftBucket, key)
	if err != nil || len(row) != 8 {
		return err
	}
	o.Delete(ScopeLogBucket, ScopeSeqKey(nil, s, binary.BigEndian.Uint64(row)))
	o.Delete(LeftBucket, key)
	return nil
}

// countChunks is how many parts the counts have. A commit copies the parts that it changes.
const countChunks = 64

// scopeCounts are how many records each scope holds, live and deleted; the zero Scope stands for all records. They are derived,
// as the lists are, and published with them.
type scopeCounts [countChunks]*countChunk

// countChunk is sorted by scope. edit may still change it.
type countChunk struct {
	edit   uint64
	Counts []scopeCount
}

type scopeCount struct {
	Scope         scopes.Scope
	Live, Deleted int
}

// scopeMark is how a record is counted. The zero scopeMark is not counted.
type scopeMark struct {
	scopes        [2]scopes.Scope
	live, deleted bool
	opaque        bool // not among all records
}

// Mark is how the record is counted.
func (h *Header) Mark() scopeMark {
	return scopeMark{scopes: h.Scopes, live: !h.Deleted, deleted: h.Deleted}
}

func compareScopes(a, b scopes.Scope) int {
	return cmp.Or(cmp.Compare(a.Sort, b.Sort), cmp.Compare(a.ID, b.ID))
}

func chunkOf(s scopes.Scope) int { return int((uint64(s.ID)*7 + uint64(s.Sort)) % countChunks) }

func (c *countChunk) place(s scopes.Scope) (int, bool) {
	return slices.BinarySearchFunc(c.Counts, s, func(c scopeCount, s scopes.Scope) int { return compareScopes(c.Scope, s) })
}

// Of is the count of one scope.
func (c *scopeCounts) Of(s scopes.Scope) scopeCount {
	if chunk := c[chunkOf(s)]; chunk != nil {
		if i, ok := chunk.place(s); ok {
			return chunk.Counts[i]
		}
	}
	return scopeCount{Scope: s}
}

// note adds n to the counts of a record's scopes.
func (c *scopeCounts) note(edit uint64, m *scopeMark, n int) {
	if !m.live && !m.deleted {
		return
	}
	if !m.opaque {
		c.add(edit, scopes.Scope{}, m, n)
	}
	for _, s := range m.scopes {
		if s.Sort != 0 {
			c.add(edit, s, m, n)
		}
	}
}

func (c *scopeCounts) add(edit uint64, s scopes.Scope, m *scopeMark, n int) {
	at := &c[chunkOf(s)]
	if *at == nil {
		*at = &countChunk{edit: edit}
	} else if (*at).edit != edit {
		*at = &countChunk{edit: edit, Counts: slices.Clone((*at).Counts)}
	}
	i, ok := (*at).place(s)
	if !ok {
		(*at).Counts = slices.Insert((*at).Counts, i, scopeCount{Scope: s})
	}
	if m.live {
		(*at).Counts[i].Live += n
	} else {
		(*at).Counts[i].Deleted += n
	}
}

// Mirror is the name of the database of all records.
const Mirror = "records"

// OfRecords tells whether a name is that of a database of records.
func OfRecords(name string) bool {
	_, ok := scopes.Parse(name)
	return ok || name == Mirror
}

// OpaqueKind is the first byte of an opaque document's rows in logs: no kind has this number.
const OpaqueKind = 0

// IsOpaque tells whether an id names a kind that this version does not know.
func IsOpaque(doc string) bool {
	name, id, ok := strings.Cut(doc, ":")
	_, known := record.ByName(name)
	return ok && id != "" && name != "" && !known && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

// ParseScopeLog reads a row of a scope's log.
func ParseScopeLog(seq uint64, row []byte) (ch ScopeChange, err error) {
	c := Cutter{Rest: row}
	number, set, ok := c.Byte(), c.Byte(), true
	ch.Change = Change{Seq: seq, Deleted: set&rowDeleted != 0, Branched: set&rowBranched != 0}
	ch.Removed = set&RowRemoved != 0
	if number != OpaqueKind {
		if ch.Kind, ok = record.ByNumber(number); ok {
			ch.ID, ok = ch.Kind.KeyID(c.Bytes(ch.Kind.IDSize()))
		}
	}
	ch.Revision.Generation = c.Uvarint()
	copy(ch.Revision.Hash[:], c.Bytes(16))
	if number == OpaqueKind {
		ch.Doc = string(c.Rest)
		ok = ch.Doc != ""
	}
	if c.Short || !ok {
		return ScopeChange{}, engine.ErrCorrupt
	}
	return ch, nil
}

// ScopeChange is one row of a scope's log. Removed tells that the record has left; its revision is the last that the scope saw.
type ScopeChange struct {
	Change
	Removed bool
	Doc     string // of a kind that this version does not know; Kind is nil then
}

// CutScope takes a scope off the front of a key.
func CutScope(key []byte) (s scopes.Scope, rest []byte, err error) {
	c := Cutter{Rest: key}
	s.Sort, s.ID = scopes.Sort(c.Byte()), int64(c.Uvarint())
	if c.Short || s.Sort == 0 {
		return s, nil, engine.ErrCorrupt
	}
	return s, c.Rest, nil
}

// IsGuestIn tells whether the centre takes from a scope only the records that this laptop has made.
func (u *Upstream) IsGuestIn(s scopes.Scope) bool { return slices.Contains(u.Guest, s.String()) }

// ScannedAt is when this store last took a fact of an event; zero = it has none.
func ScannedAt(v *View, event int64) (at time.Time, err error) {
	scope := scopes.Scope{Sort: scopes.Event, ID: event}
	last := ScopeSeqKey(nil, scope, math.MaxUint64)
	err = v.Walk(ScopeLogBucket, true, AppendScope(nil, scope), last, func(_, row []byte) (bool, error) {
		c, err := ParseScopeLog(0, row)
		if err != nil || c.Removed || c.Kind == nil || !c.Kind.Fact {
			return err == nil, err
		}
		st, err := v.LoadAny(c.Kind, c.ID)
		if err != nil || st == nil {
			return false, OrCorrupt(err)
		}
		at = st.Updated()
		return false, nil
	})
	return at, err
}
