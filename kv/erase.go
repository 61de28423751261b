package kv

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"doorward/kv/record"
	"doorward/kv/value"
)

// Erased tells what an erasure has taken away.
type Erased struct {
	Tickets     int // whose names and contacts are gone; they stay valid
	Memberships int
	Conflicts   int
	Refusals    int
	Answers     int // kept for an Idempotency-Key
}

// eraser erases records and everything that tells of them: the declared list of sync.md §5.
//
//	person, membership        an empty tombstone on every leaf; no body of any revision stays
//	ticket, names, holder     Personal fields are empty from a new revision on; no body of an earlier one stays
//	conflict, refusal         as a person, where it is about one of these or names the person
//	kept answers              deleted, where they show one of these
//
// Nothing else is on the list. People are never merged (twin.go), so nobody else is the person; a ticket or a membership that was
// merged is found by its kept bodies. Facts are written once and never changed, or replicas would disagree: they name nobody but by
// the ticket, and the reason of an undo is the door's own words. A ticket's order and type are a household's mark and a sort of
// ticket, opaque by their meaning. Documents of free databases are not records; the command names those databases.
//
// Of records, lookups go with the body that they were made of, and the search index follows the log. Each step is an operation of
// bounded size; after a crash all of it is done again.
type eraser struct {
	store *Store
	ledger
	key   int64
	all   map[*record.Kind][]record.ID // what is erased: persons, memberships, tickets
	past  []record.ID                  // tickets that another holder has now: what they were goes, and what is left of that
	left  []record.ID                  // those of which something was left
	found Erased
}

// ErrErasureNoted is why an erasure that has failed need not be asked for again.
var ErrErasureNoted = errors.New("the erasure is noted and carried out as soon as it can be, and nobody is shown the person until then")

// Erasable is a person whom an erasure means.
type Erasable struct {
	Name     string    // "" = nobody has it any more
	ErasedAt time.Time // zero = never
}

// ToErase tells whom an erasure would mean. *Forbidden, ErrNotFound for who was never there.
func (s *Store) ToErase(p Principal, person record.ID) (who Erasable, err error) {
	if err := p.CheckRule(); err != nil {
		return who, err
	}
	err = s.view(func(v *sight) error {
		st, err := v.loadAny(record.Person, person)
		if err != nil {
			return err
		}
		if st == nil {
			return ErrNotFound
		}
		row, err := findErased(v, record.Person, person)
		if err != nil {
			return err
		}
		if row != nil && row.done > 0 {
			who.ErasedAt = time.UnixMicro(row.done)
		} else if row == nil && !st.deleted {
			var d *record.Doc
			if d, err = st.decode(record.Person); err == nil {
				who.Name = d.Text("full_name")
			}
		}
		return err
	})
	return who, err
}

