package erase

import (
	"errors"
	"slices"

	"doorward/kv/entry"
	"doorward/kv/inbox"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/table"
)

// extend finds what else belongs to the persons that are erased, and begins to erase it; more tells that there was any.
func (e *eraser) extend() (more bool, err error) {
	before := len(e.all[record.Holder]) + len(e.all[record.Membership]) + len(e.listed)
	var holdings, memberships []record.ID
	err = e.store.tables.View(func(v *table.View) error {
		for _, person := range e.all[record.Person] {
			held, err := v.Lookup(record.Holder, "persons", person.Int())
			if err != nil {
				return err
			}
			in, err := v.Lookup(record.Membership, "person", person.Int())
			if err != nil {
				return err
			}
			holdings, memberships = append(holdings, held...), append(memberships, in...)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	for k, found := range map[*record.Kind][]record.ID{record.Holder: holdings, record.Membership: memberships} {
		kept, err := e.keptOf(k)
		if err == nil {
			err = e.begin(k, append(found, kept...))
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

// findListed finds the holdings of which an item for staff names a person: others about them may have the name.
func (e *eraser) findListed() (err error) {
	for _, listed := range []*record.Kind{record.Conflict, record.Refusal} {
		failed := inbox.EachListed(e.store.tables, listed, func(_ *table.Stored, d *record.Doc) {
			k, id, about := table.ListedRecord(listed, d)
			if about != nil && k.OfHolding() && e.isNamedBy(about) && !slices.Contains(e.listed, id) {
				e.listed = append(e.listed, id)
			}
		})
		err = errors.Join(err, failed)
	}
	return err
}

// findTickets finds the tickets of the holdings, as long as these are here.
func (e *eraser) findTickets() error {
	return e.store.tables.View(func(v *table.View) error {
		for _, id := range e.all[record.Holder] {
			for _, k := range entry.HoldingKinds {
				st, err := v.Load(k, id)
				if err != nil {
					return err
				}
				if st != nil {
					e.tickets[entry.TicketOfPart(k, id, st.Body)] = true
				}
			}
		}
		return nil
	})
}

// keptOf are the records of a kind of which a body is kept that names a person.
func (e *eraser) keptOf(k *record.Kind) (ids []record.ID, err error) {
	if len(e.all[record.Person]) == 0 {
		return nil, nil
	}
	err = e.store.tables.EachRow(table.BodyBucket, []byte{k.Number}, func(_ *table.View, key, row []byte) error {
		_, id, _, err := table.CutRecord(key)
		st := &table.Stored{ID: id}
		if err == nil {
			err = st.ParseBody(k, row)
		}
		if err != nil {
			return err
		}
		d, err := st.Decode(k)
		if err != nil || !e.isNamedBy(d) {
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

// isNamedBy tells a record that refers to a person who is erased.
func (e *eraser) isNamedBy(d *record.Doc) bool {
	return slices.ContainsFunc(e.all[record.Person], func(id record.ID) bool { return record.Refers(d, record.Person, id) })
}

// is tells a record that is erased, or of which items for staff are.
func (e *eraser) is(k *record.Kind, id record.ID) bool {
	return slices.Contains(e.all[table.ErasedAs(k)], id) || k.OfHolding() && slices.Contains(e.listed, id)
}

// lists tells a conflict or a refusal that is about what is erased, or offers a ticket to a holding that is.
func (e *eraser) lists(listed *record.Kind, d *record.Doc) bool {
	k, id, about := table.ListedRecord(listed, d)
	if k == nil {
		return false
	}
	offers := about != nil && k == record.Ticket && slices.Contains(e.all[record.Holder], entry.IdOfHolding(about.Value("holding")))
	return offers || e.is(k, id) || about != nil && e.isNamedBy(about)
}

// answers tells a kept answer that shows what is erased.
func (e *eraser) answers(r entry.Reply) bool {
	for _, k := range []*record.Kind{record.Person, record.Membership} {
		if slices.Contains(e.all[k], r.ID) && k.ShowsAll(record.V1, r.JSON) {
			return true
		}
	}
	_, of := e.tickets[r.ID]
	return of && record.TicketForm.ShowsAll(record.Admin, r.JSON)
}

// identify finds the records that are to be erased by their hashes, and answers the hashes of those that are not here. A holding is here
// where any record of it is: a laptop brings them in any order.
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
