package erase

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"doorward/kv/auth"
	"doorward/kv/ledger"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Erased tells what an erasure has taken away.
type Erased struct {
	Tickets     int // whose holdings are gone; they stay valid
	Memberships int
	Conflicts   int
	Refusals    int
	Answers     int // kept for an Idempotency-Key
}

// eraser erases records and everything that tells of them: the declared list of sync.md §5.
//
//	person, membership        an empty tombstone on every leaf; no body of any revision stays
//	name, private half and    the same for every holding that was ever linked with the person, present or over; the ticket stays
//	label of a holding        valid, without a holding
//	conflict, refusal         as a person, where it is about one of these or names the person
//	kept answers              deleted, where they show one of these
//
// Nothing else is on the list. People are never merged (twin.go), so no other record is the person; a membership that was merged, and a
// holding of which a losing branch names the person, are found by their kept bodies. Facts are written once and never changed, or
// replicas would disagree: they name the ticket and the holding, and the reason of an undo is the door's own words. A ticket's order and
// type are a household's mark and a sort of ticket, opaque by their meaning. Documents of free databases are not records; the command
// names those databases.
//
// Of records, lookups go with the body that they were made of, and the search index follows the log. Each step is an operation of
// bounded size; after a crash all of it is done again.
type eraser struct {
	store *Register
	ledger.Ledger
	key     int64
	all     map[*record.Kind][]record.ID // what is erased: persons, memberships, holdings
	listed  []record.ID                  // holdings of which an item for staff names a person: all items about them go
	tickets map[record.ID]bool           // of the holdings; false: the holding was deleted before
	found   Erased
}

// ErrErasureNoted is why an erasure that has failed need not be asked for again.
var ErrErasureNoted = errors.New("the erasure is noted and carried out as soon as it can be, and nobody is shown the person until then")

// Erasable is a person whom an erasure means.
type Erasable struct {
	Name     string    // "" = nobody has it any more
	ErasedAt time.Time // zero = never
}

// ToErase tells whom an erasure would mean. *Forbidden, ErrNotFound for who was never there.
func (rg *Register) ToErase(p auth.Principal, person record.ID) (who Erasable, err error) {
	if err := p.CheckRule(); err != nil {
		return who, err
	}
	err = rg.tables.View(func(v *table.View) error {
		st, err := v.LoadAny(record.Person, person)
		if err != nil {
			return err
		}
		if st == nil {
			return table.ErrNotFound
		}
		row, err := table.FindErased(v, record.Person, person)
		if err != nil {
			return err
		}
		if row != nil && row.Done > 0 {
			who.ErasedAt = time.UnixMicro(row.Done)
		} else if row == nil && !st.Deleted {
			var d *record.Doc
			if d, err = st.Decode(record.Person); err == nil {
				who.Name = d.Text("full_name")
			}
		}
		return err
	})
	return who, err
}

// Erase erases a person for good: it cannot come back by a replica, an import or a backup. *Forbidden, ErrNotFound for who was never
// there. Erasing again finds what has come since. What could only be noted, as on a full disk, is ErrErasureNoted besides its cause.
func (rg *Register) Erase(p auth.Principal, k *record.Kind, id record.ID) (Erased, error) {
	if err := p.CheckRule(); err != nil {
		return Erased{}, err
	}
	if k != record.Person {
		return Erased{}, table.ErrNotFound
	}
	err := rg.tables.View(func(v *table.View) error {
		st, err := v.LoadAny(k, id)
		if err == nil && st == nil {
			err = table.ErrNotFound
		}
		return err
	})
	if err != nil {
		return Erased{}, err
	}
	if rg.tables.IsLeaf() {
		return Erased{}, &table.Conflict{Reason: "people are erased at the centre, which tells all others"}
	}
	found, err := rg.erase(p, id)
	if err == nil {
		if rg.ErasuresUnfinished() > 0 { // what hindered it may be gone
			rg.tables.Recalls.Told.Add(1)
			rg.tables.Recalls.Come.Ring()
		}
		return found, nil
	}
	begun, failed := rg.BegunErasures()
	if failed != nil || len(begun.pending) > 0 {
		rg.eraseFailed(len(begun.pending), merge.ErrorsOr(failed, func() error { return err }))
	}
	if hash := rg.tables.HashErased(k, id); slices.ContainsFunc(begun.pending, func(l ledger.LedgerLine) bool { return l.Hash == hash }) {
		return found, fmt.Errorf("%w: %w", ErrErasureNoted, err)
	}
	return found, fmt.Errorf("erase: %w", err)
}

