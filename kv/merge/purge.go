package merge

import (
	"slices"

	"doorward/kv/door"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
)

// Purge takes a record out of the file as if it had never been in it: no tombstone, nothing that a replica would be told. It is
// for what another store keeps; what was deleted has been deleted by somebody, and stays as that. Who follows the log looks at Releases.
func Purge(o *table.Tx, k *record.Kind, st *table.Stored) error {
	if !st.Deleted {
		was, err := st.Decode(k)
		if err != nil {
			return err
		}
		table.MoveLookups(o, table.Edit{Kind: k, ID: st.ID, Before: st, Was: was}, 0)
	}
	for _, key := range door.AdmissionKeys(k, st) {
		o.Delete(table.AdmissionBucket, key)
	}
	o.Delete(table.LogBucket, table.SeqKey(st.Seq))
	for _, s := range st.Scopes {
		if s.Sort != 0 {
			o.Delete(table.ScopeLogBucket, table.ScopeSeqKey(nil, s, st.Seq))
		}
	}
	at := table.TreeKey(k, st.ID)
	o.Delete(table.TreeBucket, at)
	kept, err := table.FirstKeys(o.View.View, table.BodyBucket, at, table.MaxKept)
	if err != nil {
		return err
	}
	for _, key := range kept {
		o.Delete(table.BodyBucket, key)
	}
	o.Delete(table.KindBucket(k), slices.Clone(at[1:]))
	o.After(func() {
		o.Store.ReleaseCount.Add(1)
		o.Store.Bell.Ring()
	})
	o.Changed = append(o.Changed, table.ListChange{Kind: k, ID: st.ID, Was: !st.Deleted, WasHome: st.Home(k), WasIn: table.Issued(k, st.Body), From: st.Mark()})
	return nil
}

// PurgeOpaque is purge for a document of a kind that this version does not know.
func PurgeOpaque(o *table.Tx, s scopes.Scope, doc string) error {
	d, err := table.LoadOpaque(o.View, s, doc)
	if err != nil || d == nil {
		return table.OrCorrupt(err)
	}
	o.Delete(table.ScopeLogBucket, table.ScopeSeqKey(nil, s, d.Seq))
	o.Delete(table.OpaqueBucket, table.OpaqueKey(s, doc))
	for _, n := range d.Tree.Nodes() {
		o.Delete(table.OpaqueBodyBucket, table.OpaqueBodyKey(s, doc, n.Revision))
	}
	o.Changed = append(o.Changed, table.ListChange{From: d.Mark(s)})
	return nil
}
