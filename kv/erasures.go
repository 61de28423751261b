package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"doorward/kv/record"
)

// takeUpErasures finishes before anybody is served what was begun before a crash, and erases anew what a restored file holds still;
// then it waits for what peers tell of.
func (s *Store) takeUpErasures(c Config) error {
	s.erasures.close = func() {}
	if c.Aside {
		return nil
	}
	if !c.Restored { // the folder is one that the file is in for the moment
		s.erasures.dir = c.Dir
	}
	if err := s.finishErasures(); err != nil {
		return fmt.Errorf("finish what was to be erased: %w", err)
	}
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

// followErasures carries out what peers tell of.
func (s *Store) followErasures(ctx context.Context) {
	for done := s.erasures.told.Load(); ; {
		if s.erasures.come.await(ctx, func() bool { return s.erasures.told.Load() != done }) != nil {
			return
		}
		done = s.erasures.told.Load()
		if err := s.finishErasures(); err != nil && !errors.Is(err, ErrStopped) {
			s.log.Error("an erasure could not be finished; it is tried again with the next start", slog.Any("cause", err))
		}
	}
}

// applyErasure notes that a record is to be erased which a peer has told of, or which belongs to somebody who was erased.
func (o *op) applyErasure(k *record.Kind, hash erasedHash) {
	o.store.erasures.any.Store(true)
	row, err := o.get(erasedBucket, hash[:])
	o.store.noteCorrupt(err)
	if row == nil {
		o.put(erasedBucket, hash[:], (&erased{kind: k}).encode())
	}
	o.after = append(o.after, func() {
		o.store.erasures.told.Add(1)
		o.store.erasures.come.ring()
	})
}

// newEraser is one that has nothing to do yet, and what the ledger says.
func (s *Store) newEraser() (*eraser, []ledgerLine, error) {
	e := &eraser{store: s, dir: s.erasures.dir, known: map[erasedHash]bool{}, all: map[*record.Kind][]record.ID{}}
	if e.dir == "" {
		return e, nil, nil
	}
	lines, err := s.readLedger(e.dir)
	for _, l := range lines {
		e.known[l.hash] = true
	}
	return e, lines, err
}

// finishErasures erases whatever the ledger or the store says is erased and is not.
func (s *Store) finishErasures() error {
	s.erasures.mu.Lock()
	defer s.erasures.mu.Unlock()
	e, lines, err := s.newEraser()
	if err != nil {
		return err
	}
	pending, all, err := s.pendingErasures(lines)
	if err != nil {
		return err
	}
	s.erasures.any.Store(len(all)+len(pending) > 0)
	if err := e.enter(all); err != nil || len(pending) == 0 {
		return err
	}
	absent, err := e.identify(pending)
	if err != nil {
		return err
	}
	var steps []step
	for _, l := range pending {
		steps = append(steps, step{run: func(o *op) error { return o.noteErased(l, 0, false) }})
	}
	if err := e.do(steps); err != nil {
		return err
	}
	if len(absent) < len(pending) {
		err = e.run()
	}
	return errorsOr(err, func() error { return e.finish(absent) })
}

// pendingErasures are those of the ledger that the store does not know, and those that it has not finished; all are the store's own.
func (s *Store) pendingErasures(lines []ledgerLine) (pending, all []ledgerLine, err error) {
	seen := map[erasedHash]bool{}
	err = s.view(func(v *sight) error {
		return v.scan(erasedBucket, nil, nil, func(key, row []byte) (bool, error) {
			e, err := parseErased(row)
			if err != nil || len(key) != codeHashSize {
				return false, orCorrupt(err)
			}
			l := ledgerLine{e.kind, erasedHash(key), s.clock()}
			all, seen[l.hash] = append(all, l), true
			if e.done == 0 {
				pending = append(pending, l)
			}
			return true, nil
		})
	})
	for _, l := range lines {
		if !seen[l.hash] {
			seen[l.hash] = true
			pending = append(pending, l)
		}
	}
	return pending, all, err
}

// identify finds the records that are to be erased by their hashes, and answers the hashes of those that are not here.
func (e *eraser) identify(pending []ledgerLine) (absent []ledgerLine, err error) {
	wanted := map[erasedHash]bool{}
	kinds := map[*record.Kind]bool{}
	for _, l := range pending {
		wanted[l.hash], kinds[l.kind] = true, true
	}
	for k := range kinds {
		err := e.walk(kindBucket(k), nil, func(_ *sight, key, _ []byte) error {
			id, ok := k.KeyID(key)
			if hash := e.store.hashErased(k, id); ok && wanted[hash] {
				e.all[k] = append(e.all[k], id)
				delete(wanted, hash)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, l := range pending {
		if wanted[l.hash] {
			absent = append(absent, l)
		}
	}
	return absent, nil
}
