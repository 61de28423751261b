package merge

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"doorward/kv/disk"
	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/table"
)

// marks are what a store has that no backup of it takes back: the largest ids that it has ever used, by kind, and what was erased.
type marks struct {
	realm  string
	minted [engine.NumBuckets]int64
	erased []ledger.LedgerLine
}

// Outdo has a file that takes a store's place give none of the ids which that has given since the file's backup was made, or since
// the same backup was restored before, and the ledger say what that knows to be erased. Of a store that is damaged, which may be why its
// place is taken, counts what can be read, with a Warn: restoring has left a gap between ids that is wide enough for one time.
func Outdo(path, file string, now time.Time, log *slog.Logger) error {
	old, broken := readMarks(path, now)
	if errors.Is(broken, disk.ErrInUse) {
		return broken
	}
	next, err := readMarks(file, now)
	if err != nil {
		return err
	}
	led, _, err := ledger.ReadLedger(filepath.Dir(path), next.realm, log)
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
	if err := led.Enter(old.erased); err != nil {
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
	err = engine.Read(path, &table.Schema, func(v *engine.View) error { return m.read(v, now) })
	return m, err
}

// read reads what is sound, and answers what is not. An erasure whose time a row does not tell is one of now.
func (m *marks) read(r *engine.View, now time.Time) (damage error) {
	if _, err := table.ReadFormat(r); err != nil {
		return err
	}
	s, err := table.ReadState(r)
	if err != nil {
		return err
	}
	realm, err := r.Get(table.MetaBucket, table.RealmKey)
	if err != nil {
		return err
	}
	m.realm, m.minted = string(realm), s.Minted
	c := r.Cursor(table.ErasedBucket)
	for at := c.Seek(nil); at.Key != nil; at = c.Next() {
		row, err := at.Value()
		var e *table.Erased
		if err == nil {
			e, err = table.ParseErased(row)
		}
		if err != nil || len(at.Key) != ledger.CodeHashSize {
			damage = errors.Join(damage, table.OrCorrupt(err))
			continue // the others are sound
		}
		when := time.UnixMicro(e.Done)
		if e.Done <= table.NothingHeld {
			when = now
		}
		m.erased = append(m.erased, ledger.LedgerLine{Kind: e.Kind, Hash: ledger.ErasedHash(at.Key), At: when})
	}
	return damage
}

// raiseMarks passes over the ids that another store has given. Whom it has leased some of them to, nobody knows any more (restore).
func raiseMarks(file string, other marks) error {
	return engine.Edit(file, &table.Schema, func(w *engine.Tx) error {
		s, err := table.ReadState(&w.View)
		if err != nil {
			return err
		}
		centre, err := w.Get(table.MetaBucket, table.CentreKey)
		if err != nil {
			return err
		}
		for _, k := range record.Kinds() {
			if gap := other.minted[k.Number] - s.Minted[k.Number]; gap > 0 {
				table.PassOver(w, &s, k, gap, len(centre) == 0)
			}
		}
		w.Put(table.MetaBucket, table.StateKey, s.Encode())
		return nil
	})
}
