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

// extend finds the holdings and memberships of the erased persons, and adds them to the erasure. more tells that there were new ones.
func (e *eraser) extend() (more bool, err error) {
	before := len(e.all[record.Holder]) + len(e.all[record.Membership]) + len(e.listed)
	var holdings, memberships []record.ID
	err = e.register.tables.View(func(v *table.View) error {
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

// findListed finds the holdings with a conflict or refusal that names an erased person. Other items about such a holding may have
// the name too.
func (e *eraser) findListed() (err error) {
	for _, listed := range []*record.Kind{record.Conflict, record.Refusal} {
		failed := inbox.EachListed(e.register.tables, listed, func(_ *table.Stored, d *record.Doc) {
			k, id, about := table.ListedRecord(listed, d)
			if about != nil && k.OfHolding() && e.isNamedIn(about) && !slices.Contains(e.listed, id) {
				e.listed = append(e.listed, id)
			}
		})
		err = errors.Join(err, failed)
	}
	return err
}

// findTickets finds the tickets of the holdings that are still here.
func (e *eraser) findTickets() error {
	return e.register.tables.View(func(v *table.View) error {
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
	return slices.ContainsFunc(e.all[record.Person], func(id record.ID) bool { return record.Refers(d, record.Person, id) })
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
