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
// the same backup was restored before, and the ledger say what that knows to be erased. A store that cannot be read, which may be why its
// place is taken, is passed over with a Warn: restoring has left a gap that is wide enough for one time.
func outdo(path, file string, log *slog.Logger) error {
	old, broken := readMarks(path)
	if errors.Is(broken, ErrInUse) {
		return broken
	}
	next, err := readMarks(file)
	if err != nil {
		return err
	}
	led, _, err := readLedger(filepath.Dir(path), next.realm, log)
	switch {
	case err != nil:
		return err
	case broken != nil:
		log.Warn("the store that is replaced cannot be read: which ids it has given is not known", slog.Any("cause", broken))
		return nil
	case old.realm != next.realm:
		return nil
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

// readMarks reads a file that nobody has open, and that may be damaged: ErrInUse.
func readMarks(path string) (m marks, err error) {
	if err := guardFile(path); err != nil {
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
	err = db.View(m.read)
	return m, err
}

func (m *marks) read(tx *bbolt.Tx) error {
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
	return r.scan(erasedBucket, nil, nil, func(key, row []byte) (bool, error) {
		e, err := parseErased(row)
		if err != nil || len(key) != codeHashSize {
			return false, orCorrupt(err)
		}
		if !e.kept {
			m.erased = append(m.erased, ledgerLine{kind: e.kind, hash: erasedHash(key), at: time.UnixMicro(e.done), first: e.first})
		}
		return true, nil
	})
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
				r.passOver(&s, k, gap, len(centre) == 0)
			}
		}
		r.put(metaBucket, stateKey, s.encode())
		return r.flush()
	})
	return errors.Join(err, db.Close())
}

// passOver moves a kind's mark on. At a root nobody knows to whom the ids between were leased: records that laptops have made of them
// are taken.
func (r rows) passOver(s *state, k *record.Kind, gap int64, root bool) {
	from := s.minted[k.Number] + 1
	s.minted[k.Number] += gap
	if LeaseSize(k) > 0 && root {
		r.put(leaseBucket, leaseKey(leaseGiven, k, from), binary.AppendUvarint(seqKey(uint64(from+gap-1)), forgotten))
	}
}
