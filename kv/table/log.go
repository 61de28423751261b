package table

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"

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

// ParseLog reads a row of the log.
func ParseLog(key, row []byte) (Change, error) {
	if len(key) != 8 {
		return Change{}, engine.ErrCorrupt
	}
	c, _, err := ParseLogRow(binary.BigEndian.Uint64(key), row)
	return c, err
}

// ParseLogRow reads a row of the log, or of a scope's.
func ParseLogRow(seq uint64, row []byte) (ch Change, removed bool, err error) {
	c := Cutter{Rest: row}
	k, ok := record.ByNumber(c.Byte())
	if !ok {
		return Change{}, false, engine.ErrCorrupt
	}
	set := c.Byte()
	ch = Change{Seq: seq, Kind: k, Deleted: set&rowDeleted != 0, Branched: set&rowBranched != 0}
	ch.ID, ok = k.KeyID(c.Bytes(k.IDSize()))
	ch.Revision.Generation = c.Uvarint()
	copy(ch.Revision.Hash[:], c.Bytes(16))
	if c.Short || !ok {
		return Change{}, false, engine.ErrCorrupt
	}
	return ch, set&RowRemoved != 0, nil
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

// Sequence is the sequence of the latest change that a View shows.
func Sequence(v *View) (uint64, error) {
	row, err := v.Get(MetaBucket, StateKey)
	if err != nil {
		return 0, err
	}
	st, err := DecodeState(row)
	return st.Seq, err
}

var releasedKey = []byte("released") // in meta: when the file first held bytes of released records, microseconds 8

// NoteReleased notes that free pages of the file hold bytes of released records from now on.
func NoteReleased(o *Tx) error {
	since, err := ReleasedSince(o.View)
	if err == nil && (since == 0 || o.Tx.Rewriting()) { // a file that a rewrite is writing holds them too
		o.Put(MetaBucket, releasedKey, SeqKey(uint64(o.Stamp)))
	}
	return err
}

// ReleasedSince returns the time since which the file holds bytes of released records, in microseconds. It returns 0 if the file holds
// none, or if it was compacted since.
func ReleasedSince(v *View) (int64, error) {
	row, err := v.Get(MetaBucket, releasedKey)
	if err != nil || len(row) != 8 {
		return 0, err
	}
	since := int64(binary.BigEndian.Uint64(row))
	if compacted, err := CompactedAt(v); err != nil || since <= compacted {
		return 0, err
	}
	return since, nil
}
