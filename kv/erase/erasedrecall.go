package erase

import (
	"log/slog"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/ledger"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// A centre that was restored elsewhere than in its folder has no ledger, and knows nothing of erasures since its backup. Its laptops were
// told of each, and tell it again before they bring anything: else it would take the tombstone for a deletion as any other, which can be
// taken back, and give the person to whoever has erased it.

// KnownErasures are all that this store was told of, for a centre that was restored. *Forbidden.
func (rg *Register) KnownErasures(p auth.Principal) (all []Erasure, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	err = rg.tables.View(func(v *table.View) error {
		return v.Scan(table.ErasedBucket, nil, nil, func(key, row []byte) (bool, error) {
			e, err := table.ParseErased(row)
			if err != nil || len(key) != ledger.CodeHashSize {
				return false, table.OrCorrupt(err)
			}
			if table.IsErasable(e.Kind) {
				all = append(all, Erasure{Kind: e.Kind, Hash: ledger.ErasedHash(key)})
			}
			return true, nil
		})
	})
	return all, err
}

// RecallErasures has this store, while it takes back what a backup did not have, erase what a laptop knows was erased: of what is not here,
// and of what is or was in the laptop's databases. Nobody is shown it from then on. It is carried out once the laptop has brought all that
// it has, or a minute later: of a ticket the backup may say that it is the erased person's still, and the laptop whose it is since. Then
// the erasures are this store's own, and others are told of them. *Forbidden, at any other time too; ErrNotFound for a key of another class.
func (rg *Register) RecallErasures(p auth.Principal, all []Erasure, brought bool) error {
	if p.IsRevoked() {
		return table.ErrRevoked
	}
	err := rg.tables.Do(false, func(o *table.Tx) error {
		recovers, err := table.Recovers(o)
		if err != nil || !recovers {
			err = table.RefusedFor(err, "what was erased is told to a centre that was restored, and to no other")
		}
		return err
	})
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(l Erasure) bool { return l.Kind == nil || !table.IsErasable(l.Kind) })
	ids, err := rg.erasedIDs(all)
	if err != nil {
		return err
	}
	var told []Erasure
	err = rg.tables.View(func(v *table.View) error {
		e, err := office.LaptopOf(v, p)
		if err != nil {
			return err
		}
		names := office.ExchangedOf(v, &e)
		for _, l := range all {
			if ok, err := concerns(v, p, names, l.Kind, ids[l.Hash]); err != nil {
				return err
			} else if ok {
				told = append(told, l)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := rg.recall(told); err != nil || !brought {
		return err
	}
	rg.EraseBegun() // what fails is logged, hidden, and tried again
	return nil
}

// recall notes what was told, if it was not erased here before.
func (rg *Register) recall(told []Erasure) error {
	steps, fresh := make([]table.Step, len(told)), make([]bool, len(told))
	for i, l := range told {
		steps[i].Run = func(o *table.Tx) (err error) {
			fresh[i], err = recall(o, l)
			return err
		}
	}
	if err := rg.tables.DoEach(steps); err != nil {
		return err
	}
	n := 0
	for _, is := range fresh {
		if is {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	rg.tables.Log.Warn("a laptop knows of erasures that the restored store did not have; they are carried out again", slog.Int("records", n))
	begun, err := rg.BegunErasures()
	if err != nil {
		rg.eraseFailed(n, err)
		return nil
	}
	rg.unfinished.Store(int64(len(begun.pending)))
	rg.tables.Recalls.Come.Ring()
	return nil
}

func recall(o *table.Tx, l Erasure) (fresh bool, err error) {
	row, err := o.Get(table.ErasedBucket, l.Hash[:])
	if err != nil || row != nil {
		return false, err
	}
	o.Store.Recalls.Any.Store(true)
	o.Put(table.ErasedBucket, l.Hash[:], (&table.Erased{Kind: l.Kind}).Encode())
	return true, nil
}

// erasedIDs finds the records that some erasures are about; what is not here has none.
func (rg *Register) erasedIDs(all []Erasure) (map[ledger.ErasedHash]record.ID, error) {
	lines := make([]ledger.LedgerLine, len(all))
	for i, l := range all {
		lines[i] = ledger.LedgerLine{Kind: l.Kind, Hash: l.Hash}
	}
	e := &eraser{store: rg, all: map[*record.Kind][]record.ID{}}
	if _, err := e.identify(lines); err != nil {
		return nil, err
	}
	ids := map[ledger.ErasedHash]record.ID{}
	for k, found := range e.all {
		for _, id := range found {
			ids[rg.tables.HashErased(k, id)] = id
		}
	}
	return ids, nil
}

// concerns tells whether a record is or was in one of a laptop's databases, or in one of an event which it may hold still though it has
// none of those any more; and what is not here.
func concerns(v *table.View, p auth.Principal, names []office.Exchanged, k *record.Kind, id record.ID) (bool, error) {
	among := func(name string) bool {
		return slices.ContainsFunc(names, func(db office.Exchanged) bool { return db.Name == name })
	}
	if id.IsZero() || among(table.Mirror) {
		return true, nil
	}
	st, err := v.LoadAny(k, id)
	if err != nil || st == nil {
		return st == nil, err
	}
	scopes, err := everIn(v, k, st)
	if err != nil {
		return false, err
	}
	for _, s := range scopes {
		if among(s.String()) {
			return true, nil
		}
		if !s.Sort.OfEvent() {
			continue
		}
		if had, err := office.HadEvent(v, p, s.ID); err != nil || had {
			return had, err
		}
	}
	return false, nil
}

// everIn are the scopes that a record is in, and those that it has left.
func everIn(v *table.View, k *record.Kind, st *table.Stored) (scopes []scopes.Scope, err error) {
	for _, s := range st.Scopes {
		if s.Sort != 0 {
			scopes = append(scopes, s)
		}
	}
	of := table.TreeKey(k, st.ID)
	err = v.Scan(table.LeftBucket, of, nil, func(key, _ []byte) (bool, error) {
		s, _, err := table.CutScope(key[len(of):])
		scopes = append(scopes, s)
		return err == nil, err
	})
	return scopes, err
}