func (rg *Register) erase(p auth.Principal, person record.ID) (Erased, error) {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	e, _, err := rg.newEraser()
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
	if e.store.Stop == nil {
		return nil
	}
	return e.store.Stop(step)
}

// begin notes records that are to be erased: in the ledger first, so that nothing but finishing is left to do whatever happens.
func (e *eraser) begin(k *record.Kind, ids []record.ID) error {
	ids = slices.Compact(slices.SortedFunc(slices.Values(ids), record.ID.Compare))
	ids = slices.DeleteFunc(ids, func(id record.ID) bool { return slices.Contains(e.all[k], id) })
	if len(ids) == 0 {
		return nil
	}
	e.all[k] = append(e.all[k], ids...)
	if e.store.tables.IsLeaf() {
		return nil // the centre says of each that it is erased
	}
	var lines []ledger.LedgerLine
	for _, id := range ids {
		lines = append(lines, e.line(k, id))
	}
	if err := errors.Join(e.Enter(lines), e.stop("ledger "+k.Name)); err != nil {
		return err
	}
	var steps []table.Step
	for _, l := range lines {
		steps = append(steps, table.Step{Run: func(o *table.Tx) error { return merge.NoteErased(o, l, e.key, 0) }})
	}
	return errors.Join(e.store.tables.DoEach(steps), e.stop("noted "+k.Name))
}

func (e *eraser) line(k *record.Kind, id record.ID) ledger.LedgerLine {
	return ledger.LedgerLine{Kind: k, Hash: e.store.tables.HashErased(k, id), At: e.store.tables.ClockNow()}
}

// run erases what was begun. What comes to refer to the person in between is found in the next round; once the person is gone nothing can.
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
	for _, k := range []*record.Kind{record.Holder, record.Membership, record.Person} {
		if err := e.obliterate(k); err != nil {
			return err
		}
	}
	if _, err := e.extend(); err != nil { // what came before the person was gone
		return err
	}
	return errors.Join(e.clear(), e.obliterate(record.Holder), e.obliterate(record.Membership))
}

// obliterate takes away what is erased of a kind.
func (e *eraser) obliterate(k *record.Kind) error {
	var steps []table.Step
	for _, id := range e.all[k] {
		steps = append(steps, table.Step{Run: func(o *table.Tx) error {
			if k == record.Holder {
				return merge.ObliterateHolding(o, id, e.key)
			}
			return merge.Obliterate(o, k, id, e.key)
		}})
	}
	return errors.Join(e.store.tables.DoEach(steps), e.stop("gone "+k.Name))
}

// finish notes that everything is done, and so are erasures of what is not here.
func (e *eraser) finish(absent []ledger.LedgerLine) error {
	var steps []table.Step
	for _, l := range absent {
		steps = append(steps, table.Step{Run: func(o *table.Tx) error {
			if o.Store.IsUnkeyed() { // it may have been here
				return merge.NoteErased(o, l, e.key, o.Now.UnixMicro())
			}
			return merge.NoteErased(o, l, e.key, table.NothingHeld)
		}})
	}
	for _, k := range []*record.Kind{record.Holder, record.Membership, record.Person} {
		for _, id := range e.all[k] {
			l := e.line(k, id)
			steps = append(steps, table.Step{Run: func(o *table.Tx) error { return merge.NoteErased(o, l, e.key, o.Now.UnixMicro()) }})
		}
	}
	e.found.Memberships = len(e.all[record.Membership])
	for _, live := range e.tickets {
		if live {
			e.found.Tickets++
		}
	}
	if err := e.store.tables.DoEach(steps); err != nil {
		return err
	}
	e.store.done.Add(1)
	e.store.rekey()
	e.store.tables.Log.Info("an erasure is done; compacting is due within a day", slog.Int("records", len(steps)))
	return nil
}
