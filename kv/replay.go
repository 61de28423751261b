package kv

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"doorward/kv/record"
)

// Replayed is a change with what it made.
type Replayed struct {
	Change
	Home int64       // the church or event that the record belongs to; 0 = none, or deleted
	Body record.Body // on memory of its own; empty where the record is deleted or fails its checksum
}

// replayPage is how many rows of the log one View reads.
const replayPage = 1000

// Replay reads at most limit rows of the log after a sequence, oldest first, for a follower of the log. page has the rows of
// the given kinds. upto is how far Replay has read: the last row or, at the log's end, the store's own sequence, because a new
// epoch begins without a change. It is for denomination level.
func (s *Store) Replay(p Principal, since uint64, limit int, kinds ...*record.Kind) (page []Replayed, upto uint64, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, since, err
	}
	upto = since
	for limit > 0 {
		n := min(limit, replayPage)
		seen := 0
		err = s.view(func(v *sight) (err error) {
			page, seen, upto, err = appendReplay(v, page, upto, n, kinds)
			if err != nil || seen == n {
				return err
			}
			end, err := sequence(v)
			upto = max(upto, end)
			return err
		})
		if err != nil || seen < n {
			return page, upto, err
		}
		limit -= n
	}
	return page, upto, nil
}

// replay appends what up to n rows of the log after since say of some kinds.
func appendReplay(v *sight, page []Replayed, since uint64, n int, kinds []*record.Kind) (_ []Replayed, seen int, upto uint64, err error) {
	upto = since
	err = v.Scan(logBucket, nil, seqKey(since+1), func(key, row []byte) (bool, error) {
		c, err := parseLog(key, row)
		if err != nil {
			return false, err
		}
		if slices.Contains(kinds, c.Kind) {
			r, err := replayed(v, c)
			if err != nil {
				return false, err
			}
			page = append(page, r)
		}
		seen, upto = seen+1, c.Seq
		return seen < n, nil
	})
	return page, seen, upto, err
}

// replayed loads the record that a change made. It leaves out the body of a record that fails its checksum, so a follower
// continues without it.
func replayed(v *sight, c Change) (Replayed, error) {
	r := Replayed{Change: c}
	if c.Deleted {
		return r, nil
	}
	st, err := v.load(c.Kind, c.ID)
	if errors.Is(err, ErrCorrupt) {
		v.store.noteCorrupt(err)
		return r, nil
	}
	if err != nil || st == nil {
		return r, err
	}
	r.Home = st.home(c.Kind)
	cut := len(st.body.Shown)
	run := append(append(make([]byte, 0, cut+len(st.body.Hidden)), st.body.Shown...), st.body.Hidden...)
	r.Body = record.Body{Shown: run[:cut:cut], Hidden: run[cut:]}
	return r, nil
}

// Await returns nil once the log holds a change after a sequence, or the store has released something since Releases answered a number; the
// error of ctx when that ends first.
func (s *Store) Await(ctx context.Context, seq, releases uint64) error {
	return s.bell.await(ctx, func() bool { return s.Seq() > seq || s.Releases() != releases })
}

// bell wakes the callers that wait for the log to grow. Ringing it costs one load if none waits.
type bell struct{ rope atomic.Pointer[chan struct{}] }

// ring wakes all callers that wait. The change is visible before the bell rings.
func (b *bell) ring() {
	if b.rope.Load() == nil {
		return
	}
	if rope := b.rope.Swap(nil); rope != nil {
		close(*rope)
	}
}

// hear returns a channel that the next ring closes.
func (b *bell) hear() <-chan struct{} {
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

// await waits until a condition holds. It listens before it looks: what happens between the two rings.
func (b *bell) await(ctx context.Context, holds func() bool) error {
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
