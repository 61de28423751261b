package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"doorward/kv/record"
)

// takeUpErasures finishes before anybody is served what was begun before a crash, and erases anew what a restored file holds still;
// then it waits for what peers tell of. What cannot be finished now is concealed until it is.
func (s *Store) takeUpErasures(c Config) error {
	s.erasures.close = func() {}
	if c.Aside {
		return nil
	}
	if !c.Restored { // the folder is one that the file is in for the moment
		s.erasures.dir = c.Dir
	}
	begun, err := s.begunErasures()
	if err != nil {
		return fmt.Errorf("find out what was to be erased: %w", err)
	}
	if c.ReadOnly {
		s.erasures.unfinished.Store(int64(len(begun.pending)))
		return nil // what cannot be erased is concealed
	}
	s.finishErasures(begun)
	ctx, cancel := context.WithCancel(context.Background())
	s.erasures.close = cancel
	s.erasures.running.Go(func() { s.followErasures(ctx) })
	return nil
}

// end ends what runs by itself.
func (e *erasures) end() {
	if e.close != nil {
		e.close()
	}
	e.running.Wait()
}

// How long after a failure what is unfinished is tried again: at first, and at most.
const (
	retrySoon = time.Minute
	retryLate = time.Hour
)

// followErasures carries out what peers tell of, and tries again what could not be finished, until writing has stopped for good.
func (s *Store) followErasures(ctx context.Context) {
	patience := retrySoon
	for done := s.recalls.told.Load(); s.engine.Stopped() == nil; {
		turn, cancel := ctx, context.CancelFunc(func() {})
		failed := s.ErasuresUnfinished() > 0
		if failed {
			turn, cancel = context.WithTimeout(ctx, patience)
		}
		_ = s.recalls.come.await(turn, func() bool { return s.recalls.told.Load() != done || !failed && s.ErasuresUnfinished() > 0 })
		cancel()
		switch {
		case ctx.Err() != nil:
			if s.recalls.told.Load() != done { // a command that has copied is not there any more to be asked
				s.eraseBegun()
			}
			return
		case !failed && s.recalls.told.Load() == done:
			continue // somebody's erasure has failed just now
		case failed:
			patience = min(2*patience, retryLate)
		}
		done = s.recalls.told.Load()
		if s.eraseBegun() {
			patience = retrySoon
		}
	}
}

// eraseBegun carries out what is to be erased, and tells whether nothing is left to do.
func (s *Store) eraseBegun() (finished bool) {
	begun, err := s.begunErasures()
	if err != nil {
		s.eraseFailed(1, err)
		return false
	}
	return s.finishErasures(begun)
}

// eraseFailed notes and tells that so many records are not erased.
func (s *Store) eraseFailed(n int, cause error) {
	s.erasures.unfinished.Store(int64(max(1, n)))
	s.recalls.come.ring()
	s.log.Error("an erasure could not be finished; it is tried again", slog.Any("cause", cause))
}

// applyErasure notes that a record is to be erased which a peer has told of, or which belongs to somebody who was erased. first is what
// the peer says are a ticket's first revisions without names; nil: it does not say. Where they are others than before, those are past and it
// is erased again.
func applyErasure(o *op, k *record.Kind, hash erasedHash, first revisions) {
	o.store.recalls.any.Store(true)
	row, err := o.Get(erasedBucket, hash[:])
	o.store.noteCorrupt(err)
	is, anew := newErased(k), row == nil
	if before, err := parseErased(row); row != nil && len(first) > 0 {
		anew = err != nil || !maps.EqualFunc(before.first, first, slices.Equal)
		if err == nil {
			is.firsts = before.firsts
		}
	}
	if anew {
		is.follow(first)
		o.put(erasedBucket, hash[:], is.encode())
	}
	o.after(func() {
		o.store.recalls.told.Add(1)
		o.store.recalls.come.ring()
	})
}

// eraseTicket has a ticket erased that an arrival gives to somebody who is erased. e is what was erased of it before, when somebody else
// had it; nil: nothing. Where the arrival was made since, the names that stand beside it were too.
func eraseTicket(o *op, a *arrival, e *erased) error {
	hash := o.store.hashErased(a.kind, a.id)
	if e != nil && (e.knows(a.kind, a.path, &a.tree) || e.knowsHalf(a.kind, a.path, &a.tree)) && !o.store.isLeaf() {
		if err := noteErased(o, ledgerLine{kind: record.Ticket, hash: hash, at: o.now}, 0, 0); err != nil {
			return err
		}
		e.retire()
		e.done, e.kept = 0, false
		o.put(erasedBucket, hash[:], e.encode())
	}
	applyErasure(o, record.Ticket, hash, nil)
	return nil
}

