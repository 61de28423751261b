package merge

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// mergeInto deletes a record that was the same thing as another, and says so. One that was merged before is told of a lower one.
func mergeInto(o *table.Tx, k *record.Kind, id, into int64) error {
	st, err := o.LoadAny(k, record.Int(id))
	if err != nil || st == nil {
		return err
	}
	if st.Deleted {
		return retell(o, k, id, into)
	}
	d, err := st.Decode(k)
	if err != nil {
		return err
	}
	for _, key := range twinKeys(o, k, d) {
		o.Put(table.TwinBucket, k.AppendID(key, st.ID), nil)
	}
	if err := listTwin(o, k, st, d, into); err != nil {
		return err
	}
	if err := bury(o, k, st, d, into); err != nil {
		return err
	}
	if k != record.Ticket {
		return repointAll(o, k, st.ID)
	}
	if err := mergeCode(o, id, into); err != nil {
		return err
	}
	stays, err := kept(o, k, into) // that one may have been merged itself
	if err != nil {
		return err
	}
	for _, h := range entry.HoldingsOf(d) {
		if err := mergeHolding(o, h, record.Int(stays)); err != nil {
			return err
		}
	}
	return door.SettleTicket(o, st.ID)
}

// retell says that a record which was merged is the same thing as one with a still lower id.
func retell(o *table.Tx, k *record.Kind, id, into int64) error {
	kinds := []*record.Kind{k}
	if k == record.Ticket {
		kinds = append(kinds, record.TicketCode)
	}
	for _, k := range kinds {
		was, err := intoOf(o.View, k, record.Int(id))
		if err != nil {
			return err
		}
		if was <= into {
			continue // 0: it is not here, or somebody has deleted it
		}
		st, err := o.LoadAny(k, record.Int(id))
		if err != nil {
			return err
		}
		if _, err := o.Write(table.Edit{Kind: k, ID: st.ID, Before: st, Into: into}); err != nil {
			return err
		}
	}
	return nil
}

// bury lists where a record differs from the one that stays, and leaves a tombstone.
func bury(o *table.Tx, k *record.Kind, st *table.Stored, d *record.Doc, into int64) error {
	kept, err := o.Load(k, record.Int(into))
	if err != nil {
		return err
	}
	if kept != nil {
		if err := listDifferences(o, k, kept, st, d); err != nil {
			return err
		}
	}
	_, err = o.Write(table.Edit{Kind: k, ID: st.ID, Before: st, Was: d, Into: into})
	return err
}

// mergeCode merges a ticket's code in clear, if it is here.
func mergeCode(o *table.Tx, id, into int64) error {
	st, err := o.Load(record.TicketCode, record.Int(id))
	if err != nil || st == nil {
		return err
	}
	d, err := st.Decode(record.TicketCode)
	if err != nil {
		return err
	}
	return bury(o, record.TicketCode, st, d, into)
}

// mergeHolding has a holding of a merged ticket go to the one that stays. It is over there, unless that has none.
func mergeHolding(o *table.Tx, id, into record.ID) error {
	for _, k := range [...]*record.Kind{record.HolderName, record.Holder} {
		st, err := o.Load(k, id)
		if err != nil {
			return err
		}
		if st == nil {
			continue // it is repointed when it comes
		}
		st, err = entry.Amend(o, auth.Principal{}, k, st, func(d *record.Doc) { d.Set("ticket_id", value.Number(into.Int())) })
		if err == nil {
			err = listHolding(o, k, st, into)
		}
		if err != nil {
			return err
		}
	}
	return absorb(o, id, into)
}

// absorb has a ticket know of a holding of one that was merged into it.
func absorb(o *table.Tx, id, into record.ID) error {
	st, err := o.Load(record.Ticket, into)
	if err != nil || st == nil {
		return err
	}
	was, err := st.Decode(record.Ticket)
	if err != nil {
		return err
	}
	if slices.Contains(entry.HoldingsOf(was), id) {
		return entry.SettleHolding(o, id, entry.PresentOf(st.Body) == id)
	}
	is, text := was.Clone(), record.Holder.FormatID(id)
	if is.IsNull("holding") {
		is.Set("holding", value.Quote(text))
	} else {
		is.Set("ended", record.Adding(is.Value("ended"), text))
	}
	if _, err := o.Write(table.Edit{Kind: record.Ticket, ID: into, Before: st, Was: was, Is: is}); err != nil {
		return err
	}
	return entry.SettleHoldings(o, was, is)
}

