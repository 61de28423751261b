package merge

import (
	"doorward/kv/door"
	"doorward/kv/ledger"
	"doorward/kv/record"
	"doorward/kv/table"
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
		o.Put(table.TwinBucket, k.AppendID(key, st.Id), nil)
	}
	if err := listTwin(o, k, st, d, into); err != nil {
		return err
	}
	if err := bury(o, k, st, d, into); err != nil {
		return err
	}
	if k != record.Ticket {
		return repointAll(o, k, st.Id)
	}
	for _, part := range []*record.Kind{record.HolderName, record.Holder} {
		if err := mergePart(o, part, id, into); err != nil {
			return err
		}
	}
	return door.SettleTicket(o, st.Id)
}

// retell says that a record which was merged is the same thing as one with a still lower id.
func retell(o *table.Tx, k *record.Kind, id, into int64) error {
	kinds := []*record.Kind{k}
	if k == record.Ticket {
		kinds = ledger.TicketParts[:]
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
		if _, err := o.Write(table.Edit{Kind: k, Id: st.Id, Before: st, Into: into}); err != nil {
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
	_, err = o.Write(table.Edit{Kind: k, Id: st.Id, Before: st, Was: d, Into: into})
	return err
}

// mergePart merges one of the private parts of a ticket, if it is here.
func mergePart(o *table.Tx, k *record.Kind, id, into int64) error {
	st, err := o.Load(k, record.Int(id))
	if err != nil || st == nil {
		return err
	}
	d, err := st.Decode(k)
	if err != nil {
		return err
	}
	return bury(o, k, st, d, into)
}

// joinPart takes in a part of a ticket that was merged before, or with which others were.
func joinPart(o *table.Tx, ad *Adoption) error {
	if !anyMerged(o) {
		return nil
	}
	if _, _, err := repoint(o, ad.Kind, ad.next, ad.is); err != nil {
		return err
	}
	into, err := intoOf(o.View, record.Ticket, ad.Id)
	switch {
	case err != nil:
		return err
	case into != 0:
		return mergePart(o, ad.Kind, ad.Id.Int(), into)
	case ad.Before != nil:
		return nil // those that came before were compared with it
	}
	merged, err := table.Merged(o.View, record.Ticket, ad.Id)
	for i := 0; err == nil && i < len(merged); i++ {
		err = compareBuried(o, ad, merged[i])
	}
	return err
}

// compareBuried lists where a part that came before the one which stays differed from it.
func compareBuried(o *table.Tx, ad *Adoption, id record.ID) error {
	st, err := o.LoadAny(ad.Kind, id)
	if err != nil || st == nil || !st.Deleted {
		return err
	}
	d, err := buried(o, ad.Kind, st)
	if err != nil || d == nil {
		return err
	}
	kept, err := o.Load(ad.Kind, ad.Id)
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
		kept, err := table.KeptBody(o.View, k, st.Id, rev)
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
