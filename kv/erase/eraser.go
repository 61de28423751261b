package erase

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"doorward/kv/auth"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/idempotency"
	"doorward/kv/ledger"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Erased counts what an erasure has removed.
type Erased struct {
	Tickets     int // that have lost a holding; the tickets stay valid
	Memberships int
	Conflicts   int
	Refusals    int
	Answers     int // kept for an Idempotency-Key
}

// eraser carries out one erasure: its steps are listed in the package comment.
type eraser struct {
	register *Register
	ledger.Ledger
	key     int64                        // of the principal that erases; 0 = the store itself
	all     map[*record.Kind][]record.ID // to erase: persons, memberships, holdings
	listed  []record.ID                  // holdings with a conflict or refusal that names a person: all items about them are erased
	tickets map[record.ID]bool           // of the holdings; false = the holding was deleted before
	found   Erased
}

// ErrErasureNoted says that a failed erasure need not be requested again.
var ErrErasureNoted = errors.New("the erasure is noted and carried out as soon as it can be, and nobody is shown the person until then")

// Target is the person that an erasure would erase.
type Target struct {
	Name     string    // "" = the person is deleted or erased
	ErasedAt time.Time // zero = never
}

// Preview returns the person that an erasure would erase. It returns *Forbidden, or ErrNotFound if there never was this person.
func (rg *Register) Preview(p auth.Principal, person record.ID) (t Target, err error) {
	if err := p.CheckRule(); err != nil {
		return t, err
	}
	err = rg.tables.View(func(v *table.View) error {
		st, err := v.LoadAny(record.Person, person)
		if err != nil || st == nil {
			return table.OrNotFound(err)
		}
		row, err := table.FindErased(v, record.Person, person)
		if err != nil {
			return err
		}
		if row != nil && row.Done > 0 {
			t.ErasedAt = time.UnixMicro(row.Done)
		} else if row == nil && !st.Deleted {
			var d *record.Doc
			if d, err = st.Decode(record.Person); err == nil {
				t.Name = d.Text("full_name")
			}
		}
		return err
	})
	return t, err
}

// Erase erases a person for good: no replica, import or backup brings the person back. A second erasure of the same person finds
// what has arrived since. Erase returns *Forbidden, ErrNotFound if there never was this person, or *Conflict on a laptop. If it
// could note the erasure and not finish it, for example on a full disk, it returns ErrErasureNoted and the cause.
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
	if rg.tables.Identity.IsLeaf() {
		return Erased{}, &table.Conflict{Reason: "people are erased at the centre, which tells all others"}
	}
	found, err := rg.erase(p, id)
	if err == nil {
		if rg.Unfinished() > 0 { // the cause of the earlier failure may be gone
			rg.tables.Recalls.Told.Add(1)
			rg.tables.Recalls.Come.Ring()
		}
		return found, nil
	}
	left, failed := rg.FindPending()
	if failed != nil || len(left.pending) > 0 {
		rg.logFailed(len(left.pending), cmp.Or(failed, err))
	}
	if hash := rg.tables.Identity.HashErased(k, id); slices.ContainsFunc(left.pending, func(l ledger.LedgerLine) bool { return l.Hash == hash }) {
		return found, fmt.Errorf("%w: %w", ErrErasureNoted, err)
	}
	return found, fmt.Errorf("erase: %w", err)
}

// erase runs one erasure from its first step to its last. The ledger has it before the first operation that writes, so an operation before
// that judges the key.
func (rg *Register) erase(p auth.Principal, person record.ID) (Erased, error) {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	if err := rg.tables.Do(rg.standing.By(p, func(*table.Tx) error { return nil })); err != nil {
		return Erased{}, err
	}
	e, _, err := rg.newEraser()
	if err == nil {
		e.key = p.Key()
		err = e.add(record.Person, []record.ID{person})
	}
	if err == nil {
		err = e.run()
	}
	if err == nil {
		err = e.finish(nil)
	}
	return e.found, err
}

// after lets a test stop the erasure after a step.
func (e *eraser) after(step string) error {
	if e.register.Interrupt == nil {
		return nil
	}
	return e.register.Interrupt(step)
}

