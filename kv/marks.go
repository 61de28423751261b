package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"doorward/kv/engine"
	"doorward/kv/record"
)

// marks are what a store has that no backup of it takes back: the largest ids that it has ever used, by kind, and what was erased.
type marks struct {
	realm  string
	minted [engine.NumBuckets]int64
	erased []ledgerLine
}

// outdo has a file that takes a store's place give none of the ids which that has given since the file's backup was made, or since
// the same backup was restored before, and the ledger say what that knows to be erased. Of a store that is damaged, which may be why its
// place is taken, counts what can be read, with a Warn: restoring has left a gap between ids that is wide enough for one time.
func outdo(path, file string, now time.Time, log *slog.Logger) error {
	old, broken := readMarks(path, now)
	if errors.Is(broken, ErrInUse) {
		return broken
	}
	next, err := readMarks(file, now)
	if err != nil {
		return err
	}
	led, _, err := readLedger(filepath.Dir(path), next.realm, log)
	switch {
	case err != nil:
		return err
	case old.realm == "" && broken != nil:
		log.Warn("the store that is replaced cannot be read: which ids it has given, and whom it has erased, is not known", slog.Any("cause", broken))
		return nil
	case old.realm != next.realm:
		return nil
	case broken != nil:
		log.Warn("the store that is replaced is damaged: not all that it has erased is known", slog.Any("cause", broken))
	}
	if err := led.enter(old.erased); err != nil {
		return fmt.Errorf("write what was erased beside the store: %w", err)
	}
	for kind, mark := range old.minted {
		if next.minted[kind] < mark {
			return raiseMarks(file, old)
		}
	}
	return nil
}

// readMarks reads a file that no process has open, and that may be damaged: m is what could be read, its realm "" where nothing could.
// ErrInUse.
func readMarks(path string, now time.Time) (m marks, err error) {
	err = engine.Read(path, &schema, func(v *engine.View) error { return m.read(v, now) })
	return m, err
}

// read reads what is sound, and answers what is not. An erasure whose time a row does not tell is one of now.
func (m *marks) read(r *engine.View, now time.Time) (damage error) {
	if _, err := readFormat(r); err != nil {
		return err
	}
	s, err := readState(r)
	if err != nil {
		return err
	}
	realm, err := r.Get(metaBucket, realmKey)
	if err != nil {
		return err
	}
	m.realm, m.minted = string(realm), s.minted
	c := r.Cursor(erasedBucket)
	for at := c.Seek(nil); at.Key != nil; at = c.Next() {
		row, err := at.Value()
		var e *erased
		if err == nil {
			e, err = parseErased(row)
		}
		if err != nil || len(at.Key) != codeHashSize {
			damage = errors.Join(damage, orCorrupt(err))
			continue // the others are sound
		}
		if !e.kept {
			when := time.UnixMicro(e.done)
			if e.done <= nothingHeld {
				when = now
			}
			m.erased = append(m.erased, ledgerLine{kind: e.kind, hash: erasedHash(at.Key), at: when, firsts: e.firsts})
		}
	}
	return damage
}

// raiseMarks passes over the ids that another store has given. Whom it has leased some of them to, nobody knows any more (restore).
func raiseMarks(file string, other marks) error {
	return engine.Edit(file, &schema, func(w *engine.Tx) error {
		s, err := readState(&w.View)
		if err != nil {
			return err
		}
		centre, err := w.Get(metaBucket, centreKey)
		if err != nil {
			return err
		}
		for _, k := range record.Kinds() {
			if gap := other.minted[k.Number] - s.minted[k.Number]; gap > 0 {
				passOver(w, &s, k, gap, len(centre) == 0)
			}
		}
		w.Put(metaBucket, stateKey, s.encode())
		return nil
	})
}

// passOver moves a kind's mark on. At a root nobody knows to whom the ids between were leased: records that laptops have made of them
// are taken.
func passOver(w *engine.Tx, s *state, k *record.Kind, gap int64, root bool) {
	from := s.minted[k.Number] + 1
	s.minted[k.Number] += gap
	if LeaseSize(k) > 0 && root {
		w.Put(leaseBucket, leaseKey(leaseGiven, k, from), binary.AppendUvarint(seqKey(uint64(from+gap-1)), forgotten))
	}
}
