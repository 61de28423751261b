package kv

import (
	"slices"

	"doorward/kv/record"
	"doorward/kv/scopes"
)

// purge takes a record out of the file as if it had never been in it: no tombstone, nothing that a replica would be told. It is
// for what another store keeps; what was deleted has been deleted by somebody, and stays as that. Who follows the log looks at Releases.
func purge(o *op, k *record.Kind, st *stored) error {
	if !st.deleted {
		was, err := st.decode(k)
		if err != nil {
			return err
		}
		moveLookups(o, change{kind: k, id: st.id, before: st, was: was}, 0)
	}
	for _, key := range admissionKeys(k, st) {
		o.delete(admissionBucket, key)
	}
	o.delete(logBucket, seqKey(st.seq))
	for _, s := range st.scopes {
		if s.Sort != 0 {
			o.delete(scopeLogBucket, scopeSeqKey(nil, s, st.seq))
		}
	}
	at := treeKey(k, st.id)
	o.delete(treeBucket, at)
	kept, err := firstKeys(o.sight.View, bodyBucket, at, maxKept)
	if err != nil {
		return err
	}
	for _, key := range kept {
		o.delete(bodyBucket, key)
	}
	if k == record.Holder {
		if err := forgetFormer(o, st.id); err != nil {
			return err
		}
	}
	o.delete(kindBucket(k), slices.Clone(at[1:]))
	o.after(func() {
		o.store.releases.Add(1)
		o.store.bell.ring()
	})
	o.changed = append(o.changed, listChange{kind: k, id: st.id, was: !st.deleted, wasHome: st.home(k), wasIn: issued(k, st.body), from: st.mark()})
	return nil
}

// purgeOpaque is purge for a document of a kind that this version does not know.
func purgeOpaque(o *op, s scopes.Scope, doc string) error {
	d, err := loadOpaque(o.sight, s, doc)
	if err != nil || d == nil {
		return orCorrupt(err)
	}
	o.delete(scopeLogBucket, scopeSeqKey(nil, s, d.seq))
	o.delete(opaqueBucket, opaqueKey(s, doc))
	for _, n := range d.tree.Nodes() {
		o.delete(opaqueBodyBucket, opaqueBodyKey(s, doc, n.Revision))
	}
	o.changed = append(o.changed, listChange{from: d.mark(s)})
	return nil
}
