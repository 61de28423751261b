package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"doorward/kv/record"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// marks are what a store has that no backup of it takes back: the largest ids that it has ever used, by kind, and what was erased.
type marks struct {
	realm  string
	minted [numBuckets]int64
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

// readMarks reads a file that nobody has open, and that may be damaged: m is what could be read, its realm "" where nothing could.
// ErrInUse.
func readMarks(path string, now time.Time) (m marks, err error) {
	if err := guardFile(path, os.O_RDWR); err != nil {
		return m, err
	}
	f, err := os.Open(path)
	if err != nil {
		return m, err
	}
	defer func() { _ = f.Close() }() // closed already, unless the file made bbolt panic
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if found := recover(); found != nil {
			err = fmt.Errorf("%w: the structure of %s is broken: %v", ErrCorrupt, path, found)
		}
	}()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{
		ReadOnly: true, Timeout: time.Millisecond,
		OpenFile: func(string, int, os.FileMode) (*os.File, error) { return f, nil },
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return m, ErrInUse
	}
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.View(func(tx *bbolt.Tx) error { return m.read(tx, now) })
	return m, err
}

// read reads what is sound, and answers what is not. An erasure whose time a row does not tell is one of now.
func (m *marks) read(tx *bbolt.Tx, now time.Time) (damage error) {
	if _, err := readFormat(tx); err != nil {
		return err
	}
	r := rows{tx: tx, buckets: &bucketCache{}}
	s, err := readState(r)
	if err != nil {
		return err
	}
	realm, err := r.get(metaBucket, realmKey)
	if err != nil {
		return err
	}
	m.realm, m.minted = string(realm), s.minted
	b := tx.Bucket(bucketNames[erasedBucket])
	if b == nil {
		return nil // an earlier format
	}
	err = b.ForEach(func(key, sealed []byte) error {
		row, err := unseal(erasedBucket, key, sealed)
		var e *erased
		if err == nil {
			e, err = parseErased(row)
		}
		if err != nil || len(key) != codeHashSize {
			damage = errors.Join(damage, orCorrupt(err))
			return nil // the others are sound
		}
		if !e.kept {
			at := time.UnixMicro(e.done)
			if e.done <= nothingHeld {
				at = now
			}
			m.erased = append(m.erased, ledgerLine{kind: e.kind, hash: erasedHash(key), at: at, firsts: e.firsts})
		}
		return nil
	})
	return errors.Join(damage, err)
}

// raiseMarks passes over the ids that another store has given. Whom it has leased some of them to, nobody knows any more (restore).
func raiseMarks(file string, other marks) error {
	db, err := bbolt.Open(file, 0o600, boltOptions(sizeOf(file)))
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		r := rows{tx: tx, buckets: &bucketCache{}, over: &overlay{arena: &arena{}}}
		s, err := readState(r)
		if err != nil {
			return err
		}
		centre, err := r.get(metaBucket, centreKey)
		if err != nil {
			return err
		}
		for _, k := range record.Kinds() {
			if gap := other.minted[k.Number] - s.minted[k.Number]; gap > 0 {
				passOver(r, &s, k, gap, len(centre) == 0)
			}
		}
		r.put(metaBucket, stateKey, s.encode())
		return r.flush()
	})
	return errors.Join(err, db.Close())
}

// passOver moves a kind's mark on. At a root nobody knows to whom the ids between were leased: records that laptops have made of them
// are taken.
func passOver(r rows, s *state, k *record.Kind, gap int64, root bool) {
	from := s.minted[k.Number] + 1
	s.minted[k.Number] += gap
	if LeaseSize(k) > 0 && root {
		r.put(leaseBucket, leaseKey(leaseGiven, k, from), binary.AppendUvarint(seqKey(uint64(from+gap-1)), forgotten))
	}
}
