package erase

import (
	"cmp"
	"log/slog"
	"slices"

	"doorward/kv/auth"
	"doorward/kv/ledger"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// Recall is how stores tell each other of erasures.
//
//	centre → laptop   List, then Carry    at every exchange, before the laptop brings anything
//	laptop → centre   Known, then Restore while the centre takes back what its backup did not have
//
// A centre that was restored into another folder has no ledger, and does not know of the erasures since its backup. Its laptops
// were told of each. They tell it before they bring anything. Otherwise the centre would take a tombstone for an ordinary deletion,
// which can be taken back, and would give the person back to the laptops.
type Recall struct{ register *Register }

// Erasure tells that a record was erased. Hash is the keyed hash of the record's id, so only a store that has the record learns
// which one it is. Of a holding it is the ULID.
type Erasure struct {
	Kind *record.Kind
	Hash [ledger.CodeHashSize]byte
	seq  uint64
}

// maxTold is how many erasures a laptop is told of at once.
const maxTold = 5000

// List returns the erasures after a sequence, oldest first. The next call continues after upto. A laptop is told of every erasure:
// only the laptop knows what it holds, because it may have been given more in the past, or by another way. List returns
// ErrNotFound for a key of another class.
func (rc *Recall) List(p auth.Principal, since uint64) (all []Erasure, upto uint64, err error) {
	upto = since
	err = rc.register.tables.View(func(v *table.View) error {
		if _, err := office.LaptopOf(v, p); err != nil {
			return err
		}
		if all, err = erasuresAfter(v, since); len(all) > 0 {
			all = all[:min(len(all), maxTold)]
			upto = all[len(all)-1].seq
		}
		return err
	})
	return all, upto, err
}

// erasuresAfter lists the erasures that were noted after a sequence, oldest first.
func erasuresAfter(v *table.View, since uint64) (all []Erasure, err error) {
	err = v.EachLive(record.Erasure, table.IDsOf(v, record.Erasure), func(st *table.Stored) error {
		if st.Seq <= since {
			return nil
		}
		d, err := st.Decode(record.Erasure)
		if err != nil {
			return err
		}
		if k, known := record.ByName(d.Text("kind")); known {
			all = append(all, Erasure{Kind: k, Hash: ledger.ErasedHash(st.ID.ULID()), seq: st.Seq})
		}
		return nil
	})
	slices.SortFunc(all, func(a, b Erasure) int { return cmp.Compare(a.seq, b.seq) })
	return all, err
}

// Carry erases what the centre has told this laptop of (List), before the laptop brings anything of it. An erasure that fails is
// logged, and tried again later. Carry returns *Forbidden.
func (rc *Recall) Carry(p auth.Principal, all []Erasure) error {
	if err := p.CheckWhole(); err != nil {
		return err
	}
	all = erasable(all)
	err := table.DoEach(rc.register.tables, all, func(o *table.Tx, l Erasure) error {
		merge.QueueErasure(o, l.Kind, l.Hash)
		return nil
	})
	if err != nil || len(all) == 0 {
		return err
	}
	rc.register.ErasePending() // it logs a failure, redacts the person, and tries again
	return nil
}

// Known returns every erasure that this store was told of, for a centre that was restored. It returns *Forbidden.
func (rc *Recall) Known(p auth.Principal) (all []Erasure, err error) {
	if err := p.CheckWhole(); err != nil {
		return nil, err
	}
	err = rc.register.tables.View(func(v *table.View) error {
		return v.Scan(table.ErasedBucket, nil, nil, func(key, row []byte) (bool, error) {
			e, err := table.ParseErased(key, row)
			if err == nil && table.IsErasable(e.Kind) {
				all = append(all, Erasure{Kind: e.Kind, Hash: e.Hash})
			}
			return true, err
		})
	})
	return all, err
}

// Restore has a restored centre erase what a laptop knows was erased: records that are not here, and records that are or were in
// the laptop's databases. Replies show nothing of them from then on. The erasure is carried out once the laptop has brought all that it
// has, or a minute later: the backup may say that a ticket is still the erased person's, and the laptop knows the next holder.
// Then the erasures are this store's own, and other laptops are told of them. Restore returns *Forbidden, also while the store
// does not recover from a backup, and ErrNotFound for a key of another class.
func (rc *Recall) Restore(p auth.Principal, all []Erasure, brought bool) error {
	if p.IsRevoked() {
		return table.ErrRevoked
	}
	err := rc.register.tables.Do(func(o *table.Tx) error {
		recovers, err := table.Recovers(o)
		if err != nil || !recovers {
			err = cmp.Or(err, table.Refused("what was erased is told to a centre that was restored, and to no other"))
		}
		return err
	})
	if err != nil {
		return err
	}
	told, err := rc.mayTell(p, all)
	if err != nil {
		return err
	}
	if err := rc.note(told); err != nil || !brought {
		return err
	}
	rc.register.ErasePending() // it logs a failure, redacts the person, and tries again
	return nil
}

// erasable returns the erasures of kinds that can be erased.
func erasable(all []Erasure) []Erasure {
	return slices.DeleteFunc(slices.Clone(all), func(l Erasure) bool { return l.Kind == nil || !table.IsErasable(l.Kind) })
}

// mayTell picks the erasures that the laptop of a key may tell of.
func (rc *Recall) mayTell(p auth.Principal, all []Erasure) (told []Erasure, err error) {
	all = erasable(all)
	ids, err := rc.identify(all)
	if err != nil {
		return nil, err
	}
	err = rc.register.tables.View(func(v *table.View) error {
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
	return told, err
}

// identify finds the records that some erasures are about. A record that is not here has no entry.
func (rc *Recall) identify(all []Erasure) (map[ledger.ErasedHash]record.ID, error) {
	lines := make([]ledger.LedgerLine, len(all))
	for i, l := range all {
		lines[i] = ledger.LedgerLine{Kind: l.Kind, Hash: l.Hash}
	}
	e := &eraser{register: rc.register, all: map[*record.Kind][]record.ID{}}
	if _, err := e.identify(lines); err != nil {
		return nil, err
	}
	ids := map[ledger.ErasedHash]record.ID{}
	for k, found := range e.all {
		for _, id := range found {
			ids[rc.register.tables.Identity.HashErased(k, id)] = id
		}
	}
	return ids, nil
}

// note stores the erasures that a laptop told and that this store did not know.
func (rc *Recall) note(told []Erasure) error {
	tables := rc.register.tables
	isNew := map[ledger.ErasedHash]bool{}
	err := table.DoEach(tables, told, func(o *table.Tx, l Erasure) error {
		added, err := noteTold(o, l)
		if added {
			isNew[l.Hash] = true
		}
		return err
	})
	if err != nil || len(isNew) == 0 {
		return err
	}
	tables.Log.Warn("a laptop knows of erasures that the restored store did not have; they are carried out again", slog.Int("records", len(isNew)))
	rc.register.redactTold(len(isNew))
	return nil
}

// noteTold stores one erasure that a laptop told. isNew is false if the store knows it already.
func noteTold(o *table.Tx, l Erasure) (isNew bool, err error) {
	row, err := o.Get(table.ErasedBucket, l.Hash[:])
	if err != nil || row != nil {
		return false, err
	}
	o.Store.Recalls.Any.Store(true)
	o.Put(table.ErasedBucket, l.Hash[:], (&table.Erased{Kind: l.Kind}).Encode())
	return true, nil
}

// concerns tells whether a laptop may tell that a record was erased. It may for a record that is not here, a record that is or was in one of
// the laptop's databases, and a record of an event that the laptop may still hold.
func concerns(v *table.View, p auth.Principal, names []office.Exchanged, k *record.Kind, id record.ID) (bool, error) {
	among := func(name string) bool {
		return slices.ContainsFunc(names, func(db office.Exchanged) bool { return db.Name == name })
	}
	if among(table.Mirror) {
		return true, nil
	}
	st, err := v.LoadAny(k, id)
	if err != nil || st == nil {
		return st == nil, err
	}
	scopes, err := allScopes(v, k, st)
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

// allScopes lists the scopes that a record is in, and those that it has left.
func allScopes(v *table.View, k *record.Kind, st *table.Stored) (scopes []scopes.Scope, err error) {
	for _, s := range st.Scopes {
		if s.Sort != 0 {
			scopes = append(scopes, s)
		}
	}
	left, err := table.LeftScopes(v, k, st.ID)
	return append(scopes, left...), err
}
