package kv

import (
	"log/slog"
	"slices"

	"doorward/kv/record"
	"doorward/kv/scopes"
)

// A centre that was restored elsewhere than in its folder has no ledger, and knows nothing of erasures since its backup. Its laptops were
// told of each, and tell it again before they bring anything: else it would take the tombstone for a deletion as any other, which can be
// taken back, and give the person to whoever has erased it.

// KnownErasures are all that this store was told of, for a centre that was restored. A ticket of which it was not told the first revisions
// without names it has found itself; the centre will, where it is still the person's. *Forbidden.
func (s *Store) KnownErasures(p Principal) (all []Erasure, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	err = s.view(func(v *sight) error {
		return v.Scan(erasedBucket, nil, nil, func(key, row []byte) (bool, error) {
			e, err := parseErased(row)
			if err != nil || len(key) != codeHashSize {
				return false, orCorrupt(err)
			}
			foundHere := e.kind == record.Ticket && len(e.first) == 0
			if !e.kept && isErasable(e.kind) && !foundHere {
				all = append(all, Erasure{Kind: e.kind, Hash: erasedHash(key), First: e.first})
			}
			return true, nil
		})
	})
	return all, err
}

// isErasable tells the kinds whose records are erased.
func isErasable(k *record.Kind) bool {
	return k == record.Person || k == record.Membership || k == record.Ticket
}

// RecallErasures has this store, while it takes back what a backup did not have, erase what a laptop knows was erased: of what is not here,
// and of what is or was in the laptop's databases. Nobody is shown it from then on. It is carried out once the laptop has brought all that
// it has, or a minute later: of a ticket the backup may say that it is the erased person's still, and the laptop whose it is since. Then
// the erasures are this store's own, and others are told of them. *Forbidden, at any other time too; ErrNotFound for a key of another class.
func (s *Store) RecallErasures(p Principal, all []Erasure, brought bool) error {
	if p.IsRevoked() {
		return ErrRevoked
	}
	err := s.do(false, func(o *op) error {
		recovers, err := recovers(o)
		if err != nil || !recovers {
			err = refusedFor(err, "what was erased is told to a centre that was restored, and to no other")
		}
		return err
	})
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(l Erasure) bool { return l.Kind == nil || !isErasable(l.Kind) })
	ids, err := s.erasedIDs(all)
	if err != nil {
		return err
	}
	var told []Erasure
	err = s.view(func(v *sight) error {
		e, err := laptopOf(v, p)
		if err != nil {
			return err
		}
		names := exchanged(v, &e)
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
	if err := s.recall(told); err != nil || !brought {
		return err
	}
	s.eraseBegun() // what fails is logged, hidden, and tried again
	return nil
}

// recall notes what was told, if it was not erased here before.
func (s *Store) recall(told []Erasure) error {
	steps, fresh := make([]step, len(told)), make([]bool, len(told))
	for i, l := range told {
		steps[i].run = func(o *op) (err error) {
			fresh[i], err = recall(o, l)
			return err
		}
	}
	if err := s.doEach(steps); err != nil {
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
	s.log.Warn("a laptop knows of erasures that the restored store did not have; they are carried out again", slog.Int("records", n))
	begun, err := s.begunErasures()
	if err != nil {
		s.eraseFailed(n, err)
		return nil
	}
	s.erasures.unfinished.Store(int64(len(begun.pending)))
	s.recalls.come.ring()
	return nil
}

func recall(o *op, l Erasure) (fresh bool, err error) {
	row, err := o.Get(erasedBucket, l.Hash[:])
	if err != nil {
		return false, err
	}
	e := newErased(l.Kind)
	if row != nil {
		if e, err = parseErased(row); err != nil {
			return false, err
		}
	}
	more := e.learn(firsts{first: l.First})
	if row != nil && !more && !e.kept {
		return false, nil
	}
	e.done, e.kept = 0, false
	o.store.recalls.any.Store(true)
	o.put(erasedBucket, l.Hash[:], e.encode())
	return true, nil
}

// erasedIDs finds the records that some erasures are about; what is not here has none.
func (s *Store) erasedIDs(all []Erasure) (map[erasedHash]record.ID, error) {
	lines := make([]ledgerLine, len(all))
	for i, l := range all {
		lines[i] = ledgerLine{kind: l.Kind, hash: l.Hash}
	}
	e := &eraser{store: s, all: map[*record.Kind][]record.ID{}}
	if _, err := e.identify(lines); err != nil {
		return nil, err
	}
	ids := map[erasedHash]record.ID{}
	for k, found := range e.all {
		for _, id := range found {
			ids[s.hashErased(k, id)] = id
		}
	}
	return ids, nil
}

// concerns tells whether a record is or was in one of a laptop's databases, or in one of an event which it may hold still though it has
// none of those any more; and what is not here.
func concerns(v *sight, p Principal, names []Exchanged, k *record.Kind, id record.ID) (bool, error) {
	among := func(name string) bool {
		return slices.ContainsFunc(names, func(db Exchanged) bool { return db.Name == name })
	}
	if id.IsZero() || among(mirror) {
		return true, nil
	}
	st, err := v.loadAny(k, id)
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
		if had, err := hadEvent(v, p, s.ID); err != nil || had {
			return had, err
		}
	}
	return false, nil
}

// everIn are the scopes that a record is in, and those that it has left.
func everIn(v *sight, k *record.Kind, st *stored) (scopes []scopes.Scope, err error) {
	for _, s := range st.scopes {
		if s.Sort != 0 {
			scopes = append(scopes, s)
		}
	}
	of := treeKey(k, st.id)
	err = v.Scan(leftBucket, of, nil, func(key, _ []byte) (bool, error) {
		s, _, err := cutScope(key[len(of):])
		scopes = append(scopes, s)
		return err == nil, err
	})
	return scopes, err
}