// add notes records that are to be erased. The ledger has them first, so after a crash the erasure is only finished.
func (e *eraser) add(k *record.Kind, ids []record.ID) error {
	ids = slices.Compact(slices.SortedFunc(slices.Values(ids), record.ID.Compare))
	ids = slices.DeleteFunc(ids, func(id record.ID) bool { return slices.Contains(e.all[k], id) })
	if len(ids) == 0 {
		return nil
	}
	e.all[k] = append(e.all[k], ids...)
	if e.register.tables.Identity.IsLeaf() {
		return nil // the centre tells of each erased record
	}
	var lines []ledger.LedgerLine
	for _, id := range ids {
		lines = append(lines, e.line(k, id))
	}
	if err := errors.Join(e.Enter(lines), e.after("ledger "+k.Name)); err != nil {
		return err
	}
	note := func(o *table.Tx, l ledger.LedgerLine) error { return merge.NoteErased(o, l, e.key, 0) }
	return errors.Join(table.DoEach(e.register.tables, lines, note), e.after("noted "+k.Name))
}

// line is the ledger's line of a record.
func (e *eraser) line(k *record.Kind, id record.ID) ledger.LedgerLine {
	return ledger.LedgerLine{Kind: k, Hash: e.register.tables.Identity.HashErased(k, id), At: e.register.tables.Clock.Now()}
}

// run erases all records that were added. A record that begins to refer to the person during a round is found in the next one.
// Once the person is erased no new record can refer to it.
func (e *eraser) run() error {
	for round := 0; ; round++ {
		more, err := e.extend()
		if err != nil {
			return err
		}
		if !more && round > 0 {
			break
		}
		if err := e.eraseMentions(); err != nil {
			return err
		}
	}
	for _, k := range []*record.Kind{record.Holder, record.Membership, record.Person} {
		if err := e.eraseRecords(k); err != nil {
			return err
		}
	}
	if _, err := e.extend(); err != nil { // a record that arrived before the person was erased
		return err
	}
	return errors.Join(e.eraseMentions(), e.eraseRecords(record.Holder), e.eraseRecords(record.Membership))
}

// eraseRecords leaves tombstones for the records of a kind, and removes their bodies.
func (e *eraser) eraseRecords(k *record.Kind) error {
	err := table.DoEach(e.register.tables, e.all[k], func(o *table.Tx, id record.ID) error {
		if k == record.Holder {
			return merge.EraseHolding(o, id, e.key)
		}
		return merge.EraseRecord(o, k, id, e.key)
	})
	return errors.Join(err, e.after("gone "+k.Name))
}

// finish notes that the erasure is done. absent are erasures of records that are not here.
func (e *eraser) finish(absent []ledger.LedgerLine) error {
	var lines []ledger.LedgerLine
	for _, k := range []*record.Kind{record.Holder, record.Membership, record.Person} {
		for _, id := range e.all[k] {
			lines = append(lines, e.line(k, id))
		}
	}
	e.found.Memberships = len(e.all[record.Membership])
	for _, live := range e.tickets {
		if live {
			e.found.Tickets++
		}
	}
	note := func(o *table.Tx, l ledger.LedgerLine) error { return merge.NoteErased(o, l, e.key, o.Now.UnixMicro()) }
	err := table.DoEach(e.register.tables, absent, func(o *table.Tx, l ledger.LedgerLine) error {
		if o.Store.Identity.IsUnkeyed() { // the record may be here under another hash
			return note(o, l)
		}
		return merge.NoteErased(o, l, e.key, table.NothingHeld)
	})
	if err == nil {
		err = table.DoEach(e.register.tables, lines, note)
	}
	if err != nil {
		return err
	}
	e.register.done.Add(1)
	e.register.rekey()
	e.register.tables.Log.Info("an erasure is done; compacting is due within a day", slog.Int("records", len(absent)+len(lines)))
	return nil
}

