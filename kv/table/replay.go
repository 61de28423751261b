package table

import (
	"context"
	"sync/atomic"
)

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

// Await waits until a condition holds. It listens before it looks: what happens between the two rings.
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
