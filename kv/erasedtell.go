package kv

import (
	"cmp"
	"slices"

	"doorward/kv/record"
)

// Erasure tells that a record was erased. The keyed hash of its id tells nobody whom it is about who does not have the record.
type Erasure struct {
	Kind  *record.Kind
	Hash  [codeHashSize]byte
	First map[*record.Kind][]record.Revision // of a ticket's parts, without names: what does not stand on one may have some
	seq   uint64
}

// toldErasures is how many erasures a laptop is told of at once.
const toldErasures = 5000

// Erasures are those after a sequence that concern the laptop of a key, oldest first: of what is or was in one of its databases, and
// of what was never here, which a laptop may have all the same where this store was restored. The next are told of after upto.
// ErrNotFound for a key of another class.
func (s *Store) Erasures(p Principal, since uint64) (all []Erasure, upto uint64, err error) {
	err = s.view(func(v *sight) error {
		if _, err := v.venueOf(p); err != nil {
			return err
		}
		if all, err = v.erasuresAfter(since); err == nil {
			all, err = v.doneFirst(all)
		}
		return err
	})
	if err != nil || len(all) == 0 {
		return nil, since, err
	}
	all = all[:min(len(all), toldErasures)]
	upto = all[len(all)-1].seq
	ids, err := s.erasedIDs(all)
	if err != nil {
		return nil, since, err
	}
	err = s.view(func(v *sight) error {
		e, err := v.venueOf(p)
		if err != nil {
			return err
		}
		names := v.exchanged(&e)
		all = slices.DeleteFunc(all, func(l Erasure) bool {
			ok, failed := v.concerns(p, names, l.Kind, ids[l.Hash])
			err = orErr(err, failed)
			return !ok
		})
		for i := 0; i < len(all) && err == nil; i++ {
			all[i].First, err = v.firstNameless(all[i].Hash)
		}
		return err
	})
	return all, upto, err
}

// firstNameless are the first revisions without names of an erased ticket.
func (v *sight) firstNameless(hash erasedHash) (map[*record.Kind][]record.Revision, error) {
	row, err := v.get(erasedBucket, hash[:])
	if err != nil || row == nil {
		return nil, err
	}
	e, err := parseErased(row)
	if err != nil {
		return nil, err
	}
	return e.first, nil
}

// doneFirst leaves out what comes from the first ticket on that is not erased yet: it has no first revisions without names to tell of.
func (v *sight) doneFirst(all []Erasure) ([]Erasure, error) {
	for i := range all {
		if all[i].Kind != record.Ticket {
			continue
		}
		row, err := v.get(erasedBucket, all[i].Hash[:])
		if err != nil {
			return nil, err
		}
		if row == nil {
			continue
		}
		if e, err := parseErased(row); err != nil || e.done == 0 {
			return all[:i], err
		}
	}
	return all, nil
}

// erasuresAfter are all that were noted after a sequence, oldest first.
func (v *sight) erasuresAfter(since uint64) (all []Erasure, err error) {
	for _, id := range v.idsOf(record.Erasure) {
		st, err := v.load(record.Erasure, id)
		if err != nil {
			return nil, err
		}
		if st == nil || st.seq <= since {
			continue
		}
		d, err := st.decode(record.Erasure)
		if err != nil {
			return nil, err
		}
		if k, known := record.ByName(d.Text("kind")); known {
			all = append(all, Erasure{Kind: k, Hash: erasedHash(id.ULID()), seq: st.seq})
		}
	}
	slices.SortFunc(all, func(a, b Erasure) int { return cmp.Compare(a.seq, b.seq) })
	return all, nil
}

// erasedIDs finds the records that some erasures are about; the zero id is one that is not here.
func (s *Store) erasedIDs(all []Erasure) (map[erasedHash]record.ID, error) {
	s.erasures.idsMu.Lock()
	defer s.erasures.idsMu.Unlock()
	var unknown []ledgerLine
	for _, l := range all {
		if _, known := s.erasures.ids[l.Hash]; !known {
			unknown = append(unknown, ledgerLine{kind: l.Kind, hash: l.Hash})
		}
	}
	ids := map[erasedHash]record.ID{}
	if len(unknown) > 0 {
		e := &eraser{store: s, all: map[*record.Kind][]record.ID{}}
		if _, err := e.identify(unknown); err != nil {
			return nil, err
		}
		if s.erasures.ids == nil {
			s.erasures.ids = map[erasedHash]record.ID{}
		}
		for k, found := range e.all {
			for _, id := range found {
				s.erasures.ids[s.hashErased(k, id)] = id
			}
		}
	}
	for _, l := range all {
		ids[l.Hash] = s.erasures.ids[l.Hash]
		s.erasures.ids[l.Hash] = ids[l.Hash] // what is not here is not looked for again
	}
	return ids, nil
}

// concerns tells whether a record is, was, or may have been in one of some databases, or in one of an event which the laptop may hold
// still though it has none of those any more.
func (v *sight) concerns(p Principal, names []Exchanged, k *record.Kind, id record.ID) (bool, error) {
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
	scopes, err := v.everIn(k, st)
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
		if had, err := v.hadEvent(p, s.ID); err != nil || had {
			return had, err
		}
	}
	return false, nil
}

// everIn are the scopes that a record is in, and those that it has left.
func (v *sight) everIn(k *record.Kind, st *stored) (scopes []record.Scope, err error) {
	for _, s := range st.scopes {
		if s.Sort != 0 {
			scopes = append(scopes, s)
		}
	}
	of := treeKey(k, st.id)
	err = v.scan(leftBucket, of, nil, func(key, _ []byte) (bool, error) {
		s, _, err := cutScope(key[len(of):])
		scopes = append(scopes, s)
		return err == nil, err
	})
	return scopes, err
}

// TakeErasures erases what a laptop's centre has told of (Erasures), before the laptop brings anything of it. What cannot be finished now
// is tried again by itself. *Forbidden.
func (s *Store) TakeErasures(p Principal, all []Erasure) error {
	if err := p.CheckWhole(); err != nil {
		return err
	}
	var steps []step
	for _, l := range all {
		if l.Kind == record.Person || l.Kind == record.Membership || l.Kind == record.Ticket {
			steps = append(steps, step{run: func(o *op) error {
				o.applyErasure(l.Kind, l.Hash, l.First)
				return nil
			}})
		}
	}
	if err := s.doEach(steps); err != nil || len(steps) == 0 {
		return err
	}
	s.eraseBegun() // what fails is logged, hidden, and tried again
	return nil
}
