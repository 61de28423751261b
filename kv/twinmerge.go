package kv

import (
	"encoding/binary"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// mergeInto deletes a record that was the same thing as another, and says so. One that was merged before is told of a lower one.
func mergeInto(o *op, k *record.Kind, id, into int64) error {
	st, err := o.loadAny(k, record.Int(id))
	if err != nil || st == nil {
		return err
	}
	if st.deleted {
		return retell(o, k, id, into)
	}
	d, err := st.decode(k)
	if err != nil {
		return err
	}
	for _, key := range twinKeys(o, k, d) {
		o.put(twinBucket, k.AppendID(key, st.id), nil)
	}
	if err := listTwin(o, k, st, d, into); err != nil {
		return err
	}
	if err := bury(o, k, st, d, into); err != nil {
		return err
	}
	if k != record.Ticket {
		return repointAll(o, k, st.id)
	}
	for _, part := range []*record.Kind{record.HolderName, record.Holder} {
		if err := mergePart(o, part, id, into); err != nil {
			return err
		}
	}
	return settleTicket(o, st.id)
}

// retell says that a record which was merged is the same thing as one with a still lower id.
func retell(o *op, k *record.Kind, id, into int64) error {
	kinds := []*record.Kind{k}
	if k == record.Ticket {
		kinds = ticketParts[:]
	}
	for _, k := range kinds {
		was, err := intoOf(o.sight, k, record.Int(id))
		if err != nil {
			return err
		}
		if was <= into {
			continue // 0: it is not here, or somebody has deleted it
		}
		st, err := o.loadAny(k, record.Int(id))
		if err != nil {
			return err
		}
		if _, err := o.write(change{kind: k, id: st.id, before: st, into: into}); err != nil {
			return err
		}
	}
	return nil
}

// bury lists where a record differs from the one that stays, and leaves a tombstone.
func bury(o *op, k *record.Kind, st *stored, d *record.Doc, into int64) error {
	kept, err := o.load(k, record.Int(into))
	if err != nil {
		return err
	}
	if kept != nil {
		if err := listDifferences(o, k, kept, st, d); err != nil {
			return err
		}
	}
	_, err = o.write(change{kind: k, id: st.id, before: st, was: d, into: into})
	return err
}

// mergePart merges one of the private parts of a ticket, if it is here.
func mergePart(o *op, k *record.Kind, id, into int64) error {
	st, err := o.load(k, record.Int(id))
	if err != nil || st == nil {
		return err
	}
	d, err := st.decode(k)
	if err != nil {
		return err
	}
	return bury(o, k, st, d, into)
}

// joinPart takes in a part of a ticket that was merged before, or with which others were.
func joinPart(o *op, ad *adoption) error {
	if !anyMerged(o) {
		return nil
	}
	if _, _, err := repoint(o, ad.kind, ad.next, ad.is); err != nil {
		return err
	}
	into, err := intoOf(o.sight, record.Ticket, ad.id)
	switch {
	case err != nil:
		return err
	case into != 0:
		return mergePart(o, ad.kind, ad.id.Int(), into)
	case ad.before != nil:
		return nil // those that came before were compared with it
	}
	merged, err := merged(o.sight, record.Ticket, ad.id)
	for i := 0; err == nil && i < len(merged); i++ {
		err = compareBuried(o, ad, merged[i])
	}
	return err
}

// compareBuried lists where a part that came before the one which stays differed from it.
func compareBuried(o *op, ad *adoption, id record.ID) error {
	st, err := o.loadAny(ad.kind, id)
	if err != nil || st == nil || !st.deleted {
		return err
	}
	d, err := buried(o, ad.kind, st)
	if err != nil || d == nil {
		return err
	}
	kept, err := o.load(ad.kind, ad.id)
	if err != nil || kept == nil {
		return err
	}
	return listDifferences(o, ad.kind, kept, st, d)
}

// buried is the last body that a deleted record had, if it is held.
func buried(o *op, k *record.Kind, st *stored) (*record.Doc, error) {
	t, err := loadTree(o.sight, k, st)
	if err != nil {
		return nil, err
	}
	for _, rev := range t.Path(st.revision) {
		if t.Find(rev).Deleted {
			continue
		}
		kept, err := keptBody(o.sight, k, st.id, rev)
		if err != nil || kept == nil {
			return nil, err
		}
		return kept.decode(k)
	}
	return nil, nil
}

// mergedIn is what a deleted record's tree says that it was merged into; 0: nothing.
func mergedIn(t *rev.Tree) (into int64) {
	for _, leaf := range t.Leaves() {
		if leaf.Into != 0 && (into == 0 || leaf.Into < into) {
			into = leaf.Into
		}
	}
	return into
}

// intoOf is the record that one was merged into; 0: none, or it lives.
func intoOf(v *sight, k *record.Kind, id record.ID) (int64, error) {
	st, err := v.loadAny(k, id)
	if err != nil || st == nil || !st.deleted {
		return 0, err
	}
	t, err := loadTree(v, k, st)
	return mergedIn(&t), err
}

// standing is the record that an id now means: its own or, where it was merged, the one that stays. nil: it is deleted.
func survivor(v *sight, k *record.Kind, id record.ID) (*stored, error) {
	for {
		st, err := v.loadAny(k, id)
		if err != nil || st == nil || !st.deleted {
			return st, err
		}
		t, err := loadTree(v, k, st)
		into := mergedIn(&t)
		if err != nil || into == 0 || into >= id.Int() { // each has a lower id than the one before
			return nil, err
		}
		id = record.Int(into)
	}
}

func intoKey(k *record.Kind, into, id int64) []byte {
	key := binary.BigEndian.AppendUint64([]byte{twinInto, k.Number}, uint64(into))
	return binary.BigEndian.AppendUint64(key, uint64(id))
}

// merged are the records that were merged into one, in order.
func merged(v *sight, k *record.Kind, into record.ID) (ids []record.ID, err error) {
	prefix := intoKey(k, into.Int(), 0)[:10]
	err = v.Scan(twinBucket, prefix, nil, func(key, _ []byte) (bool, error) {
		id, ok := k.KeyID(key[len(prefix):])
		if !ok {
			return false, ErrCorrupt
		}
		ids = append(ids, id)
		return true, nil
	})
	return ids, err
}

// noteMerged keeps what a tombstone says, at every store.
func noteMerged(o *op, k *record.Kind, id record.ID, t *rev.Tree) {
	if into := mergedIn(t); into != 0 {
		o.put(twinBucket, intoKey(k, into, id.Int()), nil)
	}
}