// Erase erases a person for good: it cannot come back by a replica, an import or a backup. *Forbidden, ErrNotFound for who was never
// there. Erasing again finds what has come since. What could only be noted, as on a full disk, is ErrErasureNoted besides its cause.
func (s *Store) Erase(p Principal, k *record.Kind, id record.ID) (Erased, error) {
	if err := p.CheckRule(); err != nil {
		return Erased{}, err
	}
	if k != record.Person {
		return Erased{}, ErrNotFound
	}
	err := s.view(func(v *sight) error {
		st, err := v.loadAny(k, id)
		if err == nil && st == nil {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return Erased{}, err
	}
	if s.isLeaf() {
		return Erased{}, &Conflict{Reason: "people are erased at the centre, which tells all others"}
	}
	found, err := s.erase(p, id)
	if err == nil {
		if s.ErasuresUnfinished() > 0 { // what hindered it may be gone
			s.recalls.told.Add(1)
			s.recalls.come.ring()
		}
		return found, nil
	}
	begun, failed := s.begunErasures()
	if failed != nil || len(begun.pending) > 0 {
		s.eraseFailed(len(begun.pending), errorsOr(failed, func() error { return err }))
	}
	if hash := s.hashErased(k, id); slices.ContainsFunc(begun.pending, func(l ledgerLine) bool { return l.hash == hash }) {
		return found, fmt.Errorf("%w: %w", ErrErasureNoted, err)
	}
	return found, fmt.Errorf("erase: %w", err)
}

func (s *Store) erase(p Principal, person record.ID) (Erased, error) {
	s.erasures.mu.Lock()
	defer s.erasures.mu.Unlock()
	e, _, err := s.newEraser()
	if err == nil {
		e.key = p.Key()
		err = e.begin(record.Person, []record.ID{person})
	}
	if err == nil {
		err = e.run()
	}
	if err == nil {
		err = e.finish(nil)
	}
	return e.found, err
}

// stop is where a test may end the work.
func (e *eraser) stop(step string) error {
	if e.store.erasures.stop == nil {
		return nil
	}
	return e.store.erasures.stop(step)
}

// begin notes records that are to be erased: in the ledger first, so that nothing but finishing is left to do whatever happens.
func (e *eraser) begin(k *record.Kind, ids []record.ID) error {
	ids = slices.Compact(slices.SortedFunc(slices.Values(ids), record.ID.Compare))
	ids = slices.DeleteFunc(ids, func(id record.ID) bool { return slices.Contains(e.all[k], id) })
	if len(ids) == 0 {
		return nil
	}
	e.all[k] = append(e.all[k], ids...)
	if e.store.isLeaf() {
		return nil // the centre says of each that it is erased
	}
	var lines []ledgerLine
	for _, id := range ids {
		lines = append(lines, e.line(k, id))
	}
	if err := errors.Join(e.enter(lines), e.stop("ledger "+k.Name)); err != nil {
		return err
	}
	var steps []step
	for _, l := range lines {
		steps = append(steps, step{run: func(o *op) error { return noteErased(o, l, e.key, 0) }})
	}
	return errors.Join(e.store.doEach(steps), e.stop("noted "+k.Name))
}

// enterFirst writes the tickets' first revisions without names into the ledger: a backup that is restored does not have them, and who
// has these tickets since stands on them.
func (e *eraser) enterFirst() error {
	if e.store.isLeaf() {
		return nil // the centre tells it again
	}
	var lines []ledgerLine
	err := e.store.view(func(v *sight) error {
		for _, id := range e.all[record.Ticket] {
			l := e.line(record.Ticket, id)
			var err error
			if l.firsts, err = firstNameless(v, l.hash); err != nil {
				return err
			}
			lines = append(lines, l)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.enter(lines)
}

func (e *eraser) line(k *record.Kind, id record.ID) ledgerLine {
	return ledgerLine{kind: k, hash: e.store.hashErased(k, id), at: e.store.clock()}
}

// nothingHeld is when an erasure was done of what was not here: it has left no bytes to compact.
const nothingHeld = 1

// noteErased writes what replicas are told of an erasure, and when it was done here, in microseconds; 0 = it goes on. A ticket whose next holder is erased too
// is told of again.
func noteErased(o *op, l ledgerLine, key, done int64) error {
	o.store.recalls.any.Store(true)
	row, err := o.Get(erasedBucket, l.hash[:])
	if err = o.store.unlessCorrupt(err); err != nil {
		return err
	}
	e := newErased(l.kind)
	if row != nil {
		if e, err = parseErased(row); err != nil {
			return err
		}
	}
	more := e.learn(l.firsts)
	again := e.done != 0 && done == 0
	more = more || e.kept
	e.kept = false
	if row == nil || done != 0 || again || more {
		e.done = done
		o.put(erasedBucket, l.hash[:], e.encode())
	}
	if o.store.isLeaf() {
		return nil // the centre tells
	}
	id := record.FromULID([16]byte(l.hash))
	st, err := o.loadAny(record.Erasure, id)
	if err != nil || st != nil && !again {
		return err
	}
	d := record.Erasure.NewDoc()
	d.Set("kind", value.Quote(l.kind.Name))
	d.Set("at", value.Time(l.at))
	if key != 0 {
		d.Set("key_id", value.Number(key))
	}
	c := change{kind: record.Erasure, id: id, before: st, is: d, author: key}
	if st != nil {
		if c.was, err = st.decode(record.Erasure); err != nil {
			return err
		}
	}
	_, err = o.write(c)
	return err
}

// run erases what was begun. Whoever refers to the person meanwhile is found in the next round; once the person is gone nobody can.
func (e *eraser) run() error {
	for round := 0; ; round++ {
		more, err := e.extend()
		if err != nil {
			return err
		}
		if !more && round > 0 {
			break
		}
		if err := e.clear(); err != nil {
			return err
		}
	}
	for _, k := range []*record.Kind{record.Membership, record.Person} {
		var steps []step
		for _, id := range e.all[k] {
			steps = append(steps, step{run: func(o *op) error { return obliterate(o, k, id, e.key) }})
		}
		if err := errors.Join(e.store.doEach(steps), e.stop("gone "+k.Name)); err != nil {
			return err
		}
	}
	if _, err := e.extend(); err != nil { // what came before the person was gone
		return err
	}
	return e.clear()
}

// finish notes that everything is done, and so are erasures of what is not here.
func (e *eraser) finish(absent []ledgerLine) error {
	var steps []step
	for _, l := range absent {
		steps = append(steps, step{run: func(o *op) error {
			if o.store.isUnkeyed() { // it may have been here
				return noteErased(o, l, e.key, o.now.UnixMicro())
			}
			return noteErased(o, l, e.key, nothingHeld)
		}})
	}
	if err := errors.Join(e.enterFirst(), e.forgetHeld()); err != nil {
		return err
	}
	for _, k := range []*record.Kind{record.Ticket, record.Membership, record.Person} {
		for _, id := range e.all[k] {
			l := e.line(k, id)
			steps = append(steps, step{run: func(o *op) error { return noteErased(o, l, e.key, o.now.UnixMicro()) }})
		}
	}
	e.found.Tickets, e.found.Memberships = len(e.all[record.Ticket])+len(e.left), len(e.all[record.Membership])
	if err := e.store.doEach(steps); err != nil {
		return err
	}
	e.store.erasures.done.Add(1)
	e.store.erasures.rekey()
	e.store.log.Info("an erasure is done; compacting is due within a day", slog.Int("records", len(steps)))
	return nil
}