// eraseMentions erases the conflicts, refusals and kept replies that show the erased records.
func (e *eraser) eraseMentions() error {
	if err := errors.Join(e.eraseItems(record.Conflict, &e.found.Conflicts), e.eraseItems(record.Refusal, &e.found.Refusals), e.after("listed")); err != nil {
		return err
	}
	return errors.Join(e.eraseReplies(), e.after("answers"))
}

// eraseItems erases the conflicts or the refusals about the erased records.
func (e *eraser) eraseItems(k *record.Kind, n *int) error {
	var ids []record.ID
	err := table.EachListed(e.register.tables, k, func(_ *table.View, st *table.Stored, d *record.Doc) error {
		if e.showsItem(k, d) {
			ids = append(ids, st.ID)
		}
		return nil
	})
	*n += len(ids)
	eraseItem := func(o *table.Tx, id record.ID) error { return merge.EraseRecord(o, k, id, e.key) }
	return errors.Join(err, table.DoEach(e.register.tables, ids, eraseItem))
}

// eraseReplies deletes the replies that are kept for an Idempotency-Key and show an erased record.
func (e *eraser) eraseReplies() error {
	var pairs [][2][]byte // of a reply's key and that of its expiry
	err := e.register.tables.EachRow(table.OnceBucket, nil, func(_ *table.View, key, row []byte) error {
		r, _, expires, err := idempotency.Parse(row)
		if err == nil && e.showsReply(r) {
			pairs = append(pairs, [2][]byte{slices.Clone(key), idempotency.ExpiryKey(expires, key)})
		}
		return err
	})
	e.found.Answers += len(pairs)
	return errors.Join(err, table.DoEach(e.register.tables, pairs, func(o *table.Tx, pair [2][]byte) error {
		o.Delete(table.OnceBucket, pair[0])
		o.Delete(table.OnceExpiryBucket, pair[1])
		return nil
	}))
}