// listHolding lists what a part of a merged ticket's holding says, and the present one of the ticket that stays does not.
func listHolding(o *table.Tx, k *record.Kind, merged *table.Stored, into record.ID) error {
	ticket, err := o.Load(record.Ticket, into)
	if err != nil || ticket == nil || entry.PresentOf(ticket.Body) == merged.ID {
		return err
	}
	kept, err := o.Load(k, entry.PresentOf(ticket.Body))
	if err != nil || kept == nil {
		return err
	}
	d, err := merged.Decode(k)
	if err != nil {
		return err
	}
	return listDifferences(o, k, kept, merged, d)
}

// joinPart takes in a record of a ticket that was merged before, or with which others were.
func joinPart(o *table.Tx, ad *Adoption) error {
	if !anyMerged(o) {
		return nil
	}
	st, d, err := repoint(o, ad.Kind, ad.next, ad.is)
	if err != nil {
		return err
	}
	if ad.Kind.OfHolding() {
		return joinHolding(o, ad, st, record.Int(d.Int("ticket_id")))
	}
	into, err := intoOf(o.View, record.Ticket, ad.ID)
	switch {
	case err != nil:
		return err
	case into != 0:
		return mergeCode(o, ad.ID.Int(), into)
	case ad.Before != nil:
		return nil // those that came before were compared with it
	}
	return eachMerged(o, ad.ID, func(t *table.Stored) error { return compareBuried(o, ad, t.ID) })
}

// joinHolding takes in a part of a holding of such a ticket.
func joinHolding(o *table.Tx, ad *Adoption, st *table.Stored, ticket record.ID) error {
	if !value.Equal(ad.is.Value("ticket_id"), value.Number(ticket.Int())) { // its ticket was merged
		if err := listHolding(o, ad.Kind, st, ticket); err != nil {
			return err
		}
		return absorb(o, ad.ID, ticket)
	}
	if ad.Before != nil {
		return nil // as above
	}
	return eachMerged(o, ticket, func(t *table.Stored) error {
		d, err := buried(o, record.Ticket, t)
		if err != nil || d == nil {
			return err
		}
		other, err := o.Load(ad.Kind, entry.IdOfHolding(d.Value("holding")))
		if err != nil || other == nil || other.ID == ad.ID {
			return err
		}
		return listHolding(o, ad.Kind, other, ticket)
	})
}

// eachMerged calls fn with the tickets that were merged into one.
func eachMerged(o *table.Tx, ticket record.ID, fn func(*table.Stored) error) error {
	merged, err := table.Merged(o.View, record.Ticket, ticket)
	for i := 0; err == nil && i < len(merged); i++ {
		var st *table.Stored
		if st, err = o.LoadAny(record.Ticket, merged[i]); err == nil && st != nil {
			err = fn(st)
		}
	}
	return err
}

// compareBuried lists where a code that came before the one which stays differed from it.
func compareBuried(o *table.Tx, ad *Adoption, id record.ID) error {
	st, err := o.LoadAny(ad.Kind, id)
	if err != nil || st == nil || !st.Deleted {
		return err
	}
	d, err := buried(o, ad.Kind, st)
	if err != nil || d == nil {
		return err
	}
	kept, err := o.Load(ad.Kind, ad.ID)
	if err != nil || kept == nil {
		return err
	}
	return listDifferences(o, ad.Kind, kept, st, d)
}

// buried is the last body that a deleted record had, if it is held.
func buried(o *table.Tx, k *record.Kind, st *table.Stored) (*record.Doc, error) {
	t, err := table.LoadTree(o.View, k, st)
	if err != nil {
		return nil, err
	}
	for _, rev := range t.Path(st.Revision) {
		if t.Find(rev).Deleted {
			continue
		}
		kept, err := table.KeptBody(o.View, k, st.ID, rev)
		if err != nil || kept == nil {
			return nil, err
		}
		return kept.Decode(k)
	}
	return nil, nil
}

// intoOf is the record that one was merged into; 0: none, or it lives.
func intoOf(v *table.View, k *record.Kind, id record.ID) (int64, error) {
	st, err := v.LoadAny(k, id)
	if err != nil || st == nil || !st.Deleted {
		return 0, err
	}
	t, err := table.LoadTree(v, k, st)
	return table.MergedIn(&t), err
}
