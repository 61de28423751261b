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

// marks are the facts that a restored backup must not take back: the largest id that the store has used of each kind, and its erasures.
type marks struct {
	realm  string
	minted [engine.NumBuckets]int64
	erased []ledger.LedgerLine
}

// CarryMarks makes a restored file continue after the store that it replaces: it gives no id that the replaced store has given, and
// the ledger gets the erasures of the replaced store. If the replaced store is damaged, CarryMarks uses what it can read and logs a
// Warn. The gap that a restore leaves between ids is wide enough for one restore.
func CarryMarks(path, file string, now time.Time, log *slog.Logger) error {
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

// readMarks reads the marks of a file that no process has open. The file may be damaged: m is what could be read, and its realm
// is "" if nothing could. It returns ErrInUse.
func readMarks(path string, now time.Time) (m marks, err error) {
	err = engine.Read(path, &table.Schema, func(v *engine.View) error { return m.read(v, now) })
	return m, err
}

// read reads every sound row, and returns the damage of the others. An erasure without a time counts as one of now.
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
			e, err = table.ParseErased(at.Key, row)
		}
		if err != nil {
			damage = errors.Join(damage, err)
			continue // the others are sound
		}
		when := time.UnixMicro(e.Done)
		if e.Done <= table.NothingHeld {
			when = now
		}
		m.erased = append(m.erased, ledger.LedgerLine{Kind: e.Kind, Hash: e.Hash, At: when})
	}
	return damage
}

// raiseMarks skips the ids that another store has given. It is not known which keys have leases on them.
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
