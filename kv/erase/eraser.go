package erase

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/engine"
	"doorward/kv/inbox"
	"doorward/kv/ledger"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
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
	store *Register
	ledger.Ledger
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

// enterFirst writes the tickets' first revisions without names into the ledger: a backup that is restored does not have them, and who
// has these tickets since stands on them.
func (e *eraser) enterFirst() error {
	if e.store.tables.IsLeaf() {
		return nil // the centre tells it again
	}
	var lines []ledger.LedgerLine
	err := e.store.tables.View(func(v *table.View) error {
		for _, id := range e.all[record.Ticket] {
			l := e.line(record.Ticket, id)
			var err error
			if l.Firsts, err = firstNameless(v, l.Hash); err != nil {
				return err
			}
			lines = append(lines, l)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.Enter(lines)
}

func (e *eraser) line(k *record.Kind, id record.ID) ledger.LedgerLine {
	return ledger.LedgerLine{Kind: k, Hash: e.store.tables.HashErased(k, id), At: e.store.tables.ClockNow()}
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
		var steps []table.Step
		for _, id := range e.all[k] {
			steps = append(steps, table.Step{Run: func(o *table.Tx) error { return merge.Obliterate(o, k, id, e.key) }})
		}
		if err := errors.Join(e.store.tables.DoEach(steps), e.stop("gone "+k.Name)); err != nil {
			return err
		}
	}
	if _, err := e.extend(); err != nil { // what came before the person was gone
		return err
	}
	return e.clear()
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
	if err := errors.Join(e.enterFirst(), e.forgetHeld()); err != nil {
		return err
	}
	for _, k := range []*record.Kind{record.Ticket, record.Membership, record.Person} {
		for _, id := range e.all[k] {
			l := e.line(k, id)
			steps = append(steps, table.Step{Run: func(o *table.Tx) error { return merge.NoteErased(o, l, e.key, o.Now.UnixMicro()) }})
		}
	}
	e.found.Tickets, e.found.Memberships = len(e.all[record.Ticket])+len(e.left), len(e.all[record.Membership])
	if err := e.store.tables.DoEach(steps); err != nil {
		return err
	}
	e.store.done.Add(1)
	e.store.rekey()
	e.store.tables.Log.Info("an erasure is done; compacting is due within a day", slog.Int("records", len(steps)))
	return nil
}

// clear erases all but the memberships and the person.
func (e *eraser) clear() error {
	var steps []table.Step
	for _, id := range e.all[record.Ticket] {
		steps = append(steps, table.Step{Run: func(o *table.Tx) error { return merge.Unname(o, id, e.key) }})
	}
	for _, id := range e.past {
		steps = append(steps, table.Step{Run: func(o *table.Tx) error {
			l := &merge.Leftover{Author: e.key}
			err := merge.NoteSince(o, id, e.all[record.Person], l)
			if l.Emptied && !slices.Contains(e.left, id) {
				e.left = append(e.left, id)
			}
			return errors.Join(err, merge.ForgetTicket(o, id, nil))
		}})
	}
	if err := errors.Join(e.store.tables.DoEach(steps), e.stop("unnamed")); err != nil {
		return err
	}
	if err := errors.Join(e.clearListed(record.Conflict, &e.found.Conflicts), e.clearListed(record.Refusal, &e.found.Refusals), e.stop("listed")); err != nil {
		return err
	}
	return errors.Join(e.clearAnswers(), e.stop("answers"))
}

// clearListed erases what staff were to look at.
func (e *eraser) clearListed(k *record.Kind, n *int) error {
	var ids []record.ID
	err := inbox.EachListed(e.store.tables, k, func(st *table.Stored, d *record.Doc) {
		if e.lists(k, d) {
			ids = append(ids, st.Id)
		}
	})
	*n += len(ids)
	var steps []table.Step
	for _, id := range ids {
		steps = append(steps, table.Step{Run: func(o *table.Tx) error { return merge.Obliterate(o, k, id, e.key) }})
	}
	return errors.Join(err, e.store.tables.DoEach(steps))
}

// clearAnswers deletes kept answers that show what is erased.
func (e *eraser) clearAnswers() error {
	var keys [][]byte
	err := e.store.tables.EachRow(table.OnceBucket, nil, func(_ *table.View, key, row []byte) error {
		r, _, expires, err := desk.ParseOnce(row)
		if err == nil && e.answers(r) {
			keys = append(keys, slices.Clone(key), desk.OnceExpiryKey(expires, key))
		}
		return err
	})
	e.found.Answers += len(keys) / 2
	var steps []table.Step
	for pair := range slices.Chunk(keys, 2) {
		steps = append(steps, table.Step{Run: func(o *table.Tx) error {
			o.Delete(table.OnceBucket, pair[0])
			o.Delete(table.OnceExpiryBucket, pair[1])
			return nil
		}})
	}
	return errors.Join(err, e.store.tables.DoEach(steps))
}

// keys calls fn with all keys of a bucket, a page of them in one View. What they stand for may be damaged.
func (e *eraser) keys(b engine.Bucket, fn func(key []byte)) error {
	var from []byte
	for more := true; more; {
		more = false
		n := 0
		err := e.store.tables.View(func(v *table.View) error {
			c := v.Cursor(b)
			for row := c.Seek(from); row.Key != nil; row = c.Next() {
				if n++; n > table.ErasePage {
					from, more = slices.Clone(row.Key), true
					return nil
				}
				fn(row.Key)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// former are the rows of the persons that are erased.
func (e *eraser) former() (keys [][]byte, err error) {
	err = e.store.tables.EachRow(table.FormerBucket, nil, func(_ *table.View, key, _ []byte) error {
		_, person, err := merge.CutFormer(key)
		if err == nil && slices.Contains(e.all[record.Person], person) {
			keys = append(keys, slices.Clone(key))
		}
		return err
	})
	return keys, err
}

// heldOnce are the tickets that the persons held once: by the rows, and by the bodies that are kept, of losing branches too.
func (e *eraser) heldOnce() ([]record.ID, error) {
	tickets, err := e.keptOf(record.Holder)
	if err != nil {
		return nil, err
	}
	keys, err := e.former()
	for _, key := range keys {
		ticket, _, _ := merge.CutFormer(key) // it was read before
		tickets = append(tickets, ticket)
	}
	return tickets, err
}

// forgetHeld takes the persons' rows away.
func (e *eraser) forgetHeld() error {
	keys, err := e.former()
	var steps []table.Step
	for _, key := range keys {
		steps = append(steps, table.Step{Run: func(o *table.Tx) error {
			o.Delete(table.FormerBucket, key)
			return nil
		}})
	}
	return merge.ErrorsOr(err, func() error { return e.store.tables.DoEach(steps) })
}