// eraseAnew notes of all erasures that they are still to be carried out: by another key they are about other records.
func eraseAnew(o *op) error {
	rows := map[erasedHash]*erased{}
	err := o.Scan(erasedBucket, nil, nil, func(key, row []byte) (bool, error) {
		e, err := parseErased(row)
		if err != nil || len(key) != codeHashSize {
			return false, orCorrupt(err)
		}
		rows[erasedHash(key)] = e
		return true, nil
	})
	for hash, e := range rows {
		e.done = 0
		o.put(erasedBucket, hash[:], e.encode())
	}
	return err
}

// newEraser is one that has nothing to do yet, and what the ledger says.
func (s *Store) newEraser() (*eraser, []ledgerLine, error) {
	led, lines, err := readLedger(s.erasures.dir, s.Realm(), s.log)
	return &eraser{store: s, ledger: led, all: map[*record.Kind][]record.ID{}}, lines, err
}

// begun are erasures that are to be finished.
type begun struct {
	*eraser
	pending, absent []ledgerLine // absent: of what is not here
	all             []ledgerLine // what the store knows of, finished or not
}

// begunErasures finds out what the ledger or the store says is erased and is not. From now on it is concealed.
func (s *Store) begunErasures() (b begun, err error) {
	s.erasures.mu.Lock()
	defer s.erasures.mu.Unlock()
	return s.concealBegun()
}

// concealBegun is begunErasures, with the lock held.
func (s *Store) concealBegun() (b begun, err error) {
	var lines []ledgerLine
	if b.eraser, lines, err = s.newEraser(); err != nil {
		return b, err
	}
	if b.pending, b.all, err = s.pendingErasures(b.ledger, lines); err != nil {
		return b, err
	}
	s.recalls.any.Store(len(b.all)+len(b.pending) > 0)
	if len(b.pending) == 0 {
		return b, nil
	}
	if b.absent, err = b.identify(b.pending); err != nil {
		return b, err
	}
	s.conceal(b.eraser)
	return b, nil
}

// errBegunSince is why more is left to do.
var errBegunSince = errors.New("another erasure has been begun meanwhile")

// finishErasures erases what was begun, and tells whether nothing is left to do.
func (s *Store) finishErasures(b begun) (finished bool) {
	s.erasures.mu.Lock()
	defer s.erasures.mu.Unlock()
	if err := b.complete(); err != nil {
		s.eraseFailed(len(b.pending), err)
		return false
	}
	left, err := s.concealBegun()
	if err == nil && len(left.pending) > 0 {
		err = errBegunSince
	}
	if err != nil {
		s.eraseFailed(len(left.pending), err)
		return false
	}
	s.erasures.unfinished.Store(0)
	s.recalls.concealed.Store(nil)
	return true
}

// complete erases what was begun.
func (b begun) complete() error {
	if err := b.enter(b.all); err != nil || len(b.pending) == 0 {
		return err
	}
	var steps []step
	for _, l := range b.pending {
		steps = append(steps, step{run: func(o *op) error { return noteErased(o, l, 0, 0) }})
	}
	if err := b.store.doEach(steps); err != nil {
		return err
	}
	if len(b.absent) < len(b.pending) {
		if err := b.run(); err != nil {
			return err
		}
	}
	return b.finish(b.absent)
}

// pendingErasures are those of the ledger that the store does not know, and those that it has not finished; all are the store's own.
func (s *Store) pendingErasures(led ledger, lines []ledgerLine) (pending, all []ledgerLine, err error) {
	seen := map[erasedHash]bool{}
	err = s.view(func(v *sight) error {
		// Of a damaged row the ledger knows what was erased.
		sound(v.View, erasedBucket, nil, func(key, row []byte) {
			e, err := parseErased(row)
			if err != nil || len(key) != codeHashSize {
				s.noteCorrupt(orCorrupt(err))
				return
			}
			if e.kept {
				return
			}
			l := ledgerLine{kind: e.kind, hash: erasedHash(key), at: s.clock()}
			more := !s.isLeaf() && e.learn(led.known[l.hash]) // a laptop is told by its centre
			l.firsts = e.firsts
			all, seen[l.hash] = append(all, l), true
			if e.done == 0 || more {
				pending = append(pending, l)
			}
		}, func(key []byte) { s.noteCorrupt(fmt.Errorf("%w: %s", ErrCorrupt, damagedRow(erasedBucket, key))) })
		return nil
	})
	for _, l := range slices.Backward(lines) { // the last says most
		if !seen[l.hash] {
			seen[l.hash] = true
			pending = append(pending, l)
		}
	}
	return pending, all, err
}