// eachKey calls fn with all keys of a bucket, a page of them in one View. It reads no rows, which may be damaged.
func (e *eraser) eachKey(b engine.Bucket, fn func(key []byte)) error {
	var from []byte
	for more := true; more; {
		more = false
		n := 0
		err := e.register.tables.View(func(v *table.View) error {
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

// extend finds the holdings and memberships of the erased persons, and adds them to the erasure. more tells that there were new ones.
func (e *eraser) extend() (more bool, err error) {
	before := len(e.all[record.Holder]) + len(e.all[record.Membership]) + len(e.listed)
	for k, field := range map[*record.Kind]string{record.Holder: "persons", record.Membership: "person"} {
		found, err := naming(e.register.tables, k, field, e.all[record.Person])
		if err != nil {
			return false, err
		}
		kept, err := e.withBodyNaming(k)
		if err == nil {
			err = e.add(k, append(found, kept...))
		}
		if err != nil {
			return false, err
		}
	}
	if err := errors.Join(e.findListed(), e.findTickets()); err != nil {
		return false, err
	}
	return len(e.all[record.Holder])+len(e.all[record.Membership])+len(e.listed) > before, nil
}

// naming are the records of a kind of which a field names one of some persons.
func naming(s *table.Set, k *record.Kind, field string, persons []record.ID) (all []record.ID, err error) {
	err = s.View(func(v *table.View) error {
		for _, person := range persons {
			ids, err := v.Lookup(k, field, person.Int())
			if err != nil {
				return err
			}
			all = append(all, ids...)
		}
		return nil
	})
	return all, err
}

// findListed finds the holdings with a conflict or refusal that names an erased person. Other items about such a holding may have
// the name too.
func (e *eraser) findListed() (err error) {
	for _, listed := range []*record.Kind{record.Conflict, record.Refusal} {
		failed := table.EachListed(e.register.tables, listed, func(_ *table.View, _ *table.Stored, d *record.Doc) error {
			k, id, about := table.ListedRecord(listed, d)
			if about != nil && k.OfHolding() && e.isNamedIn(about) && !slices.Contains(e.listed, id) {
				e.listed = append(e.listed, id)
			}
			return nil
		})
		err = errors.Join(err, failed)
	}
	return err
}

// findTickets finds the tickets of the holdings that are still here.
func (e *eraser) findTickets() error {
	return e.register.tables.View(func(v *table.View) error {
		for _, k := range entry.HoldingKinds {
			err := v.EachLive(k, e.all[record.Holder], func(st *table.Stored) error {
				e.tickets[entry.TicketOfPart(k, st.ID, st.Body)] = true
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// withBodyNaming lists the records of a kind of which a kept body, of an old or a losing revision, names an erased person.
func (e *eraser) withBodyNaming(k *record.Kind) (ids []record.ID, err error) {
	if len(e.all[record.Person]) == 0 {
		return nil, nil
	}
	err = e.register.tables.EachRow(table.BodyBucket, []byte{k.Number}, func(_ *table.View, key, row []byte) error {
		_, id, _, err := table.CutRecord(key)
		st := &table.Stored{ID: id}
		if err == nil {
			err = st.ParseBody(k, row)
		}
		if err != nil {
			return err
		}
		d, err := st.Decode(k)
		if err != nil || !e.isNamedIn(d) {
			return err
		}
		if ticket := entry.TicketOfPart(k, id, st.Body); k == record.Holder && !e.tickets[ticket] {
			e.tickets[ticket] = false
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		return nil
	})
	return ids, err
}

// isNamedIn tells whether a document refers to an erased person.
func (e *eraser) isNamedIn(d *record.Doc) bool {
	return slices.ContainsFunc(d.Pointers(), func(p record.Pointer) bool {
		return p.Kind == record.Person && slices.Contains(e.all[record.Person], p.ID)
	})
}

// isErased tells whether the erasure takes a record, or the conflicts and refusals about it.
func (e *eraser) isErased(k *record.Kind, id record.ID) bool {
	return slices.Contains(e.all[table.ErasedAs(k)], id) || k.OfHolding() && slices.Contains(e.listed, id)
}

// showsItem tells whether a conflict or a refusal is about an erased record, names an erased person, or offers a ticket to an erased
// holding.
func (e *eraser) showsItem(listed *record.Kind, d *record.Doc) bool {
	k, id, about := table.ListedRecord(listed, d)
	if k == nil {
		return false
	}
	offers := about != nil && k == record.Ticket && slices.Contains(e.all[record.Holder], entry.IDOfHolding(about.Value("holding")))
	return offers || e.isErased(k, id) || about != nil && e.isNamedIn(about)
}

// showsReply tells whether a kept reply shows an erased record.
func (e *eraser) showsReply(r entry.Reply) bool {
	for _, k := range []*record.Kind{record.Person, record.Membership} {
		if slices.Contains(e.all[k], r.ID) && k.ShowsAll(record.V1, r.JSON) {
			return true
		}
	}
	_, of := e.tickets[r.ID]
	return of && record.TicketForm.ShowsAll(record.Admin, r.JSON)
}

// identify finds the records that are to be erased by their hashes, and returns the lines of records that are not here. A holding is
// here if any record of it is, because a laptop brings them in any order.
func (e *eraser) identify(pending []ledger.LedgerLine) (absent []ledger.LedgerLine, err error) {
	wanted := map[ledger.ErasedHash]bool{}
	sought := map[*record.Kind]int{}
	for _, l := range pending {
		if !wanted[l.Hash] {
			wanted[l.Hash] = true
			sought[l.Kind]++
		}
	}
	for _, k := range [...]*record.Kind{record.Person, record.Membership, record.HolderName, record.Holder, record.HolderLabel} {
		as := table.ErasedAs(k)
		if sought[as] == 0 {
			continue
		}
		err := e.eachKey(table.KindBucket(k), func(key []byte) {
			id, ok := k.KeyID(key)
			if hash := e.register.tables.Identity.HashErased(k, id); ok && wanted[hash] {
				e.all[as] = append(e.all[as], id)
				delete(wanted, hash)
				sought[as]--
			}
		})
		if err != nil {
			return nil, err
		}
	}
	for _, l := range pending {
		if wanted[l.Hash] {
			absent = append(absent, l)
		}
	}
	return absent, nil
}
