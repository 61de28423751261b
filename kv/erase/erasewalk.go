package erase

import (
	"slices"

	"doorward/kv/entry"
	"doorward/kv/inbox"
	"doorward/kv/ledger"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/table"
)

// extend finds what else belongs to the persons that are erased, and begins to erase it; more tells that there was any.
func (e *eraser) extend() (more bool, err error) {
	before := len(e.all[record.Ticket]) + len(e.all[record.Membership]) + len(e.past)
	var tickets, memberships []record.ID
	err = e.store.tables.View(func(v *table.View) error {
		for _, person := range e.all[record.Person] {
			held, err := v.Lookup(record.Holder, "person_id", person.Int())
			if err != nil {
				return err
			}
			in, err := v.Lookup(record.Membership, "person", person.Int())
			if err != nil {
				return err
			}
			tickets, memberships = append(tickets, held...), append(memberships, in...)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	if tickets, err = e.giveToOthers(tickets); err != nil {
		return false, err
	}
	if err := e.begin(record.Ticket, tickets); err != nil {
		return false, err
	}
	kept, err := e.keptOf(record.Membership)
	if err != nil {
		return false, err
	}
	if err := e.begin(record.Membership, append(memberships, kept...)); err != nil {
		return false, err
	}
	if err := e.extendPast(); err != nil {
		return false, err
	}
	return len(e.all[record.Ticket])+len(e.all[record.Membership])+len(e.past) > before, nil
}

// giveToOthers gives the tickets away that a conflict says are somebody else's as well, and answers the rest.
func (e *eraser) giveToOthers(tickets []record.ID) (rest []record.ID, err error) {
	if e.store.tables.IsLeaf() {
		return tickets, nil
	}
	var steps []table.Step
	for _, id := range tickets {
		steps = append(steps, table.Step{Run: func(o *table.Tx) error {
			given, err := merge.GiveToOther(o, id, e.all[record.Person])
			if err == nil && !given {
				rest = append(rest, id)
			}
			if err == nil && given {
				err = merge.NoteSince(o, id, e.all[record.Person], &merge.Leftover{None: true})
			}
			return err
		}})
	}
	return rest, e.store.tables.DoEach(steps)
}

// extendPast finds the tickets that were the person's once, also by what staff were to look at.
func (e *eraser) extendPast() error {
	past, err := e.heldOnce()
	if err != nil {
		return err
	}
	for _, listed := range []*record.Kind{record.Conflict, record.Refusal} {
		err := inbox.EachListed(e.store.tables, listed, func(_ *table.Stored, d *record.Doc) {
			k, id, about := table.ListedRecord(listed, d)
			if about != nil && table.ErasedAs(k) == record.Ticket && e.isNamedBy(about) {
				past = append(past, id)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, id := range past {
		if !slices.Contains(e.past, id) && !slices.Contains(e.all[record.Ticket], id) {
			e.past = append(e.past, id)
		}
	}
	return nil
}

// keptOf are the records of a kind of which a body is kept that names a person.
func (e *eraser) keptOf(k *record.Kind) (ids []record.ID, err error) {
	if len(e.all[record.Person]) == 0 {
		return nil, nil
	}
	err = e.store.tables.EachRow(table.BodyBucket, []byte{k.Number}, func(_ *table.View, key, row []byte) error {
		_, id, _, err := table.CutRecord(key)
		st := &table.Stored{Id: id}
		if err == nil {
			err = st.ParseBody(k, row)
		}
		if err != nil {
			return err
		}
		d, err := st.Decode(k)
		if err == nil && e.isNamedBy(d) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		return err
	})
	return ids, err
}

// isNamedBy tells a record that refers to a person who is erased.
func (e *eraser) isNamedBy(d *record.Doc) bool {
	return slices.ContainsFunc(e.all[record.Person], func(id record.ID) bool { return record.Refers(d, record.Person, id) })
}

// is tells a record that is erased, wholly or in what it was.
func (e *eraser) is(k *record.Kind, id record.ID) bool {
	return slices.Contains(e.all[table.ErasedAs(k)], id) || table.ErasedAs(k) == record.Ticket && slices.Contains(e.past, id)
}

// lists tells a conflict or a refusal that is about what is erased.
func (e *eraser) lists(listed *record.Kind, d *record.Doc) bool {
	k, id, about := table.ListedRecord(listed, d)
	return k != nil && (e.is(k, id) || about != nil && e.isNamedBy(about))
}

// answers tells a kept answer that shows what is erased.
func (e *eraser) answers(r entry.Reply) bool {
	for _, k := range []*record.Kind{record.Person, record.Membership} {
		if slices.Contains(e.all[k], r.ID) && k.ShowsAll(record.V1, r.JSON) {
			return true
		}
	}
	return e.is(record.Ticket, r.ID) && record.TicketForm.ShowsAll(record.Admin, r.JSON)
}

// identify finds the records that are to be erased by their hashes, and answers the hashes of those that are not here. A ticket is here
// where any part of it is: a laptop brings them in any order.
func (e *eraser) identify(pending []ledger.LedgerLine) (absent []ledger.LedgerLine, err error) {
	wanted := map[ledger.ErasedHash]bool{}
	sought := map[*record.Kind]int{}
	for _, l := range pending {
		if !wanted[l.Hash] {
			wanted[l.Hash] = true
			sought[l.Kind]++
		}
	}
	for _, k := range [...]*record.Kind{record.Person, record.Membership, record.Ticket, record.HolderName, record.Holder} {
		as := table.ErasedAs(k)
		if sought[as] == 0 {
			continue
		}
		err := e.keys(table.KindBucket(k), func(key []byte) {
			id, ok := k.KeyID(key)
			if hash := e.store.tables.HashErased(k, id); ok && wanted[hash] {
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
