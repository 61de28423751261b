package merge

import (
	"doorward/kv/admission"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Purge removes a record from the file without a tombstone, so no replica is told. It is for records that another store keeps.
// A tombstone that is in the file stays a deletion elsewhere. Readers of the log watch Releases.
func Purge(o *table.Tx, k *record.Kind, st *table.Stored) error {
	if !st.Deleted {
		was, err := st.Decode(k)
		if err != nil {
			return err
		}
		table.MoveLookups(o, table.Edit{Kind: k, ID: st.ID, Before: st, Was: was}, 0)
	}
	if err := table.ForgetMerged(o, k, st); err != nil {
		return err
	}
	o.Delete(table.LogBucket, table.SeqKey(st.Seq))
	for _, s := range st.Scopes {
		if s.Sort != 0 {
			o.Delete(table.ScopeLogBucket, table.ScopeSeqKey(nil, s, st.Seq))
		}
	}
	if err := table.ForgetAll(o, k, st.ID); err != nil {
		return err
	}
	o.Delete(table.KindBucket(k), k.AppendID(nil, st.ID))
	if err := admission.Forget(o, k, st); err != nil {
		return err
	}
	o.After(o.Store.Commits.Released)
	o.Changed = append(o.Changed, table.ListChange{Kind: k, ID: st.ID, Was: !st.Deleted, WasHome: st.Home(k), WasIn: table.Issued(k, st.Body), From: st.Mark()})
	return nil
}
